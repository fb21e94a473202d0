// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/vendor_frames.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tracesmith {
namespace {

/// The path of a stack whose frames lie in `modules`, the outermost first.
CallPathId stackOf(Trace& trace, const std::vector<std::string>& modules) {
  CallPathId path = CallPathId::kNone;
  for (const std::string& module : modules) {
    trace.frame.push({.module = trace.strings.intern(module)});
    trace.call_path.push({.parent = path, .frame = idAt<FrameId>(trace.frame.size() - 1)});
    path = idAt<CallPathId>(trace.call_path.size() - 1);
  }
  return path;
}

std::string moduleOf(const Trace& trace, CallPathId path) {
  const FrameId frame = trace.call_path.frame[indexOf(path)];
  return std::string(trace.text(trace.frame.module[indexOf(frame)]));
}

TEST(VendorFrames, AStackBeginsWithTheInnermostFrameThatIsNotTheVendors) {
  Trace trace;
  const CallPathId launch =
      stackOf(trace, {"/bin/app", "/lib/libtorch_cuda.so", "/cuda/libcudart.so.12",
                      "/usr/lib/libcuda.so.550.54", "/cuda/libcupti.so.12"});
  const CallPathId plain = stackOf(trace, {"/bin/app", "libcudadebugger.so"});
  trace.host_call.push({.call_path_id = launch});
  trace.host_call.push({.call_path_id = plain});
  trace.host_call.push({});
  trace.kernel.push({.call_path_id = launch});
  dropVendorFrames(trace);
  EXPECT_EQ(moduleOf(trace, trace.host_call.call_path_id[0]), "/lib/libtorch_cuda.so");
  EXPECT_EQ(trace.host_call.call_path_id[1], plain);
  EXPECT_EQ(trace.host_call.call_path_id[2], CallPathId::kNone);
  EXPECT_EQ(trace.kernel.call_path_id[0], trace.host_call.call_path_id[0]);
}

TEST(VendorFrames, AStackOfNothingElseStays) {
  Trace trace;
  const CallPathId all = stackOf(trace, {"libcuda.so.1", "libcupti.so.13"});
  trace.kernel.push({.call_path_id = all});
  trace.kernel.push({.call_path_id = CallPathId{77}});  // damage
  dropVendorFrames(trace);
  EXPECT_EQ(trace.kernel.call_path_id[0], all);
  EXPECT_EQ(trace.kernel.call_path_id[1], CallPathId{77});
}

}  // namespace
}  // namespace tracesmith
