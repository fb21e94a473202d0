// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/fleet_summary.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "tracesmith/analysis/streaming/random_work_test_util.hpp"
#include "tracesmith/analysis/timing/kernel_stats.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"
#include "tracesmith/fleet/summarize.hpp"
#include "tracesmith/fleet/summary_bytes.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

ValueSums randomValues(std::mt19937_64& random) {
  ValueCollector values;
  const size_t n = random() % 200;
  for (size_t i = 0; i < n; ++i) {
    values.add(static_cast<int64_t>(random() >> (1 + random() % 62)));
  }
  return values.sums();
}

/// Every field has something, so that none can be forgotten.
FleetSummary randomSummary(std::mt19937_64& random) {
  FleetSummary out;
  const auto name = [&] { return "name " + std::to_string(random() % 6); };
  visitFields(out, [&](size_t, auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, uint64_t>) field = random() >> 20;
    if constexpr (std::is_same_v<Field, Largest>) field.value = random();
    if constexpr (std::is_same_v<Field, ValueSums>) field = randomValues(random);
    if constexpr (requires { typename Field::mapped_type; }) {
      using Value = typename Field::mapped_type;
      for (size_t i = 0; i < 4; ++i) {
        Value& value = field[name()];
        if constexpr (std::is_same_v<Value, uint64_t>) value = random() >> 20;
        if constexpr (std::is_same_v<Value, ValueSums>) value = randomValues(random);
        if constexpr (std::is_same_v<Value, TransferSums>) {
          value = {randomValues(random), {random(), random() >> 8}};
        }
        if constexpr (std::is_same_v<Value, CommSums>) {
          value = {randomValues(random), randomValues(random), {random(), 1}, {random(), 2}};
        }
        if constexpr (std::is_same_v<Value, ClassTimes>) {
          visitFields(value, [&](size_t, auto& part) {
            using Part = std::remove_reference_t<decltype(part)>;
            if constexpr (std::is_same_v<Part, uint64_t>) part = random() >> 20;
            if constexpr (std::is_same_v<Part, WideSum>) part = {random(), random() >> 8};
            if constexpr (std::is_same_v<Part, ValueSums>) part = randomValues(random);
          });
        }
      }
    }
  });
  return out;
}

TEST(LogBuckets, HoldEachValueWithinTheStatedError) {
  for (uint32_t i = 0; i + 1 < log_buckets::kCount; ++i) {
    ASSERT_EQ(log_buckets::indexOf(log_buckets::firstOf(i)), i);
    ASSERT_EQ(log_buckets::indexOf(log_buckets::firstOf(i + 1) - 1), i);
  }
  EXPECT_EQ(log_buckets::indexOf(UINT64_MAX), log_buckets::kCount - 1);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t value = random() >> (random() % 64);
    const uint64_t middle = log_buckets::middleOf(log_buckets::indexOf(value));
    const uint64_t error = std::max(value, middle) - std::min(value, middle);
    ASSERT_LE(static_cast<double>(error), static_cast<double>(value) * log_buckets::kRelativeError)
        << value;
  }
}

TEST(ValueSums, QuantilesAreWithinTheStatedErrorOfTheNearestRank) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 50; ++round) {
    std::lognormal_distribution<double> lengths(1 + round % 15, 0.3 + 0.1 * (round % 20));
    std::vector<uint64_t> all(1 + random() % 3000);
    ValueCollector collector;
    for (uint64_t& value : all) {
      value = static_cast<uint64_t>(lengths(random));
      collector.add(static_cast<int64_t>(value));
    }
    const ValueSums sums = collector.sums();
    std::sort(all.begin(), all.end());
    EXPECT_EQ(sums.count, all.size());
    EXPECT_EQ(sums.sum.low, std::accumulate(all.begin(), all.end(), uint64_t{0}));
    EXPECT_EQ(sums.min, all.front());
    EXPECT_EQ(sums.max, all.back());
    for (const double share : {0.0, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0}) {
      const auto rank = std::max<size_t>(
          1, static_cast<size_t>(std::ceil(share * static_cast<double>(all.size()))));
      const auto truth = static_cast<double>(all[rank - 1]);
      EXPECT_NEAR(static_cast<double>(sums.quantile(share)), truth,
                  truth * log_buckets::kRelativeError);
    }
  }
}

TEST(FleetSummary, AddingIsAssociativeAndCommutativeToTheLastBit) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<FleetSummary> all(2 + random() % 10);
    for (FleetSummary& each : all) each = randomSummary(random);
    FleetSummary in_order;
    for (const FleetSummary& each : all) in_order.add(each);
    // A random tree over a random order.
    std::shuffle(all.begin(), all.end(), random);
    while (all.size() > 1) {
      const size_t i = random() % (all.size() - 1);
      all[i].add(all[i + 1]);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    EXPECT_EQ(in_order, all[0]);
    EXPECT_EQ(summaryBody(in_order), summaryBody(all[0]));
  }
}

