// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/critical_path/critical_path.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;

/// Two processes with one thread each; two devices, on each of which each process has a stream.
class CriticalPathTest : public ::testing::Test {
 protected:
  CriticalPathTest() {
    for (uint32_t i = 0; i < 2; ++i) {
      process_[i] = s_.process(i + 1, "program");
      thread_[i] = s_.thread(process_[i], i + 1);
      device_[i] = s_.device("GPU");
    }
    for (uint32_t p = 0; p < 2; ++p) {
      for (uint32_t d = 0; d < 2; ++d) stream_[p][d] = s_.stream(device_[d], process_[p]);
    }
  }
  void launched(const char* name, uint32_t process, StreamId stream, int64_t at, int64_t begin,
                int64_t end) {
    s_.hostCall("launch", CallKind::kLaunch, thread_[process], StreamId::kNone, at, 1000, ++next_);
    s_.kernel(name, stream, begin, end - begin, next_);
  }
  /// Returns its correlation id.
  uint64_t waits(const char* call, uint32_t process, int64_t begin, int64_t end) {
    s_.hostCall(call, CallKind::kSync, thread_[process], StreamId::kNone, begin, end - begin,
                ++next_);
    return next_;
  }
  void knownWait(SyncKind kind, uint32_t process, StreamId stream, uint64_t id) {
    s_.trace.sync.push({.kind = kind,
                        .process_id = process_[process],
                        .stream_id = stream,
                        .correlation_id = id,
                        .flags = op_flags::kHostSide});
  }
  CriticalPath path() const { return CriticalPath::of(s_.trace, DeviceOps::of(s_.trace)); }
  /// Names of the work on the path, in order.
  std::vector<std::string> work() const {
    const DeviceOps ops = DeviceOps::of(s_.trace);
    std::vector<std::string> names;
    for (const PathSegment& p : CriticalPath::of(s_.trace, ops).segments) {
      if (p.bound == BoundBy::kCompute) names.emplace_back(s_.trace.text(ops.ops[p.op].name));
    }
    return names;
  }

  test::SampleTrace s_;
  ProcessId process_[2] = {};
  ThreadId thread_[2] = {};
  DeviceId device_[2] = {};
  StreamId stream_[2][2] = {};
  uint64_t next_ = 0;
};

