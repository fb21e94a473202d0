// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/device_work.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tracesmith/export/perfetto/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

/// Compares with an ordered map filled row by row.
void expectSameAsMap(const Trace& trace, const Selection& selection) {
  const Result<DeviceWork> work = DeviceWork::index(trace, selection);
  ASSERT_TRUE(work);
  std::map<std::pair<ProcessId, uint64_t>, std::vector<uint32_t>> expected;
  forEachWorkTable(trace, [&](const auto& table, WorkKind kind) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (!isWorkSelected(table, i, selection) || table.correlation_id[i] == 0) continue;
      expected[{table.process_id[i], table.correlation_id[i]}].push_back(
          static_cast<uint32_t>(work->number(kind, i)));
    }
  });
  for (const auto& [key, numbers] : expected) {
    std::vector<uint32_t> found;
    for (uint32_t w = work->first(key.first, key.second); w != 0; w = work->next(w)) {
      found.push_back(w);
    }
    EXPECT_EQ(found, numbers);
  }
  sample::Random random(9);
  for (int i = 0; i < 10000; ++i) {
    const auto process = static_cast<ProcessId>(random.below(4));
    const uint64_t id = random.below(2) ? random.below(5000) : random.next();
    if (expected.count({process, id}) == 0) {
      EXPECT_EQ(work->first(process, id), 0u);
    }
  }
}

TEST(DeviceWork, findsTheSameRowsAsAMap) {
  Trace trace = sample::makeTrace({.kernels = 2000, .names = 8});
  const Selection all(trace, std::nullopt, std::nullopt, {});
  expectSameAsMap(trace, all);
  const Selection part(trace, trace.kernel.start_ns[500], trace.kernel.start_ns[900],
                       {StreamId(1), StreamId(4)});
  expectSameAsMap(trace, part);
  // Many rows with one id, in several tables.
  for (size_t i = 0; i < trace.kernel.size(); i += 3) trace.kernel.correlation_id[i] = 77;
  for (size_t i = 0; i < trace.copy.size(); i += 2) trace.copy.correlation_id[i] = 77;
  expectSameAsMap(trace, all);
  // Ids scattered over 64 bits.
  sample::Random random(1);
  for (size_t i = 0; i < trace.kernel.size(); i += 2)
    trace.kernel.correlation_id[i] = random.next();
  expectSameAsMap(trace, all);
}

TEST(DeviceWork, scatteredIdsTakeNoMoreMemoryThanTheirRows) {
  Trace trace;
  trace.process.push({ProcessId(1)});
  for (uint64_t id : {uint64_t{1}, ~uint64_t{0}, uint64_t{1} << 40}) {
    KernelRow row;
    row.process_id = ProcessId(1);
    row.correlation_id = id;
    trace.kernel.push(row);
  }
  expectSameAsMap(trace, Selection(trace, std::nullopt, std::nullopt, {}));
}

}  // namespace
}  // namespace tracesmith
