// SPDX-License-Identifier: Apache-2.0
// ReadOptions::first_events, and the begin of a trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

using test::TempFile;

/// The starts of kernels and host calls, in host time, the earliest `most` of them.
std::vector<int64_t> firstBegins(const Trace& trace, size_t most) {
  std::vector<int64_t> begins(trace.kernel.start_ns.begin(), trace.kernel.start_ns.end());
  begins.insert(begins.end(), trace.host_call.start_ns.begin(), trace.host_call.start_ns.end());
  std::sort(begins.begin(), begins.end());
  begins.resize(std::min(most, begins.size()));
  return begins;
}

TEST(TraceReader, TheFirstEventsAreReadWithoutTheRest) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const bool device_clock = round % 3 == 1, host_calls = round % 2 == 0;
    const TempFile file;
    auto writer = TraceWriter::create(
        file.path(), {.max_block_rows = static_cast<uint32_t>(20 + random() % 40)});
    ASSERT_TRUE(writer);
    Trace delta;
    delta.device.push({.id = DeviceId{1}, .clock_domain_id = ClockDomainId{1}});
    delta.stream.push({.id = StreamId{1}, .device_id = DeviceId{1}});
    delta.clock_domain.push({.id = ClockDomainId{1}, .kind = ClockKind::kVendorPair});
    for (int64_t host : {0, 1'000'000}) {
      delta.clock_snapshot.push(
          {.domain_id = ClockDomainId{1}, .host_ns = host, .clock_value = host - 500});
    }
    for (int64_t i = 0; i < 1'000; ++i) {
      const int64_t begin = 1'000 + i * 20 + static_cast<int64_t>(random() % 300);
      delta.kernel.push({.start_ns = device_clock ? begin - 500 : begin,
                         .duration_ns = static_cast<int64_t>(random() % 100),
                         .stream_id = StreamId{1},
                         .flags = device_clock ? op_flags::kDeviceClock : 0});
      if (host_calls) delta.host_call.push({.start_ns = begin - 700, .duration_ns = 30});
    }
    ASSERT_TRUE(writer->write(delta));
    if (round % 4 != 0) {
      ASSERT_TRUE(writer->finish());
    }
    auto reader = TraceReader::open(file.path());
    ASSERT_TRUE(reader);
    const Trace whole = reader->read().value();
    ASSERT_EQ(reader->rows(TableId::kKernel), whole.kernel.size());
    EXPECT_EQ(reader->beginNs().value(), timeRange(whole).begin_ns);
    for (const size_t wanted : {1, 10, 15, 200, 5'000}) {
      ReadOptions options;
      options.first_events = wanted;
      const Trace some = reader->read(options).value();
      EXPECT_EQ(firstBegins(some, wanted), firstBegins(whole, wanted));
      if (wanted <= 15) {
        EXPECT_LT(some.kernel.size() + some.host_call.size(), 400u) << "most need not be read";
      }
    }
  }
}

TEST(TraceReader, TheFirstEventsAreThoseThatCanBeRead) {
  const TempFile file;
  auto writer = TraceWriter::create(file.path(), {.max_block_rows = 100});
  ASSERT_TRUE(writer);
  Trace delta;
  for (int64_t i = 0; i < 1'000; ++i) delta.kernel.push({.start_ns = 1'000 * i, .duration_ns = 5});
  ASSERT_TRUE(writer->write(delta));
  ASSERT_TRUE(writer->finish());
  const Bytes sound = file.bytes();
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  const std::vector<BlockInfo> blocks = reader->blocks();
  for (size_t lost = 1; lost <= 3; ++lost) {
    Bytes bytes = sound;
    size_t damaged_blocks = 0;
    for (const BlockInfo& block : blocks) {
      if (block.table == TableId::kKernel && damaged_blocks++ < lost) bytes[block.end - 1] ^= 1;
    }
    file.write(bytes);
    auto again = TraceReader::open(file.path());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->beginNs().value(), static_cast<int64_t>(lost) * 100'000);
    ReadOptions options;
    options.first_events = 10;
    const Trace some = again->read(options).value();
    EXPECT_EQ(firstBegins(some, 10), firstBegins(again->read().value(), 10));
    EXPECT_LT(some.kernel.size(), 500U);
    EXPECT_EQ(again->losses().size(), lost);
  }
}

TEST(TraceReader, ATraceWithoutEventsHasNoBegin) {
  const TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace trace;
  trace.setMetadata("key", "value");
  ASSERT_TRUE(writer->write(trace));
  ASSERT_TRUE(writer->finish());
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->beginNs().value(), std::nullopt);
}

}  // namespace
}  // namespace tracesmith
