// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/simulate/step_durations.hpp"

#include <gmock/gmock.h>

#include "tracesmith/replay/plan/recording_test_util.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::RecordingBuilder;
using test::SampleTrace;
using testing::HasSubstr;

constexpr const char* kLaunchCall = "clEnqueueNDRangeKernel";

/// A program that launches `add` twice and writes once; the recorded calls take 100 ns each, one
/// every 1000 ns. The tests build its trace.
class Durations : public testing::Test {
 protected:
  Durations() {
    queue = recording.queue();
    kernel = recording.kernel(recording.program("kernel void add() {}"), "add");
    first = recording.launch(queue, kernel, 64);
    second = recording.launch(queue, kernel, 64);
    const auto bytes = recording.content<int>({1, 2});
    const auto buffer = recording.buffer(8);
    write = recording.add(
        recording::Write{.queue = queue, .memory = buffer, .host = 1, .content = {8, bytes}});
    process = trace.process(4711, "by hand");
    thread = trace.thread(process, 1);
    stream = trace.stream(trace.device("a device"), process);
  }

  /// The traced call lies within the recorded one.
  void call(uint64_t step, const char* function, CallKind kind, uint64_t correlation) {
    trace.hostCall(function, kind, thread, stream, static_cast<int64_t>(step) * 1000 + 20, 60,
                   correlation);
  }
  StepDurations durations(uint64_t start_ticks = 1) {
    RecordingReader reader = recording.reader();
    auto plan = ReplayPlan::make(*reader.commands(1));
    return StepDurations::of(*plan, {1, 4711, start_ticks, "by hand"}, trace.trace);
  }

  RecordingBuilder recording;
  SampleTrace trace;
  recording::Handle queue = 0, kernel = 0;
  uint64_t first = 0, second = 0, write = 0;
  ProcessId process{};
  ThreadId thread{};
  StreamId stream{};
};

TEST_F(Durations, AreThoseOfTheWorkThatEachCallAskedFor) {
  call(first, kLaunchCall, CallKind::kLaunch, 7);
  call(second, kLaunchCall, CallKind::kLaunch, 9);
  call(write, "clEnqueueWriteBuffer", CallKind::kCopy, 8);
  // Out of order: matched by id.
  trace.kernel("add", stream, 50'000, 222, 9);
  trace.copy(CopyKind::kHostToDevice, stream, 60'000, 333, 8, 8);
  trace.kernel("add", stream, 70'000, 111, 7);
  const StepDurations d = durations();
  EXPECT_EQ(d.ns[first], 111);
  EXPECT_EQ(d.ns[second], 222);
  EXPECT_EQ(d.ns[write], 333);
  EXPECT_EQ(d.device_work, 3u);
  EXPECT_EQ(d.of_commands, 3u);
  EXPECT_EQ(d.contradicted, 0u);
  EXPECT_EQ(d.why_none, "");
}

TEST_F(Durations, OfWhatTheTraceLacksAreUnknownAndNeverThoseOfANeighbour) {
  call(second, kLaunchCall, CallKind::kLaunch, 9);
  trace.kernel("add", stream, 50'000, 222, 9);
  trace.kernel("add", stream, 60'000, 444, 11);  // belongs to no call
  const StepDurations d = durations();
  EXPECT_EQ(d.ns[first], StepDurations::kUnknown);
  EXPECT_EQ(d.ns[second], 222);
  EXPECT_EQ(d.ns[write], StepDurations::kUnknown);
  EXPECT_EQ(d.of_commands, 1u);
}

TEST_F(Durations, LeaveOutWhatTheRecorderDidWithinACall) {
  call(first, "clEnqueueReadBuffer", CallKind::kCopy, 6);
  trace.copy(CopyKind::kDeviceToHost, stream, 40'000, 999, 8, 6);
  call(first, kLaunchCall, CallKind::kLaunch, 7);
  trace.kernel("add", stream, 50'000, 111, 7);
  const StepDurations d = durations();
  EXPECT_EQ(d.ns[first], 111);
  EXPECT_EQ(d.contradicted, 0u);
}

TEST_F(Durations, OfAnotherKernelOrTwoCallsInOneAreNotBelieved) {
  call(first, kLaunchCall, CallKind::kLaunch, 7);
  trace.kernel("multiply", stream, 50'000, 111, 7);
  call(second, kLaunchCall, CallKind::kLaunch, 8);
  call(second, kLaunchCall, CallKind::kLaunch, 9);
  trace.kernel("add", stream, 60'000, 222, 8);
  trace.kernel("add", stream, 70'000, 333, 9);
  const StepDurations d = durations();
  EXPECT_EQ(d.ns[first], StepDurations::kUnknown);
  EXPECT_EQ(d.ns[second], StepDurations::kUnknown);
  EXPECT_EQ(d.contradicted, 2u);
}

TEST_F(Durations, OfOtherThreadsOrBetweenCallsAreNoMatch) {
  const ThreadId other = trace.thread(process, 2);
  const auto at = static_cast<int64_t>(first) * 1000;
  trace.hostCall(kLaunchCall, CallKind::kLaunch, other, stream, at + 20, 60, 7);
  trace.hostCall(kLaunchCall, CallKind::kLaunch, thread, stream, at + 300, 60, 8);
  trace.kernel("add", stream, 50'000, 111, 7);
  trace.kernel("add", stream, 60'000, 222, 8);
  const StepDurations d = durations();
  EXPECT_EQ(d.ns[first], StepDurations::kUnknown);
  EXPECT_EQ(d.device_work, 2u);
  EXPECT_EQ(d.of_commands, 0u);
  EXPECT_THAT(d.why_none, HasSubstr("no device work of the recorded commands"));
}

TEST_F(Durations, OfAProcessThatHadTheSameNumberAreNotTaken) {
  call(first, kLaunchCall, CallKind::kLaunch, 7);
  trace.kernel("add", stream, 50'000, 111, 7);
  trace.trace.process.start_ticks[0] = 77;
  const StepDurations d = durations(78);
  EXPECT_EQ(d.ns[first], StepDurations::kUnknown);
  EXPECT_THAT(d.why_none, HasSubstr("another run"));
}

TEST_F(Durations, ThatNoDeviceGaveAreUnknown) {
  call(first, kLaunchCall, CallKind::kLaunch, 7);
  trace.kernel("add", stream, 50'000, 0, 7, ShapeId::kNone, op_flags::kNoDeviceTime);
  call(second, kLaunchCall, CallKind::kLaunch, 8);
  trace.kernel("add", stream, 50'000, -5, 8);
  const StepDurations d = durations();
  EXPECT_EQ(d.ns[first], StepDurations::kUnknown);
  EXPECT_EQ(d.ns[second], StepDurations::kUnknown);
  EXPECT_EQ(d.of_commands, 2u);
}

TEST_F(Durations, OfAnEmptyTraceAreNone) {
  trace.trace = {};
  const StepDurations d = durations();
  EXPECT_EQ(d.ns[first], StepDurations::kUnknown);
  EXPECT_THAT(d.why_none, HasSubstr("another run"));
}

}  // namespace
}  // namespace tracesmith
