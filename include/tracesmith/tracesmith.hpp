// SPDX-License-Identifier: Apache-2.0
// Everything: #include <tracesmith/tracesmith.hpp>
#pragma once

#include "tracesmith/common/types.hpp"
#include "tracesmith/format/sbt_format.hpp"

#if __has_include("tracesmith/capture/profiler.hpp")
#include "tracesmith/capture/profiler.hpp"
#endif
