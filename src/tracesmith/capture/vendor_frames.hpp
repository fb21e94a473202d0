// SPDX-License-Identifier: Apache-2.0
// CUPTI calls back from deep within the driver, so that a stack begins with frames of the vendor's
// libraries. A profiler that is asked for a few frames would give those alone.
#pragma once

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// How many of them there are at most, as a rule.
constexpr uint32_t kVendorFrames = 24;

/// Makes the stacks of calls and device work begin with the innermost frame that is not in
/// libcupti, libcuda or libcudart. A stack of nothing else stays as it is.
void dropVendorFrames(Trace& trace);

}  // namespace tracesmith
