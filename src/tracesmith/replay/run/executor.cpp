// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/executor.hpp"

namespace tracesmith {

std::string typeOfArgumentFor(const ReplayPlan& plan, const Executor& executor, StepIndex launch,
                              ObjectIndex memory) {
  const std::span<const uint32_t> arguments = plan.listOf(plan.step(launch));
  for (uint32_t a = 0; a < arguments.size(); ++a) {
    if (arguments[a] == kNoStep || plan.step(arguments[a]).other != memory) continue;
    const std::string type = executor.argumentType(launch, a);
    if (!type.empty()) return type;
  }
  return {};
}

#ifndef TRACESMITH_REPLAY_OPENCL
// For builds without OpenCL headers; otherwise defined in opencl/opencl_devices.cpp.
Result<std::unique_ptr<Executor>> openClExecutor(const ReplayPlan&, RecordingReader&,
                                                 const ExecutorOptions&) {
  return fail(
      ErrorCode::kNotFound,
      "this TraceSmith was built without OpenCL and cannot replay; install OpenCL's headers "
      "(package opencl-headers) and build it again");
}
#endif

}  // namespace tracesmith