TEST_F(CriticalPathTest, WorkOfAnotherDeviceHidesNoNeighbour) {
  const StreamId second = s_.stream(device_[0], process_[0]);
  launched("a", 0, stream_[0][0], 0, 10'000, 1'000'000);
  launched("b", 0, second, 2'000, 1'002'000, 1'052'000);
  EXPECT_THAT(work(), ElementsAre("a", "b"));
  launched("elsewhere", 0, stream_[0][1], 4'000, 500'000, 1'001'000);
  EXPECT_THAT(work(), ElementsAre("a", "b"));
  launched("of another process", 1, stream_[1][0], 4'000, 500'000, 1'001'000);
  EXPECT_THAT(work(), ElementsAre("a", "b"));
}

TEST_F(CriticalPathTest, TheHostWaitsForItsOwnProcess) {
  launched("mine", 0, stream_[0][0], 0, 10'000, 95'000);
  launched("other", 1, stream_[1][1], 0, 12'000, 99'000);
  waits("cudaDeviceSynchronize", 0, 20'000, 100'000);
  s_.hostCall("cudaMalloc", CallKind::kMemory, thread_[0], StreamId::kNone, 100'000, 50'000);
  EXPECT_THAT(work(), ElementsAre("mine"));
  s_.trace.kernel.process_id[0] = ProcessId::kNone;
  EXPECT_THAT(work(), ElementsAre("mine")) << "whose is not known";
}

TEST_F(CriticalPathTest, TheHostWaitsForTheStreamDeviceOrEventThatTheTraceNames) {
  const StreamId second = s_.stream(device_[0], process_[0]);
  launched("first", 0, stream_[0][0], 0, 10'000, 90'000);
  launched("second", 0, second, 2'000, 11'000, 95'000);
  launched("elsewhere", 0, stream_[0][1], 4'000, 12'000, 99'000);
  const uint64_t wait = waits("cudaSomethingSynchronize", 0, 20'000, 100'000);
  s_.hostCall("cudaMalloc", CallKind::kMemory, thread_[0], StreamId::kNone, 100'000, 50'000);
  EXPECT_THAT(work(), ElementsAre("elsewhere")) << "nothing is said: the last of the process";
  knownWait(SyncKind::kStreamWait, 0, stream_[0][0], wait);
  EXPECT_THAT(work(), ElementsAre("first"));
  s_.trace.sync.kind[0] = SyncKind::kDeviceWait;
  EXPECT_THAT(work(), ElementsAre("second"));
  s_.trace.sync.kind[0] = SyncKind::kEventWait;
  s_.hostCall("cudaEventRecord", CallKind::kSync, thread_[0], StreamId::kNone, 1'500, 100, 77);
  s_.trace.flow.push({.process_id = process_[0],
                      .from_correlation_id = 77,
                      .to_correlation_id = wait,
                      .kind = FlowKind::kWait,
                      .from_stream_id = stream_[0][0]});
  s_.trace.sync.duration_ns[0] = 100'000;
  EXPECT_THAT(work(), ElementsAre("first"));
}

TEST_F(CriticalPathTest, ThreadsThatWaitForNoDeviceAreLeftOutAndCounted) {
  launched("k", 0, stream_[0][0], 0, 10'000, 110'000);
  waits("cudaStreamSynchronize", 0, 6'000, 116'000);
  const auto range = [&](uint32_t of, int64_t begin, int64_t end) {
    s_.trace.range.push({.start_ns = begin, .duration_ns = end - begin, .thread_id = thread_[of]});
  };
  range(1, 1'000, 1'000'000);
  EXPECT_EQ(path().end_ns, 116'000);
  EXPECT_EQ(path().threads_left_out, 1U);
  EXPECT_EQ(path().left_out_until_ns, 1'000'000);
  range(0, 1'000, 2'000'000);
  EXPECT_EQ(path().end_ns, 2'000'000);
  EXPECT_EQ(path().threads_left_out, 0U);
}

// The queue's order limits what an event's wait would allow, and the reverse.
TEST_F(CriticalPathTest, AnOpWithTwoPredecessorsBoundsBoth) {
  const StreamId second = s_.stream(device_[0], process_[0]);
  launched("short", 0, stream_[0][0], 0, 10'000, 20'000);
  launched("long", 0, second, 2'000, 10'000, 90'000);
  s_.hostCall("cudaEventRecord", CallKind::kSync, thread_[0], StreamId::kNone, 4'000, 100, 77);
  s_.hostCall("cudaStreamWaitEvent", CallKind::kSync, thread_[0], StreamId::kNone, 4'200, 100, 78);
  s_.trace.flow.push({.process_id = process_[0],
                      .from_correlation_id = 77,
                      .to_correlation_id = 78,
                      .kind = FlowKind::kWait,
                      .from_stream_id = stream_[0][0]});
  s_.trace.sync.push({.start_ns = 94'000,
                      .duration_ns = 100,
                      .kind = SyncKind::kBarrier,
                      .process_id = process_[0],
                      .stream_id = second,
                      .correlation_id = 78});
  launched("both", 0, second, 5'000, 95'000, 100'000);
  launched("later", 0, stream_[0][1], 6'000, 10'000, 500'000);
  const DeviceOps ops = DeviceOps::of(s_.trace);
  const CriticalPath path = CriticalPath::of(s_.trace, ops);
  std::map<std::string, int64_t> slack;
  for (size_t i = 0; i < ops.ops.size(); ++i) {
    if (ops.ops[i].table == TableId::kKernel) {
      slack[std::string(s_.trace.text(ops.ops[i].name))] = path.slack_ns[i];
    }
  }
  EXPECT_EQ(slack["both"], 400'000);
  EXPECT_EQ(slack["long"], 405'000) << "the queue: to the latest begin of \"both\"";
  EXPECT_EQ(slack["short"], 475'000) << "the event: to the same";
}

}  // namespace
}  // namespace tracesmith
