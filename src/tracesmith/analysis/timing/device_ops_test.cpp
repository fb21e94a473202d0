// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/device_ops.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tracesmith/analysis/timing/device_ops_maker.hpp"

namespace tracesmith {
namespace {

/// More work than one thread sorts alone, of three streams, of which one is not in order, and of
/// two that the trace does not have.
TEST(DeviceOpsTest, VeryManyAreByStreamAndStart) {
  constexpr uint32_t kRows = 1'200'000;
  Trace trace;
  trace.device.push({.id = idAt<DeviceId>(0)});
  for (uint32_t i = 0; i < 3; ++i) {
    trace.stream.push({.id = idAt<StreamId>(i), .device_id = idAt<DeviceId>(0)});
  }
  const std::vector<uint32_t> streams = {0, 1, 2, 0, 9, 1, 0, 7};
  for (uint32_t row = 0; row < kRows; ++row) {
    const uint32_t stream = streams[row % streams.size()];
    const int64_t at = stream == 1 ? int64_t{row % 1000} * kRows + row : int64_t{row};
    trace.kernel.push({.start_ns = at * 10, .duration_ns = 5, .stream_id = idAt<StreamId>(stream)});
  }
  const DeviceOps ops = DeviceOps::of(trace);
  ASSERT_EQ(ops.ops.size(), kRows);
  ASSERT_EQ(ops.streams.size(), 5u);
  std::vector<bool> seen(kRows);
  uint32_t end = 0;
  for (const StreamOps& stream : ops.streams) {
    ASSERT_EQ(stream.begin, end);
    ASSERT_LT(stream.begin, stream.end);
    end = stream.end;
    for (uint32_t i = stream.begin; i < stream.end; ++i) {
      const DeviceOp& op = ops.ops[i];
      ASSERT_EQ(op.stream, stream.stream);
      ASSERT_EQ(op.stream, trace.kernel.stream_id[op.row]);
      ASSERT_EQ(op.begin_ns, trace.kernel.start_ns[op.row]);
      ASSERT_TRUE(i == stream.begin || ops.ops[i - 1].begin_ns <= op.begin_ns);
      ASSERT_EQ(&ops.streams[ops.streamIndexOf(i)], &stream);
      ASSERT_FALSE(seen[op.row]);
      seen[op.row] = true;
    }
  }
  EXPECT_EQ(end, kRows);
}

TEST(DeviceOpsTest, RowsThatAreNoWorkLeaveNoGaps) {
  constexpr int64_t kTooLate = INT64_MAX - 100;
  Trace trace;
  trace.device.push({.id = idAt<DeviceId>(0)});
  std::vector<uint32_t> expected;  // rows of both tables, by stream
  for (uint32_t i = 0; i < 2; ++i) {
    trace.stream.push({.id = idAt<StreamId>(i), .device_id = idAt<DeviceId>(0)});
    for (uint32_t row = 0; row < 30; ++row) {
      if (row % 2 == i && row % 3 != 0 && row != 14) expected.push_back(row);
    }
    for (uint32_t row = i; row < 10; row += 2) expected.push_back(row);
  }
  for (uint32_t row = 0; row < 30; ++row) {
    trace.kernel.push({.start_ns = row % 3 == 0 ? kTooLate : int64_t{row},
                       .duration_ns = 5,
                       .stream_id = idAt<StreamId>(row % 2),
                       .flags = row == 14 ? op_flags::kNoDeviceTime : 0});
  }
  for (uint32_t row = 0; row < 10; ++row) {
    trace.copy.push(
        {.start_ns = 100 + row, .duration_ns = 5, .stream_id = idAt<StreamId>(row % 2)});
    trace.sync.push({.start_ns = 50 + row, .stream_id = idAt<StreamId>(row % 2)});
  }
  const DeviceOps ops = DeviceOps::of(trace);
  std::vector<uint32_t> rows;
  for (const DeviceOp& op : ops.ops) rows.push_back(op.row);
  EXPECT_EQ(rows, expected);
  ASSERT_EQ(ops.streams.size(), 2u);
  EXPECT_EQ(ops.streams[1].begin, ops.streams[0].end);
  EXPECT_EQ(ops.streams[1].end, ops.ops.size());
}

TEST(DeviceOpsTest, MoreThanWasCountedIsLeftOutAndNoticed) {
  Trace trace;
  trace.stream.push({.id = idAt<StreamId>(0)});
  trace.stream.push({.id = idAt<StreamId>(1)});
  KernelTable counted, written;
  for (uint32_t i = 0; i < 3; ++i) counted.push({.duration_ns = 1, .stream_id = idAt<StreamId>(0)});
  for (const uint32_t stream : {0u, 0u, 0u, 0u}) {
    written.push({.duration_ns = 1, .stream_id = idAt<StreamId>(stream)});
  }
  DeviceOpsMaker maker(trace);
  const auto collect = [&](const KernelTable& rows) {
    OpsByStream ops(trace);
    ops.add(maker.countsOf(counted, ops));
    ops.makeRoom();
    const std::vector<uint32_t> launches(rows.size(), DeviceOp::kNone);
    const bool is_complete = maker.writeOps(rows, launches, 0, ops.writer(0));
    return std::pair(is_complete, maker.finish(std::move(ops)).ops.size());
  };
  EXPECT_EQ(collect(counted), std::pair(true, size_t{3}));
  EXPECT_EQ(collect(written), std::pair(false, size_t{3}));
  written.stream_id[0] = written.stream_id[1] = idAt<StreamId>(1);
  EXPECT_EQ(collect(written), std::pair(false, size_t{2}));
}

}  // namespace
}  // namespace tracesmith
