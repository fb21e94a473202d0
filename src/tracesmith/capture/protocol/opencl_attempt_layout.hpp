// SPDX-License-Identifier: Apache-2.0
// Interface from the recorder for replay to the tracing agent below it (separate libraries). The
// recorder marks calls of a thread as attempts. If an attempt fails, the recorder repeats the call
// as the program asked for it, and only the repeated call counts as a call of the program.
#pragma once

namespace tracesmith::opencl_attempt {

/// Exported by the tracing agent; a SetAttempting for the calling thread.
constexpr const char* kFunctionName = "tracesmith_opencl_attempt";
using SetAttempting = void (*)(int attempting);

}  // namespace tracesmith::opencl_attempt
