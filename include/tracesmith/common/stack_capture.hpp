// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/stacks/stack_capture.hpp"
