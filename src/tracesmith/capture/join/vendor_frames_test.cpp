// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/vendor_frames.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tracesmith/capture/join/recorded_stacks.hpp"

namespace tracesmith {
namespace {

/// A path with one frame in each of `modules`, outermost first.
CallPathId stackOf(SharedStacks& stacks, Trace& trace, const std::vector<std::string>& modules) {
  CallPathId path = CallPathId::kNone;
  for (const std::string& module : modules) {
    path = stacks.path(path, stacks.frame({.module = trace.strings.intern(module)}, trace), trace);
  }
  return path;
}

std::string moduleOf(const Trace& trace, CallPathId path) {
  const FrameId frame = trace.call_path.frame[indexOf(path)];
  return std::string(trace.text(trace.frame.module[indexOf(frame)]));
}

TEST(VendorFrames, AStackEndsInTheInnermostFrameThatIsNotTheVendors) {
  Trace trace;
  SharedStacks stacks;
  const CallPathId launch = stackOf(stacks, trace,
                                    {"/bin/app", "/lib/libtorch_cuda.so", "/cuda/libcudart.so.12",
                                     "/usr/lib/libcuda.so.550.54", "/cuda/libcupti.so.12"});
  const CallPathId plain = stackOf(stacks, trace, {"/bin/app", "libcudadebugger.so"});
  EXPECT_EQ(moduleOf(trace, stacks.withoutVendorFrames(launch)), "/lib/libtorch_cuda.so");
  EXPECT_EQ(stacks.withoutVendorFrames(plain), plain);
  EXPECT_EQ(stacks.withoutVendorFrames(CallPathId::kNone), CallPathId::kNone);
  EXPECT_EQ(stacks.withoutVendorFrames(CallPathId{77}), CallPathId{77});  // damaged
}

TEST(VendorFrames, AStackOfNothingElseStays) {
  Trace trace;
  SharedStacks stacks;
  const CallPathId all = stackOf(stacks, trace, {"libcuda.so.1", "libcupti.so.13"});
  EXPECT_EQ(stacks.withoutVendorFrames(all), all);
}

TEST(VendorFrames, AreKnownInAFileThatAnotherCollectorBegan) {
  Trace trace;
  SharedStacks first;
  const CallPathId launch = stackOf(first, trace, {"/bin/app", "libcuda.so.1"});
  SharedStacks second;
  second.restore(trace);
  EXPECT_EQ(moduleOf(trace, second.withoutVendorFrames(launch)), "/bin/app");
}

}  // namespace
}  // namespace tracesmith
