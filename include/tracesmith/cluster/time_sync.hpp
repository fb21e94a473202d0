// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/api/time_sync.hpp"
