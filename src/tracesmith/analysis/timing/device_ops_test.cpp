// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/device_ops.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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

}  // namespace
}  // namespace tracesmith
