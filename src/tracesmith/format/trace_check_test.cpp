// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/trace_check.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

using test::TempFile;
using ::testing::IsEmpty;

Trace someRows(size_t kernels) {
  Trace trace;
  std::mt19937_64 random(5);
  const StringId names[] = {trace.strings.intern("gemm"), trace.strings.intern("relu")};
  trace.device.push({.id = DeviceId{1}, .name = names[0]});
  trace.stream.push({.id = StreamId{1}, .device_id = DeviceId{1}});
  for (size_t i = 0; i < kernels; ++i) {
    trace.kernel.push({.start_ns = static_cast<int64_t>(1'000 + i * 50 + random() % 20),
                       .duration_ns = static_cast<int64_t>(random() % 60),
                       .name = names[random() % 2],
                       .stream_id = static_cast<StreamId>(1 + random() % 3),
                       .correlation_id = i});
  }
  return trace;
}

TEST(TraceCheck, AWholeFileIsIntactAndCounted) {
  const TempFile file;
  auto writer = TraceWriter::create(file.path(), {.max_block_rows = 100});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(someRows(1'000)));
  const auto unfinished = checkTrace(file.path());
  ASSERT_TRUE(unfinished);
  EXPECT_FALSE(unfinished->complete);
  EXPECT_FALSE(unfinished->intact());
  EXPECT_THAT(unfinished->problems, IsEmpty());
  ASSERT_TRUE(writer->finish());
  uint64_t seen = 0;
  const auto check = checkTrace(file.path(), [&](uint64_t bytes) { seen = bytes; });
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->intact());
  EXPECT_EQ(check->blocks, 13u);
  EXPECT_EQ(check->rows, 1'004u);
  EXPECT_EQ(check->bytes, file.bytes().size());
  EXPECT_GT(seen, 0u);
  EXPECT_LT(seen, check->bytes) << "index and end marker come behind the last block";
}

TEST(TraceCheck, EveryFlippedBitIsNoticed) {
  const TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(someRows(60)));
  ASSERT_TRUE(writer->finish());
  const Bytes good = file.bytes();
  ASSERT_TRUE(checkTrace(file.path()).value().intact());
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    file.write(bad);
    const auto check = checkTrace(file.path());
    EXPECT_TRUE(!check || !check->intact()) << "byte " << bit / 8 << ", bit " << bit % 8;
  }
}

TEST(TraceCheck, EveryCutIsNoticed) {
  const TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(someRows(60)));
  ASSERT_TRUE(writer->finish());
  const Bytes good = file.bytes();
  for (size_t length = 0; length < good.size(); ++length) {
    file.write(ByteView(good).first(length));
    const auto check = checkTrace(file.path());
    EXPECT_TRUE(!check || !check->intact()) << length;
  }
}

}  // namespace
}  // namespace tracesmith
