// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/base/ring_buffer.hpp"
