// SPDX-License-Identifier: Apache-2.0
// Speedscope profiles and folded stacks of small traces.
#include "tracesmith/export/flame/frame_lanes.hpp"

#include <gtest/gtest.h>

#include "tracesmith/export/flame/folded_stacks.hpp"
#include "tracesmith/export/flame/speedscope.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/export/select/selection_test_util.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

std::string folded(const Trace& trace) {
  std::string text;
  Output out = Output::toString(&text);
  writeFoldedStacks(trace, everything(trace), out);
  EXPECT_TRUE(out.finish());
  return text;
}

/// A range that contains a call and a range with the same end, and two overlapping kernels.
test::SampleTrace nested() {
  test::SampleTrace s;
  const ProcessId process = s.process(7, "./train /data/set");
  const ThreadId thread = s.thread(process, 8);
  const StreamId stream = s.stream(s.device("G"), process);
  s.trace.range.push({.start_ns = 100,
                      .duration_ns = 100,
                      .name = s.text("step; one"),
                      .process_id = process,
                      .thread_id = thread});
  s.trace.range.push({.start_ns = 150,
                      .duration_ns = 50,
                      .name = s.text("end"),
                      .process_id = process,
                      .thread_id = thread});
  s.hostCall("launch", CallKind::kLaunch, thread, stream, 110, 20, 1);
  s.kernel("a", stream, 120, 30, 1);
  s.kernel("b", stream, 140, 30, 1);
  s.kernel("a", stream, 200, 5, 1);
  s.kernel("gone", stream, 300, 5, 1, ShapeId::kNone, op_flags::kNoDeviceTime);
  return s;
}

TEST(FrameLanes, FoldedStacksHoldEachNanosecondOfAThreadOnce) {
  EXPECT_EQ(folded(nested().trace),
            "train (7);thread 8;step, one 30\n"
            "train (7);thread 8;step, one;launch 20\n"
            "train (7);thread 8;step, one;end 50\n"
            "device 0: G;stream 0;a 35\n"
            "device 0: G;stream 0;b 30\n");
}

TEST(FrameLanes, KernelsHangBelowTheirHostCallPath) {
  test::SampleTrace s = nested();
  Trace& t = s.trace;
  t.frame.push({.function = s.text("main")});
  t.frame.push({.address = 0x1234});
  t.call_path.push({.parent = CallPathId::kNone, .frame = FrameId(1)});
  t.call_path.push({.parent = CallPathId(1), .frame = FrameId(2)});
  t.call_path.push({.parent = CallPathId(3), .frame = FrameId(1)});  // its own parent
  t.kernel.call_path_id[1] = CallPathId(2);
  EXPECT_NE(folded(t).find("stream 0;main;0x1234;b 30\n"), std::string::npos) << folded(t);
  t.kernel.call_path_id[1] = CallPathId(3);
  EXPECT_NE(folded(t).find("main;main;"), std::string::npos);  // and terminates
}

TEST(FrameLanes, InlinedFunctionsAreFramesAndAddressesSayWhereTheyLie) {
  test::SampleTrace s = nested();
  Trace& t = s.trace;
  t.frame.push({.address = 1, .module = s.text("/bin/app"), .module_offset = 0x40});
  t.frame.push({.address = 0x7f12, .module = s.text("/lib/libx.so.1"), .module_offset = 0x12});
  t.call_path.push({.parent = CallPathId::kNone, .frame = FrameId(1)});
  t.call_path.push({.parent = CallPathId(1), .frame = FrameId(2)});
  t.symbol.push({FrameId(1), 0, s.text("inlined"), s.text("a.cpp"), 3});
  t.symbol.push({FrameId(1), 1, s.text("main"), s.text("a.cpp"), 9});
  t.kernel.call_path_id[1] = CallPathId(2);
  EXPECT_NE(folded(t).find("stream 0;main;inlined;libx.so.1+0x12;b 30\n"), std::string::npos)
      << folded(t);
}

TEST(FrameLanes, SpeedscopeHasAProfileForEachLane) {
  const Trace trace = nested().trace;
  std::string text;
  Output out = Output::toString(&text);
  writeSpeedscope(trace, everything(trace), out);
  ASSERT_TRUE(out.finish());
  const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has("\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"")) << text;
  EXPECT_TRUE(has("\"name\":\"device 0: G, stream 0\"")) << text;
  EXPECT_TRUE(has("\"name\":\"device 0: G, stream 0, lane 2\"")) << text;  // b overlaps a
  // Times count from the first event. Slices with equal ends are closed innermost first.
  EXPECT_TRUE(
      has("[{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"O\",\"frame\":1,\"at\":10},"
          "{\"type\":\"C\",\"frame\":1,\"at\":30},{\"type\":\"O\",\"frame\":2,\"at\":50},"
          "{\"type\":\"C\",\"frame\":2,\"at\":100},{\"type\":\"C\",\"frame\":0,\"at\":100}]"))
      << text;
}

TEST(FrameLanes, ATraceWithoutEventsGivesEmptyFiles) {
  const Trace trace;
  EXPECT_EQ(folded(trace), "");
  std::string text;
  Output out = Output::toString(&text);
  writeSpeedscope(trace, everything(trace), out);
  ASSERT_TRUE(out.finish());
  EXPECT_NE(text.find("\"profiles\":[]"), std::string::npos) << text;
}

}  // namespace
}  // namespace tracesmith