TEST(SummaryBytes, HaveAllFields) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 20; ++round) {
    const FleetSummary summary = randomSummary(random);
    const auto back = decodeSummary(encodeSummary(summary));
    ASSERT_TRUE(back) << back.error().toString();
    EXPECT_EQ(*back, summary);
  }
  const auto empty = decodeSummary(encodeSummary(FleetSummary()));
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, FleetSummary());
}

TEST(SummaryBytes, ABrokenOneIsRefused) {
  std::mt19937_64 random(5);
  const Bytes bytes = encodeSummary(randomSummary(random));
  for (size_t n = 0; n < bytes.size(); n += 1 + n / 50) {
    EXPECT_FALSE(decodeSummary(ByteView(bytes).first(n))) << n;
  }
  for (size_t i = 0; i < bytes.size(); i += 7) {
    Bytes changed = bytes;
    changed[i] ^= 0x10;
    if (i >= 12 && i < 16) continue;  // reserved
    EXPECT_FALSE(decodeSummary(changed)) << i;
  }
}

TEST(SummaryBytes, ANewerVersionIsRefusedByName) {
  Bytes bytes = encodeSummary(FleetSummary());
  bytes[8] = static_cast<uint8_t>(kSummaryVersion + 1);
  const auto read = decodeSummary(bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kTooNew);
  EXPECT_THAT(read.error().message, HasSubstr("version 2"));
}

TEST(SummaryBytes, KernelsThatTakeTheLeastAreLeftOutOfALargeOne) {
  std::mt19937_64 random(6);
  FleetSummary summary;
  WideSum all;
  for (int i = 0; i < 5000; ++i) {
    ValueSums values = randomValues(random);
    values.add(randomValues(random));
    all.add(values.sum);
    std::string name = "void gemm_" + std::to_string(i);
    for (int k = 0; k < 20; ++k) name += static_cast<char>('a' + random() % 26);
    summary.kernels[name] = values;
  }
  const Bytes bytes = encodeSummary(summary, kLargestSummary);
  EXPECT_LE(bytes.size(), kLargestSummary);
  EXPECT_GT(bytes.size(), kLargestSummary / 2);
  const auto back = decodeSummary(bytes);
  ASSERT_TRUE(back);
  WideSum kept, others;
  WideSum least{UINT64_MAX, UINT64_MAX};
  for (const auto& [name, values] : back->kernels) {
    kept.add(values.sum);
    if (std::pair(values.sum.high, values.sum.low) < std::pair(least.high, least.low)) {
      least = values.sum;
    }
  }
  for (const auto& [family, values] : back->other_kernels) others.add(values.sum);
  EXPECT_GT(back->kernels.size(), 50u);
  kept.add(others);
  EXPECT_EQ(kept, all);
}

TEST(SummaryBytes, VeryManyNamesOfDevicesFitToo) {
  FleetSummary summary;
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    ClassTimes& device = summary.devices[fmt::format("{:016x}{:016x}", random(), random())];
    device.devices = 1;
    device.span_ns.add(random() % 1'000'000);
  }
  const Bytes bytes = encodeSummary(summary, kLargestSummary);
  EXPECT_LE(bytes.size(), kLargestSummary);
  const auto back = decodeSummary(bytes);
  ASSERT_TRUE(back);
  uint64_t devices = 0;
  for (const auto& [name, times] : back->devices) devices += times.devices;
  EXPECT_EQ(devices, 20'000u);
  EXPECT_GT(back->devices.size(), 200u);
}

TEST(SummaryBytes, ReadingTakesLimitedMemory) {
  FleetSummary summary;
  for (int i = 0; i < 100'000; ++i) summary.versions[fmt::format("{:x}", i)] = 1;
  const Bytes bytes = encodeSummary(summary);
  EXPECT_TRUE(decodeSummary(bytes));
  const auto small = decodeSummary(bytes, 4 << 20);
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, ErrorCode::kNoSpace);
}

void write(const Trace& trace, const std::string& path) {
  auto writer = TraceWriter::create(path, {.max_block_rows = 128});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(trace));
  ASSERT_TRUE(writer->finish());
}

