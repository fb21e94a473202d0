// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/live_memory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tracesmith {
namespace {

constexpr DeviceId kHost = DeviceId::kNone;

void event(Trace& trace, int64_t time, uint64_t address, uint64_t bytes, DeviceId device = kHost,
           ContextId context = ContextId::kNone, ProcessId process = ProcessId(1)) {
  MemoryEventRow row;
  row.time_ns = time;
  row.kind = bytes > 0 ? MemoryKind::kAlloc : MemoryKind::kFree;
  row.address = address;
  row.bytes = bytes;
  row.device_id = device;
  row.context_id = context;
  row.process_id = process;
  trace.memory_event.push(row);
}

MemoryTotals at(const MemoryUsage& usage, DeviceId device) {
  for (const MemoryTotals& use : usage.places) {
    if (use.device == device) return use;
  }
  ADD_FAILURE() << "no such place";
  return {};
}

TEST(LiveMemory, PlacesHavePeaksOfTheirOwnAndOneTogether) {
  Trace trace;
  event(trace, 10, 0x10, 1'000, DeviceId(1));
  event(trace, 20, 0x10, 146);  // host memory: the same address is other memory
  event(trace, 30, 0x10, 0, DeviceId(1));
  event(trace, 40, 0x20, 600, DeviceId(1));
  event(trace, 50, 0x10, 0);
  const MemoryUsage usage = memoryUsage(trace);
  ASSERT_EQ(usage.places.size(), 2U);
  EXPECT_EQ(at(usage, DeviceId(1)).peak_bytes, 1'000U);
  EXPECT_EQ(at(usage, DeviceId(1)).peak_ns, 10);
  EXPECT_EQ(at(usage, DeviceId(1)).live_bytes, 600U);
  EXPECT_EQ(at(usage, kHost).peak_bytes, 146U);
  EXPECT_EQ(at(usage, kHost).live_bytes, 0U);
  EXPECT_EQ(usage.all.peak_bytes, 1'146U);
  EXPECT_EQ(usage.all.peak_ns, 20);
  EXPECT_EQ(usage.all.allocations, 3U);
  EXPECT_EQ(usage.all.freed_bytes, 1'146U);
}

TEST(LiveMemory, EventsCountByTheirTimesAndWhatIsNotLiveDoesNot) {
  Trace trace;
  trace.context.push({.id = ContextId(1), .device_id = DeviceId(2)});
  event(trace, 50, 0x10, 0);                         // without device or context
  event(trace, 10, 0x10, 100, kHost, ContextId(1));  // the device of its context
  event(trace, 20, 0x99, 0, DeviceId(2));            // allocated before the trace started
  event(trace, 30, 0x20, 300, DeviceId(2));
  event(trace, 40, 0x20, 500, DeviceId(2));                  // its free is missing
  event(trace, 45, 0, 1'000'000, DeviceId(2));               // failed
  event(trace, 46, 0x10, 7, DeviceId(2), {}, ProcessId(2));  // of another process
  const MemoryUsage usage = memoryUsage(trace);
  ASSERT_EQ(usage.places.size(), 1U);
  EXPECT_EQ(usage.all.peak_bytes, 607U);
  EXPECT_EQ(usage.all.peak_ns, 46);
  EXPECT_EQ(usage.all.live_bytes, 507U);
  EXPECT_EQ(usage.all.frees, 2U);
  EXPECT_EQ(usage.all.freed_bytes, 100U);
  const std::vector<MemoryCurve> curves = memoryCurves(trace);
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0].device, DeviceId(2));
  EXPECT_EQ(curves[0].bytes, (std::vector<uint64_t>{100, 100, 400, 600, 607, 507}));
}

/// Compares with an implementation that goes through all live memory at each event.
TEST(LiveMemory, SumsAreThoseOfAddingUpWhatIsLive) {
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    Trace trace;
    std::map<std::pair<DeviceId, uint64_t>, uint64_t> live;
    std::map<DeviceId, uint64_t> peaks;
    uint64_t peak = 0;
    for (int64_t time = 0; time < 300; ++time) {
      const auto device = DeviceId(random() % 3);
      const uint64_t address = 1 + random() % 40;
      const uint64_t bytes = random() % 2 == 0 ? 0 : 1 + random() % 5'000;
      if (bytes == 0 && device == kHost) continue;
      event(trace, time, address, bytes, device);
      live.erase({device, address});
      if (bytes > 0) live[{device, address}] = bytes;
      std::map<DeviceId, uint64_t> sums;
      uint64_t sum = 0;
      for (const auto& [key, size] : live) sums[key.first] += size, sum += size;
      for (const auto& [of, size] : sums) peaks[of] = std::max(peaks[of], size);
      peak = std::max(peak, sum);
    }
    const MemoryUsage usage = memoryUsage(trace);
    EXPECT_EQ(usage.all.peak_bytes, peak);
    for (const auto& [device, most] : peaks) EXPECT_EQ(at(usage, device).peak_bytes, most);
    for (const MemoryCurve& curve : memoryCurves(trace)) {
      EXPECT_EQ(*std::max_element(curve.bytes.begin(), curve.bytes.end()),
                at(usage, curve.device).peak_bytes);
    }
  }
}

}  // namespace
}  // namespace tracesmith
