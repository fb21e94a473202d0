// SPDX-License-Identifier: Apache-2.0
// What the recorder for replay tells the tracing agent below it, which is another library: calls of
// this thread are attempts of the recorder. One that fails is made again as the program asked for
// it, and only that one is a call of the program.
#pragma once

namespace tracesmith::opencl_attempt {

/// Exported by the tracing agent: a SetAttempting for the calling thread.
constexpr const char* kFunctionName = "tracesmith_opencl_attempt";
using SetAttempting = void (*)(int attempting);

}  // namespace tracesmith::opencl_attempt
