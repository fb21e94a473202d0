// SPDX-License-Identifier: Apache-2.0
// The sweep over a file, block by block, against the analysis of the trace in memory.
#include "tracesmith/analysis/streaming/time_sweep.hpp"

#include <gtest/gtest.h>

#include <span>

#include <string>

#include "tracesmith/analysis/streaming/random_work_test_util.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

using test::randomWork;

void write(const Trace& trace, const std::string& path) {
  auto writer = TraceWriter::create(path, {.max_block_rows = 128});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(trace));
  ASSERT_TRUE(writer->finish());
}

void expectEqual(const TimeBreakdown& streamed, const TimeBreakdown& whole) {
  EXPECT_EQ(streamed.device, whole.device);
  EXPECT_EQ(streamed.begin_ns, whole.begin_ns);
  EXPECT_EQ(streamed.span_ns, whole.span_ns);
  EXPECT_EQ(streamed.busy_ns, whole.busy_ns);
  EXPECT_EQ(streamed.idle_ns, whole.idle_ns);
  EXPECT_EQ(streamed.compute_ns, whole.compute_ns);
  EXPECT_EQ(streamed.communication_ns, whole.communication_ns);
  EXPECT_EQ(streamed.memory_ns, whole.memory_ns);
  EXPECT_EQ(streamed.non_compute_ns, whole.non_compute_ns);
  EXPECT_EQ(streamed.kernel_ns, whole.kernel_ns);
  EXPECT_EQ(streamed.together_ns, whole.together_ns);
  EXPECT_EQ(streamed.overlap, whole.overlap);
}

void expectEqual(const IdleTime& streamed, const IdleTime& whole) {
  EXPECT_EQ(streamed.stream, whole.stream);
  EXPECT_EQ(streamed.device, whole.device);
  EXPECT_EQ(streamed.process, whole.process);
  EXPECT_EQ(streamed.host_wait_ns, whole.host_wait_ns);
  EXPECT_EQ(streamed.kernel_wait_ns, whole.kernel_wait_ns);
  EXPECT_EQ(streamed.other_ns, whole.other_ns);
  EXPECT_EQ(streamed.gaps, whole.gaps);
}

/// A file that was swept.
struct Swept {
  explicit Swept(const std::string& path, unsigned threads = 2)
      : scan(TraceScan::open(path, threads)), sweep(scan->tables()) {
    const auto launches = readLaunchTimes(*scan);
    const auto result = streamDeviceOps(*scan, *launches, nullptr, [&](const StreamedOp& op) {
      sweep.add(op, [](DeviceId, int64_t, IdleReason) {});
    });
    EXPECT_TRUE(result);
    end = *result;
  }
  Result<TraceScan> scan;
  TimeSweep sweep;
  StreamEnd end{};
};

void compare(TimeSweep& streamed, const DeviceOps& ops) {
  expectEqual(streamed.all(), breakdownOf(ops));
  const auto devices = streamed.byDevice(), whole = breakdownByDevice(ops);
  ASSERT_EQ(devices.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) expectEqual(devices[i], whole[i]);
  const auto idle = streamed.idle(), whole_idle = idleTimes(ops);
  ASSERT_EQ(idle.size(), whole_idle.size());
  for (size_t i = 0; i < idle.size(); ++i) expectEqual(idle[i], whole_idle[i]);
}

TEST(TimeSweep, HasTheNumbersOfTheTraceInMemory) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    test::TempFile file;
    write(randomWork({.seed = seed, .is_shuffled = seed % 4 == 0}), file.path());
    auto reader = TraceReader::open(file.path());
    ASSERT_TRUE(reader);
    const Trace whole = *reader->read();
    const DeviceOps ops = DeviceOps::of(whole);
    Swept streamed(file.path(), static_cast<unsigned>(1 + seed % 3));
    ASSERT_EQ(streamed.end, StreamEnd::kComplete);
    compare(streamed.sweep, ops);
    // The same ops from memory.
    TimeSweep in_memory(whole);
    for (const StreamedOp& op : streamedOpsOf(whole, ops)) {
      in_memory.add(op, [](DeviceId, int64_t, IdleReason) {});
    }
    compare(in_memory, ops);
  }
}

TEST(TimeSweep, AnEmptyTraceHasNothing) {
  test::TempFile file;
  write(Trace(), file.path());
  Swept streamed(file.path());
  ASSERT_EQ(streamed.end, StreamEnd::kComplete);
  compare(streamed.sweep, DeviceOps());
}

TEST(TimeSweep, RepeatedIdsNeedTheWholeTrace) {
  test::TempFile file;
  write(randomWork({.repeats_ids = true}), file.path());
  EXPECT_EQ(Swept(file.path()).end, StreamEnd::kNeedsWholeTrace);
}

TEST(LaunchTimes, FindsIdsAndTimesThatAreFarApart) {
  struct Made {
    uint64_t id;
    int64_t start, length;
  };
  const Made near[] = {{7, 100, 5}, {9, 300, 0}, {1000, 200, UINT32_MAX}, {0, 1, 1}};
  const Made far[] = {
      {7, 100, 5}, {UINT64_MAX, 200, 6}, {9, INT64_MAX / 2, 7}, {uint64_t{1} << 40, -5, 8}};
  const Made longer[] = {{7, 100, int64_t{UINT32_MAX} + 1}, {8, 101, 2}};
  for (const std::span<const Made> all :
       {std::span<const Made>(near), std::span<const Made>(far), std::span<const Made>(longer)}) {
    HostCallTable calls;
    for (const Made& made : all) {
      calls.push({.start_ns = made.start,
                  .duration_ns = made.length,
                  .process_id = ProcessId{2},
                  .correlation_id = made.id});
    }
    for (const bool keeps_ends : {false, true}) {
      LaunchTimes launches;
      launches.add(LaunchTimes::blockOf(calls, keeps_ends));
      launches.finish();
      bool is_repeated = false;
      for (const Made& made : all) {
        const LaunchTimes::Call call = launches.find(ProcessId{2}, made.id, is_repeated);
        EXPECT_EQ(call.start_ns, made.id == 0 ? LaunchTimes::kNone : made.start);
        EXPECT_EQ(call.end_ns,
                  made.id == 0 || !keeps_ends ? LaunchTimes::kNone : made.start + made.length);
      }
      EXPECT_EQ(launches.find(ProcessId{2}, 11, is_repeated).start_ns, LaunchTimes::kNone);
      EXPECT_EQ(launches.find(ProcessId{1}, 7, is_repeated).start_ns, LaunchTimes::kNone);
      EXPECT_FALSE(is_repeated);
    }
  }
}

}  // namespace
}  // namespace tracesmith
