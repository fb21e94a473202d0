// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/counter_series.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tracesmith/model/live_memory.hpp"

namespace tracesmith {
namespace {

/// Viewers show these counters, and reports use memoryUsage(); both must agree.
TEST(CounterSeries, AllocatedBytesAreThoseOfReports) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    Trace trace;
    for (uint32_t id = 1; id <= 2; ++id) {
      trace.device.push({.id = DeviceId(id), .ordinal = id - 1});
      trace.context.push({.id = ContextId(id), .device_id = DeviceId(id)});
    }
    for (int i = 0; i < 400; ++i) {
      MemoryEventRow row;
      row.time_ns = static_cast<int64_t>(1 + random() % 1'000);
      row.kind = random() % 2 == 0 ? MemoryKind::kAlloc : MemoryKind::kFree;
      row.process_id = ProcessId(1 + random() % 2);
      row.context_id = ContextId(random() % 3);
      if (random() % 2 == 0) row.device_id = DeviceId(1 + random() % 2);
      row.address = random() % 30;  // 0: a failed allocation
      row.bytes = row.kind == MemoryKind::kAlloc ? 1 + random() % 9'000 : 0;
      trace.memory_event.push(row);
    }
    const MemoryUsage usage = memoryUsage(trace);
    std::map<MemoryPool, uint64_t> pools;
    uint64_t sum = 0;
    uint64_t most = 0;
    int64_t most_ns = 0;
    std::map<bool, uint64_t> places;
    uint64_t most_on_host = 0;
    forEachMemoryValue(trace, Selection(trace, {}, {}, {}),
                       [&](const MemoryPool& pool, int64_t ns, uint64_t bytes) {
                         sum += bytes - pools[pool];
                         places[pool.on_host] += bytes - pools[pool];
                         pools[pool] = bytes;
                         most_on_host = std::max(most_on_host, places[true]);
                         if (sum <= most) return;
                         most = sum;
                         most_ns = ns;
                       });
    EXPECT_EQ(most, usage.all.peak_bytes);
    EXPECT_EQ(most_ns, usage.all.peak_ns);
    EXPECT_EQ(sum, usage.all.live_bytes);
    ASSERT_EQ(usage.places[0].device, DeviceId::kNone);
    EXPECT_EQ(most_on_host, usage.places[0].peak_bytes);
  }
}

TEST(CounterSeries, MemoryOfTheHostIsNotCalledTheDevices) {
  Trace trace;
  trace.context.push({.id = ContextId(1), .ordinal = 3, .device_id = DeviceId(1)});
  EXPECT_EQ(memoryPoolName(trace, {.context = ContextId(1)}),
            "Allocated device memory, context #3");
  EXPECT_EQ(memoryPoolName(trace, {.on_host = true}), "Allocated host memory");
}

}  // namespace
}  // namespace tracesmith
