// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/executor.hpp"

namespace tracesmith {

#ifndef TRACESMITH_REPLAY_OPENCL
// With OpenCL's headers it is in opencl/opencl_devices.cpp.
Result<std::unique_ptr<Executor>> openClExecutor(const ReplayPlan&, RecordingReader&,
                                                 const ExecutorOptions&) {
  return fail(
      ErrorCode::kNotFound,
      "this TraceSmith was built without OpenCL and can not replay; install OpenCL's headers "
      "(package opencl-headers) and build it again");
}
#endif

}  // namespace tracesmith
