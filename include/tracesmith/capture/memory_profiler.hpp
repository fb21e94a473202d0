// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tracesmith/analysis/memory/memory_profiler.hpp"