TEST(Summarize, AFileByBlocksIsTheTraceInMemory) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    test::TempFile file;
    write(test::randomWork(
              {.seed = seed, .repeats_ids = seed % 5 == 0, .is_shuffled = seed % 4 == 0}),
          file.path());
    auto scan = TraceScan::open(file.path(), static_cast<unsigned>(1 + seed % 3));
    ASSERT_TRUE(scan);
    auto by_block = summarizeScan(*scan);
    ASSERT_TRUE(by_block) << by_block.error().toString();
    const Trace whole = *scan->reader().read();
    EXPECT_GT(by_block->file_bytes, 0u);
    EXPECT_EQ(by_block->versions.size(), 1u);
    by_block->file_bytes = 0;
    by_block->versions.clear();
    EXPECT_EQ(*by_block, summarizeTrace(whole));
  }
}

TEST(Summarize, DamageHasTheSameEffectByBlocksAndInMemory) {
  test::TempFile intact;
  write(test::randomWork({.seed = 3}), intact.path());
  const Bytes bytes = intact.bytes();
  const uint64_t first_block = TraceReader::open(intact.path())->blocks().front().offset;
  std::mt19937_64 random(11);
  size_t found = 0;
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    test::TempFile file;
    Bytes damaged = bytes;
    const size_t at = first_block + random() % (bytes.size() - first_block - 4);
    for (size_t i = 0; i < 4; ++i) damaged[at + i] ^= 0xff;
    file.write(damaged);
    auto scan = TraceScan::open(file.path(), 2);
    ASSERT_TRUE(scan);
    const auto by_block = summarizeScan(*scan);
    ASSERT_TRUE(by_block) << by_block.error().toString();
    auto reader = TraceReader::open(file.path());
    const Trace whole = *reader->read();
    const FleetSummary in_memory = summarizeTrace(whole);
    EXPECT_EQ(by_block->events, in_memory.events);
    EXPECT_EQ(by_block->kernels, in_memory.kernels);
    EXPECT_EQ(by_block->devices, in_memory.devices);
    EXPECT_EQ(by_block->comm, in_memory.comm);
    std::map<uint64_t, uint64_t> places;
    for (const DataLoss& loss : reader->losses()) places[loss.offset] = loss.bytes;
    uint64_t lost = 0;
    for (const auto& [offset, size] : places) lost += size;
    EXPECT_EQ(by_block->damaged_bytes, lost);
    EXPECT_EQ(by_block->damaged_traces, lost > reader->cutBytes() ? 1u : 0u);
    found += by_block->damaged_traces;
  }
  EXPECT_GT(found, 50u);
}

TEST(Summarize, HasTheNumbersOfTheAnalyses) {
  const Trace trace = test::randomWork({.seed = 7, .rows = 5000});
  const FleetSummary summary = summarizeTrace(trace);
  EXPECT_EQ(summary.traces, 1u);
  for (const NamedStats& kernel : kernelStats(trace)) {
    const ValueSums& sums = summary.kernels.at(kernel.name);
    EXPECT_EQ(sums.count, kernel.time.count);
    EXPECT_EQ(sums.sum.asInt64(), kernel.time.total_ns);
    EXPECT_EQ(static_cast<int64_t>(sums.min), kernel.time.min_ns);
    EXPECT_EQ(static_cast<int64_t>(sums.max), kernel.time.max_ns);
    const auto p95 = static_cast<double>(kernel.time.p95_ns);
    EXPECT_NEAR(static_cast<double>(sums.quantile(0.95)), p95, p95 / 128);
  }
  const DeviceOps ops = DeviceOps::of(trace);
  const TimeBreakdown all = sumOverDevices(ops);
  ClassTimes devices;
  for (const auto& [name, times] : summary.devices) {
    devices.devices += times.devices;
    devices.span_ns.add(times.span_ns);
    devices.busy_ns.add(times.busy_ns);
    devices.kernel_ns.add(times.kernel_ns);
  }
  EXPECT_EQ(devices.devices, breakdownByDevice(ops).size());
  EXPECT_EQ(devices.span_ns.asInt64(), all.span_ns);
  EXPECT_EQ(devices.busy_ns.asInt64(), all.busy_ns);
  EXPECT_EQ(devices.kernel_ns.asInt64(), all.kernel_ns);
  int64_t host_wait = 0;
  for (const IdleTime& idle : idleTimes(ops)) host_wait += idle.host_wait_ns;
  EXPECT_EQ(summary.gaps.at("host wait").sum.asInt64(), host_wait);
  EXPECT_EQ(
      summary.comm.at("ncclAllReduce").call_ns.count + summary.comm.at("MPI_Barrier").call_ns.count,
      trace.comm.size());
  EXPECT_EQ(
      summary.comm.at("ncclAllReduce").work_ns.count + summary.comm.at("MPI_Barrier").work_ns.count,
      trace.comm_work.size());
}

}  // namespace
}  // namespace tracesmith
