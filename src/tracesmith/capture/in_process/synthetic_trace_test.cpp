// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/in_process/synthetic_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tracesmith {
namespace {

struct Work {
  int64_t start_ns = 0, end_ns = 0;
  StreamId stream{};
};

/// Device work of every kind by correlation id.
std::map<uint64_t, Work> deviceWork(const Trace& t) {
  std::map<uint64_t, Work> all;
  const auto add = [&](const auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      const Work w{table.start_ns[i], table.start_ns[i] + table.duration_ns[i], table.stream_id[i]};
      EXPECT_TRUE(all.emplace(table.correlation_id[i], w).second);
    }
  };
  add(t.kernel);
  add(t.copy);
  add(t.fill);
  return all;
}

template <class Table>
bool equal(const Table& a, const Table& b) {
  std::vector<std::vector<double>> columns[2];
  int side = 0;
  for (const Table* table : {&a, &b}) {
    Table::visitColumns(*table, [&](const ColumnInfo&, const auto& column) {
      std::vector<double> values;
      for (const auto& v : column) values.push_back(static_cast<double>(v));
      columns[side].push_back(values);
    });
    ++side;
  }
  return columns[0] == columns[1];
}

class SimulationTest : public ::testing::TestWithParam<std::pair<uint32_t, uint32_t>> {
 protected:
  SimulationTest() {
    options_.duration_s = 0.1;
    options_.devices = GetParam().first;
    options_.streams = GetParam().second;
    trace_ = simulateTrace(options_);
    work_ = deviceWork(trace_);
  }
  SimulationOptions options_;
  Trace trace_;
  std::map<uint64_t, Work> work_;
};

INSTANTIATE_TEST_SUITE_P(, SimulationTest,
                         ::testing::Values(std::pair(1u, 1u), std::pair(1u, 4u), std::pair(2u, 1u),
                                           std::pair(2u, 2u), std::pair(4u, 3u),
                                           std::pair(3u, 7u)));

TEST_P(SimulationTest, EverythingSaysThatItIsSynthetic) {
  EXPECT_EQ(trace_.metadataValue("synthetic"), "true");
  ASSERT_EQ(trace_.device.size(), options_.devices);
  for (size_t i = 0; i < trace_.device.size(); ++i) {
    EXPECT_EQ(trace_.text(trace_.device.name[i]), "Simulated device (synthetic)");
    EXPECT_EQ(trace_.device.backend[i], PlatformType::Simulation);
  }
  const auto flagged = [](const auto& table) {
    EXPECT_FALSE(table.empty());
    for (const uint32_t flags : table.flags) EXPECT_TRUE(flags & op_flags::kSynthetic);
  };
  flagged(trace_.host_call);
  flagged(trace_.kernel);
  flagged(trace_.copy);
  flagged(trace_.fill);
  flagged(trace_.sync);
}

TEST_P(SimulationTest, AStreamDoesOneThingAtATimeInTheOrderOfItsCalls) {
  std::map<StreamId, int64_t> free_ns;
  size_t checked = 0;
  for (const auto& [correlation, w] : work_) {  // correlation ids ascend with the calls
    EXPECT_GE(w.start_ns, free_ns[w.stream]) << correlation;
    EXPECT_GT(w.end_ns, w.start_ns);
    free_ns[w.stream] = w.end_ns;
    ++checked;
  }
  EXPECT_GT(checked, 100u);
}

TEST_P(SimulationTest, TheHostLaunchesAheadAndEveryThreadDoesOneCallAtATime) {
  std::map<ThreadId, int64_t> free_ns;
  std::set<uint64_t> correlations;
  for (size_t i = 0; i < trace_.host_call.size(); ++i) {
    const HostCallRow call = trace_.host_call.row(i);
    EXPECT_GE(call.start_ns, free_ns[call.thread_id]);
    free_ns[call.thread_id] = call.start_ns + call.duration_ns;
    EXPECT_TRUE(correlations.insert(call.correlation_id).second);
    const auto w = work_.find(call.correlation_id);
    if (w == work_.end()) continue;
    EXPECT_GE(w->second.start_ns - call.start_ns, 5000);
    EXPECT_GE(w->second.start_ns, call.start_ns + call.duration_ns);
  }
  for (const auto& [correlation, w] : work_) EXPECT_TRUE(correlations.count(correlation));
  for (size_t i = 0; i < trace_.kernel.size(); ++i) {
    EXPECT_GE(trace_.kernel.queued_before_ns[i], trace_.kernel.submitted_before_ns[i]);
    EXPECT_GE(trace_.kernel.submitted_before_ns[i], 0);
  }
}

TEST_P(SimulationTest, WhatWaitsBeginsAfterWhatItWaitedFor) {
  EXPECT_EQ(trace_.flow.empty(), options_.streams == 1);
  for (size_t i = 0; i < trace_.flow.size(); ++i) {
    const auto from = work_.find(trace_.flow.from_correlation_id[i]);
    const auto to = work_.find(trace_.flow.to_correlation_id[i]);
    ASSERT_NE(from, work_.end());
    ASSERT_NE(to, work_.end());
    EXPECT_GE(to->second.start_ns, from->second.end_ns);
    EXPECT_NE(to->second.stream, from->second.stream);
    EXPECT_EQ(trace_.deviceOf(to->second.stream), trace_.deviceOf(from->second.stream));
  }
}

TEST_P(SimulationTest, ACollectiveEndsOnAllDevicesAtOnce) {
  std::map<int64_t, size_t> ends;
  for (size_t i = 0; i < trace_.kernel.size(); ++i)
    if (trace_.text(trace_.kernel.name[i]) == "all_reduce_sum")
      ++ends[trace_.kernel.start_ns[i] + trace_.kernel.duration_ns[i]];
  EXPECT_EQ(ends.empty(), options_.devices == 1);
  for (const auto& [end, devices] : ends) EXPECT_EQ(devices, options_.devices);
}

TEST_P(SimulationTest, AllMemoryButTheWeightsIsFreed) {
  std::map<uint64_t, uint64_t> live;
  for (size_t i = 0; i < trace_.memory_event.size(); ++i) {
    const MemoryEventRow m = trace_.memory_event.row(i);
    if (m.kind == MemoryKind::kAlloc) {
      EXPECT_TRUE(live.emplace(m.address, m.bytes).second);
    } else {
      ASSERT_TRUE(live.count(m.address));
      EXPECT_EQ(live[m.address], m.bytes);
      live.erase(m.address);
    }
  }
  EXPECT_EQ(live.size(), options_.layers * options_.devices);
}

TEST_P(SimulationTest, ItLastsAsLongAsItWasAskedTo) {
  const TimeRange range = timeRange(trace_);
  EXPECT_GE(range.begin_ns, options_.start_ns);
  EXPECT_LT(range.begin_ns, options_.start_ns + 1'000'000);
  EXPECT_GE(range.duration(), 95'000'000);
  EXPECT_LE(range.duration(), 150'000'000);  // the last iteration is complete
}

TEST(Simulation, IsTheSameForTheSameSeedOnly) {
  SimulationOptions options;
  options.duration_s = 0.05;
  options.devices = 2;
  const Trace a = simulateTrace(options), b = simulateTrace(options);
  EXPECT_TRUE(equal(a.kernel, b.kernel));
  EXPECT_TRUE(equal(a.host_call, b.host_call));
  EXPECT_TRUE(equal(a.memory_event, b.memory_event));
  options.seed = 2;
  EXPECT_FALSE(equal(a.kernel, simulateTrace(options).kernel));
}

TEST(Simulation, InPiecesItIsTheSameAsInOne) {
  SimulationOptions options;
  options.duration_s = 0.1;
  const Trace whole = simulateTrace(options);
  Simulation simulation(options);
  Trace pieces;
  for (int64_t ms = 7; ms <= 100; ms += 31) {
    simulation.runUntil(options.start_ns + ms * 1'000'000);
    const Trace piece = simulation.take();
    for (size_t i = 0; i < piece.kernel.size(); ++i) pieces.kernel.push(piece.kernel.row(i));
  }
  EXPECT_TRUE(equal(whole.kernel, pieces.kernel));
}

TEST(Simulation, DurationsAreSpreadAsALogNormalIs) {
  SimulationOptions options;
  options.duration_s = 1;
  const Trace t = simulateTrace(options);
  std::vector<double> gemm;
  for (size_t i = 0; i < t.kernel.size(); ++i)
    if (t.text(t.kernel.name[i]) == "sgemm_128x128_nn")
      gemm.push_back(static_cast<double>(t.kernel.duration_ns[i]));
  ASSERT_GT(gemm.size(), 500u);
  std::sort(gemm.begin(), gemm.end());
  const auto quantile = [&](double q) {
    return gemm[static_cast<size_t>(q * static_cast<double>(gemm.size() - 1))];
  };
  EXPECT_NEAR(quantile(0.5), 95000 * 1.02, 95000 * 0.04);
  // One sigma of 0.08 up and down.
  EXPECT_NEAR(quantile(0.8413) / quantile(0.5), 1.083, 0.02);
  EXPECT_NEAR(quantile(0.1587) / quantile(0.5), 0.923, 0.02);
}

TEST(Simulation, CopesWithAbsurdOptions) {
  SimulationOptions options;
  options.duration_s = -5;
  EXPECT_TRUE(simulateTrace(options).kernel.empty());
  options.duration_s = 1e300;
  options.max_kernels = 1000;
  options.devices = 0;
  options.streams = 0;
  options.layers = 0;
  const Trace t = simulateTrace(options);
  EXPECT_GE(t.kernel.size(), 1000u);
  EXPECT_LT(t.kernel.size(), 1100u);
  EXPECT_EQ(t.metadataValue("simulation_cut"), "max_kernels");
  options.max_kernels = 0;
  options.devices = 1u << 31;
  options.streams = 1u << 31;
  EXPECT_EQ(simulateTrace(options).device.size(), 64u);
  options.duration_s = std::nan("");
  EXPECT_TRUE(simulateTrace(options).kernel.empty());
}

}  // namespace
}  // namespace tracesmith
