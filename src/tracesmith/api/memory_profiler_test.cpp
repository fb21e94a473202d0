// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/memory_profiler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tracesmith/model/live_memory.hpp"

namespace tracesmith {
namespace {

using testing::ElementsAre;
using testing::Pair;

MemoryEvent alloc(Timestamp time, uint64_t ptr, uint64_t bytes, uint32_t device = 0,
                  const char* allocator = "a") {
  return {.timestamp = time,
          .device_id = device,
          .bytes = bytes,
          .ptr = ptr,
          .is_allocation = true,
          .allocator_name = allocator};
}
MemoryEvent release(Timestamp time, uint64_t ptr, uint32_t device = 0) {
  return {.timestamp = time, .device_id = device, .ptr = ptr, .is_allocation = false};
}
MemoryReport reportOf(const std::vector<MemoryEvent>& events,
                      const MemoryProfiler::Config& config = {}) {
  return MemoryProfiler::of(events, config).generateReport();
}

constexpr uint64_t kPlaces = 256;  // addresses 1 to 256 of each device
constexpr uint32_t kDevices = 2;

/// A program's allocations on two devices; some releases are missing, and there are extra ones.
std::vector<MemoryEvent> randomEvents(std::mt19937& random, size_t count) {
  std::vector<MemoryEvent> events;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> live;  // sizes
  std::set<std::pair<uint32_t, uint64_t>> gone;
  Timestamp time = 1'000'000'000;
  const auto below = [&](uint64_t n) { return random() % n; };
  while (events.size() < count) {
    time += below(3) == 0 ? 0 : below(2'000'000);
    const auto device = static_cast<uint32_t>(below(kDevices));
    if (below(10) == 0) {  // never live, or no longer live
      std::pair<uint32_t, uint64_t> place(device, 1 + below(kPlaces));
      if (below(2) == 0 && !gone.empty()) {
        place = *std::next(gone.begin(), static_cast<int64_t>(below(gone.size())));
      }
      if (!live.contains(place)) events.push_back(release(time, place.second, place.first));
    } else if (below(5) < 2 && !live.empty()) {
      const auto at = std::next(live.begin(), static_cast<int64_t>(below(live.size())));
      events.push_back(release(time, at->first.second, at->first.first));
      gone.insert(at->first);
      live.erase(at);
    } else {
      uint64_t ptr = 1 + below(kPlaces);
      const bool again = below(10) == 0 && !live.empty();  // its release was not seen
      if (again) ptr = live.begin()->first.second;
      uint64_t size = below(24);
      const uint32_t on = again ? live.begin()->first.first : device;
      bool taken = ptr + size > kPlaces + 1;
      for (const auto& [place, bytes] : live) {
        if (place.first != on || (again && place.second == ptr)) continue;
        taken |= place.second < ptr + std::max<uint64_t>(size, 1) &&
                 ptr < place.second + std::max<uint64_t>(bytes, 1);
      }
      if (taken) continue;
      events.push_back(alloc(time, ptr, size, on, below(2) == 0 ? "pool" : "direct"));
      live[{on, ptr}] = size;
    }
  }
  return events;
}

/// A reference implementation that examines everything again for each question.
struct Reference {
  struct Block {
    MemoryEvent event;
    Timestamp gone = 0;
    bool seen = false;  // its release was seen
  };
  std::vector<Block> blocks;
  uint64_t double_frees = 0, unknown_frees = 0, missed_frees = 0;
  std::vector<Timestamp> times;              // after each event
  std::vector<std::vector<size_t>> live_at;  // the blocks live at that time

  explicit Reference(const std::vector<MemoryEvent>& events) {
    std::set<size_t> live;
    for (const MemoryEvent& event : events) {
      const auto there = std::find_if(live.begin(), live.end(), [&](size_t i) {
        return blocks[i].event.ptr == event.ptr && blocks[i].event.device_id == event.device_id;
      });
      if (there != live.end()) {
        blocks[*there].gone = event.timestamp;
        blocks[*there].seen = !event.is_allocation;
        missed_frees += event.is_allocation;
        live.erase(there);
      } else if (!event.is_allocation) {
        const bool was = std::any_of(blocks.begin(), blocks.end(), [&](const Block& b) {
          return b.event.ptr == event.ptr && b.event.device_id == event.device_id;
        });
        ++(was ? double_frees : unknown_frees);
      }
      if (event.is_allocation) {
        live.insert(blocks.size());
        blocks.push_back({event});
      }
      times.push_back(event.timestamp);
      live_at.emplace_back(live.begin(), live.end());
    }
  }
  template <class Which>
  uint64_t bytesAt(size_t event, Which&& which) const {
    uint64_t bytes = 0;
    for (const size_t i : live_at[event])
      bytes += which(blocks[i].event) ? blocks[i].event.bytes : 0;
    return bytes;
  }
  uint64_t bytesAt(size_t event) const {
    return bytesAt(event, [](const MemoryEvent&) { return true; });
  }
  std::vector<std::pair<Timestamp, uint64_t>> timeline(uint64_t stretch, size_t most) const {
    for (;; stretch *= 2) {
      std::map<uint64_t, std::pair<Timestamp, uint64_t>> best;
      for (size_t i = 0; i < times.size(); ++i) {
        const auto [at, added] =
            best.try_emplace((times[i] - times[0]) / stretch, std::pair(times[i], bytesAt(i)));
        if (!added && bytesAt(i) > at->second.second) at->second = {times[i], bytesAt(i)};
      }
      if (best.size() > most) continue;
      std::vector<std::pair<Timestamp, uint64_t>> samples;
      for (const auto& [slot, sample] : best) samples.push_back(sample);
      return samples;
    }
  }
  FragmentationInfo fragmentation() const {
    FragmentationInfo info;
    for (uint32_t device = 0; device < kDevices; ++device) {
      std::vector<int> place(kPlaces + 2, 0);  // 1: was used, 2: is used
      const auto mark = [&](const MemoryEvent& e, int as) {
        if (e.device_id != device) return;
        for (uint64_t i = 0; i < e.bytes; ++i) place[e.ptr + i] = as;
      };
      for (const Block& block : blocks) mark(block.event, 1);
      for (const size_t i : live_at.back()) mark(blocks[i].event, 2);
      uint64_t length = 0;
      for (const int p : place) {
        if (p == 1) {
          info.free_block_count += length == 0;
          ++info.total_free_bytes;
          info.largest_free_block = std::max(info.largest_free_block, ++length);
        } else {
          length = 0;
        }
      }
    }
    return info;
  }
};

TEST(MemoryProfiler, SaysOfRandomProgramsWhatTheDefinitionSays) {
  std::mt19937 random(7);
  uint64_t doubles = 0, unknown = 0, missed = 0, blocks = 0;
  for (int round = 0; round < 150; ++round) {
    const std::vector<MemoryEvent> events = randomEvents(random, 20 + random() % 150);
    const Reference expected(events);
    MemoryProfiler::Config config;
    config.max_timeline_samples = 1 + random() % 40;
    config.leak_threshold_ns = random() % 50'000'000;
    std::vector<MemoryEvent> shuffled = events;  // equal times keep their order
    std::stable_sort(shuffled.begin(), shuffled.end(), [](const auto& a, const auto& b) {
      return std::pair(a.timestamp % 7, a.timestamp) < std::pair(b.timestamp % 7, b.timestamp);
    });
    const MemoryReport report = reportOf(shuffled, config);
    SCOPED_TRACE(round);

    uint64_t allocated = 0, freed = 0, frees = 0, smallest = UINT64_MAX, largest = 0;
    double lifetimes = 0;
    std::map<uint64_t, uint64_t> sizes;
    for (const Reference::Block& block : expected.blocks) {
      const uint64_t size = block.event.bytes;
      allocated += size;
      smallest = std::min(smallest, size);
      largest = std::max(largest, size);
      uint64_t floor = size == 0 ? 0 : 1;
      while (floor != 0 && floor * 2 <= size) floor *= 2;
      ++sizes[floor];
      if (!block.seen) continue;
      ++frees;
      freed += size;
      lifetimes += static_cast<double>(block.gone - block.event.timestamp);
    }
    uint64_t peak = 0;
    Timestamp peak_time = 0;
    for (size_t i = 0; i < expected.times.size(); ++i) {
      if (expected.bytesAt(i) <= peak) continue;
      peak = expected.bytesAt(i);
      peak_time = expected.times[i];
    }
    EXPECT_EQ(report.total_allocations, expected.blocks.size());
    EXPECT_EQ(report.total_frees, frees);
    EXPECT_EQ(report.total_bytes_allocated, allocated);
    EXPECT_EQ(report.total_bytes_freed, freed);
    EXPECT_EQ(report.peak_memory_usage, peak);
    EXPECT_EQ(report.peak_time, peak_time);
    EXPECT_EQ(report.current_memory_usage, expected.bytesAt(events.size() - 1));
    EXPECT_EQ(report.profile_duration_ns, events.back().timestamp - events.front().timestamp);
    EXPECT_EQ(report.min_allocation_size, smallest);
    EXPECT_EQ(report.max_allocation_size, largest);
    EXPECT_EQ(report.allocation_size_histogram, sizes);
    EXPECT_DOUBLE_EQ(report.avg_allocation_lifetime_ns,
                     frees == 0 ? 0 : lifetimes / static_cast<double>(frees));
    EXPECT_EQ(report.double_frees, expected.double_frees);
    EXPECT_EQ(report.unknown_frees, expected.unknown_frees);
    EXPECT_EQ(report.missed_frees, expected.missed_frees);

    std::set<std::pair<uint32_t, uint64_t>> leaks, found;
    for (const size_t i : expected.live_at.back()) {
      const MemoryEvent& e = expected.blocks[i].event;
      if (events.back().timestamp - e.timestamp >= config.leak_threshold_ns) {
        leaks.emplace(e.device_id, e.ptr);
      }
    }
    for (const MemoryLeak& leak : report.potential_leaks) found.emplace(leak.device_id, leak.ptr);
    EXPECT_EQ(found, leaks);
    EXPECT_EQ(found.size(), report.potential_leaks.size());

    ASSERT_TRUE(report.fragmentation);
    const FragmentationInfo free = expected.fragmentation();
    EXPECT_EQ(report.fragmentation->total_free_bytes, free.total_free_bytes);
    EXPECT_EQ(report.fragmentation->largest_free_block, free.largest_free_block);
    EXPECT_EQ(report.fragmentation->free_block_count, free.free_block_count);

    std::vector<std::pair<Timestamp, uint64_t>> timeline;
    for (const MemorySnapshot& s : report.timeline)
      timeline.emplace_back(s.timestamp, s.live_bytes);
    EXPECT_EQ(timeline, expected.timeline(1'000'000, config.max_timeline_samples));

    for (const char* name : {"pool", "direct"}) {
      uint64_t most = 0, now = 0;
      for (size_t i = 0; i < expected.times.size(); ++i) {
        now = expected.bytesAt(i, [&](const MemoryEvent& e) { return e.allocator_name == name; });
        most = std::max(most, now);
      }
      const auto at = report.allocator_stats.find(name);
      if (at == report.allocator_stats.end()) continue;
      EXPECT_EQ(at->second.current_usage, now) << name;
      EXPECT_EQ(at->second.peak_usage, most) << name;
    }
    doubles += report.double_frees;
    unknown += report.unknown_frees;
    missed += report.missed_frees;
    blocks += report.fragmentation->free_block_count;
  }
  // Otherwise the random rounds did not cover these cases.
  EXPECT_GT(std::min({doubles, unknown, missed, blocks}), 100u);
}

TEST(MemoryProfiler, FreeBlocksAreWhatWasUsedAndTouchingOnesAreOne) {
  const MemoryReport report =
      reportOf({alloc(1, 100, 50), alloc(2, 150, 50), alloc(3, 200, 10), alloc(4, 500, 40),
                release(5, 100), release(6, 150), release(7, 500)});
  ASSERT_TRUE(report.fragmentation);
  EXPECT_EQ(report.fragmentation->free_block_count, 2u);
  EXPECT_EQ(report.fragmentation->total_free_bytes, 140u);
  EXPECT_EQ(report.fragmentation->largest_free_block, 100u);
  EXPECT_DOUBLE_EQ(report.fragmentation->fragmentation_ratio, 1 - 100.0 / 140);
}

TEST(MemoryProfiler, OfHandlesThereIsNoFragmentation) {
  // Two live blocks at the same address: these are not addresses.
  EXPECT_FALSE(reportOf({alloc(1, 0x1000, 4096), alloc(2, 0x1100, 4096)}).fragmentation);
  EXPECT_FALSE(reportOf({alloc(1, 0x1100, 4096), alloc(2, 0x1000, 4096)}).fragmentation);
  EXPECT_FALSE(reportOf({alloc(1, UINT64_MAX - 5, 4096)}).fragmentation);
  EXPECT_TRUE(reportOf({alloc(1, 0x1000, 4096), alloc(2, 0x2000, 4096)}).fragmentation);
}

TEST(MemoryProfiler, OfATraceProcessesAndDevicesAreToldApart) {
  Trace trace;
  trace.device.push({.id = DeviceId(1), .backend = PlatformType::CUDA, .ordinal = 0});
  trace.device.push({.id = DeviceId(2), .backend = PlatformType::CUDA, .ordinal = 1});
  trace.context.push({.id = ContextId(1), .device_id = DeviceId(2)});
  const auto row = [&](int64_t time, MemoryKind kind, uint32_t process, uint32_t device,
                       uint64_t bytes, uint32_t context = 0) {
    MemoryEventRow r;
    r.time_ns = time;
    r.kind = kind;
    r.process_id = ProcessId(process);
    r.device_id = DeviceId(device);
    r.context_id = ContextId(context);
    r.address = 0x1000;
    r.bytes = bytes;
    r.name = trace.strings.intern("cuMemAlloc");
    trace.memory_event.push(r);
  };
  row(40, MemoryKind::kFree, 1, 1, 0);
  row(10, MemoryKind::kAlloc, 1, 1, 100);
  row(20, MemoryKind::kAlloc, 2, 1, 200);
  row(30, MemoryKind::kAlloc, 1, 0, 400, 1);  // the device of its context
  const MemoryProfiler profiler = MemoryProfiler::of(trace);
  const MemoryReport report = profiler.generateReport();
  EXPECT_EQ(report.peak_memory_usage, 700u);
  EXPECT_EQ(report.peak_time, 30u);
  EXPECT_EQ(profiler.getPeakUsage(0), 300u);
  EXPECT_EQ(profiler.getCurrentUsage(0), 200u);
  EXPECT_EQ(profiler.getCurrentUsage(1), 400u);
  EXPECT_EQ(report.missed_frees + report.unknown_frees + report.double_frees, 0u);
  EXPECT_TRUE(report.fragmentation);
  trace.device.backend[0] = PlatformType::OpenCL;
  EXPECT_FALSE(MemoryProfiler::of(trace).generateReport().fragmentation);
}

void expectSame(const MemoryReport& report, const MemoryUsage& usage) {
  EXPECT_EQ(report.peak_memory_usage, usage.all.peak_bytes);
  EXPECT_EQ(report.peak_time, static_cast<uint64_t>(usage.all.peak_ns));
  EXPECT_EQ(report.current_memory_usage, usage.all.live_bytes);
  ASSERT_EQ(report.device_stats.size(), usage.places.size());
  for (const MemoryTotals& use : usage.places) {
    const uint32_t number =
        use.device == DeviceId::kNone ? kHostMemory : static_cast<uint32_t>(use.device) - 1;
    ASSERT_TRUE(report.device_stats.contains(number));
    EXPECT_EQ(report.device_stats.at(number).peak_usage, use.peak_bytes);
    EXPECT_EQ(report.device_stats.at(number).current_usage, use.live_bytes);
    EXPECT_EQ(report.device_stats.at(number).bytes_freed, use.freed_bytes);
  }
}

/// Reports and plots use memoryUsage(). A profile of the trace must agree with it, and so must a
/// profile of its events as a list, and of the same events recorded one by one.
TEST(MemoryProfiler, OfATraceItSaysWhatReportsSay) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    Trace trace;
    for (uint32_t id = 1; id <= 2; ++id) {
      trace.device.push({.id = DeviceId(id), .backend = PlatformType::CUDA, .ordinal = id - 1});
      trace.process.push({.id = ProcessId(id), .pid = 40 + id});
    }
    trace.context.push({.id = ContextId(1), .device_id = DeviceId(2)});
    const uint32_t processes = 1 + round % 2;
    for (int i = 0; i < 400; ++i) {
      MemoryEventRow row;
      row.time_ns = static_cast<int64_t>(1 + random() % 1'000);
      const auto kind = random() % 9;
      row.kind = kind == 0       ? MemoryKind::kUnknown
                 : kind % 2 == 0 ? MemoryKind::kAlloc
                                 : MemoryKind::kFree;
      row.process_id = ProcessId(1 + random() % processes);
      row.device_id = DeviceId(random() % 3);
      if (row.device_id == DeviceId::kNone) row.context_id = ContextId(random() % 2);
      row.address = random() % 30;
      row.bytes = row.kind == MemoryKind::kAlloc ? 1 + random() % 9'000 : 0;
      trace.memory_event.push(row);
    }
    const MemoryUsage usage = memoryUsage(trace);
    expectSame(MemoryProfiler::of(trace).generateReport(), usage);
    const std::vector<TraceEvent> events = toEvents(trace);
    expectSame(MemoryProfiler::of(events, {}).generateReport(), usage);
    if (processes > 1) continue;  // a MemoryEvent does not have its process
    expectSame(MemoryProfiler::of(toMemoryEvents(trace), {}).generateReport(), usage);
    Trace again;
    appendEvents(again, events);
    EXPECT_EQ(memoryUsage(again).all.peak_bytes, usage.all.peak_bytes);
    EXPECT_EQ(memoryUsage(again).places.size(), usage.places.size());
    MemoryProfiler live;
    live.start();
    uint64_t peak = 0;
    for (const TraceEvent& event : events) {
      live.recordEvent(event);
      peak = std::max(peak, live.getCurrentUsage());
    }
    EXPECT_EQ(live.getPeakUsage(), usage.all.peak_bytes);
    EXPECT_EQ(peak, usage.all.peak_bytes);
  }
}

TEST(MemoryProfiler, OfTraceEventsThoseOfMemoryCount) {
  std::vector<TraceEvent> events;
  TraceEvent& made = events.emplace_back(EventType::MemAlloc, 50);
  made.memory_params = MemoryParams{0, 0x1000, 64};
  made.name = "pool";
  made.call_stack = CallStack{{{.address = 0x42}}, 1};
  events.emplace_back(EventType::KernelComplete, 10).duration = 990;
  events.emplace_back(EventType::MemFree, 60);  // without an address
  const MemoryProfiler profiler = MemoryProfiler::of(events, {.leak_threshold_ns = 950});
  const MemoryReport report = profiler.generateReport();
  EXPECT_EQ(report.total_allocations, 1u);
  EXPECT_EQ(report.unknown_frees, 0u);
  EXPECT_EQ(report.profile_duration_ns, 990u);
  ASSERT_EQ(report.potential_leaks.size(), 1u);
  EXPECT_EQ(report.potential_leaks[0].lifetime_ns, 950u);
  EXPECT_EQ(report.potential_leaks[0].allocator, "pool");
  EXPECT_NE(report.potential_leaks[0].call_stack_hash, 0u);
  EXPECT_TRUE(MemoryProfiler::of(events, {.leak_threshold_ns = 951}).detectLeaks().empty());
}

TEST(MemoryProfiler, LifetimesGoToTheEndOfTheProfileNotToThisMachinesNow) {
  const Timestamp other_day = getCurrentTimestamp() + 1'000'000'000'000;
  const MemoryProfiler of_a_trace = MemoryProfiler::of(
      std::vector<MemoryEvent>{alloc(other_day, 0x10, 64), alloc(other_day + 5, 0x80, 32),
                               release(other_day + 700, 0x80)},
      {.leak_threshold_ns = 0});
  const std::vector<MemoryAllocation> live = of_a_trace.getLiveAllocations();
  ASSERT_EQ(live.size(), 1u);
  EXPECT_EQ(live[0].lifetime_ns(), 700u);
  EXPECT_EQ(of_a_trace.detectLeaks()[0].lifetime_ns, 700u);

  MemoryProfiler own({.leak_threshold_ns = 0});
  own.start();
  own.recordAlloc(0x1000, 10);
  const MemoryAllocation before = own.getLiveAllocations()[0];
  const MemoryAllocation later = own.getLiveAllocations()[0];
  EXPECT_LE(before.lifetime_ns(), later.lifetime_ns());
  own.stop();
  const MemoryAllocation stopped = own.getLiveAllocations()[0];
  EXPECT_EQ(stopped.lifetime_ns(), own.detectLeaks()[0].lifetime_ns);
  EXPECT_EQ(stopped.lifetime_ns(), own.getLiveAllocations()[0].lifetime_ns());
  EXPECT_GE(stopped.lifetime_ns(), later.lifetime_ns());

  MemoryAllocation of_no_profiler;
  of_no_profiler.alloc_time = getCurrentTimestamp() - 1'000'000;
  EXPECT_GE(of_no_profiler.lifetime_ns(), 1'000'000u);
  of_no_profiler.free_time = of_no_profiler.alloc_time + 7;
  EXPECT_EQ(of_no_profiler.lifetime_ns(), 7u);
}

TEST(MemoryProfiler, RecordsWhileItIsActive) {
  MemoryProfiler profiler({.leak_threshold_ns = 0, .track_call_stacks = true});
  EXPECT_FALSE(profiler.recordAlloc(0x1000, 10));
  profiler.start();
  EXPECT_TRUE(profiler.recordAlloc(0x1000, 10, 3, "pool", "weights"));
  EXPECT_FALSE(profiler.recordAlloc(0, 10));
  EXPECT_TRUE(profiler.recordAlloc(0x2000, 30, 3, "pool"));
  EXPECT_TRUE(profiler.recordFree(0x2000, 3));
  EXPECT_FALSE(profiler.recordFree(0x2000, 3));
  EXPECT_FALSE(profiler.recordFree(0x1000, 2));  // the address belongs to another device
  EXPECT_EQ(profiler.getCurrentUsage(), 10u);
  EXPECT_EQ(profiler.getPeakUsage(), 40u);
  EXPECT_EQ(profiler.getLiveAllocationCount(), 1u);
  const MemorySnapshot now = profiler.takeSnapshot();
  EXPECT_THAT(now.device_usage, ElementsAre(Pair(2, 0), Pair(3, 10)));
  EXPECT_THAT(now.allocator_usage, testing::Contains(Pair("pool", 10)));
  profiler.stop();
  EXPECT_FALSE(profiler.recordAlloc(0x3000, 10));
  const MemoryReport report = profiler.generateReport();
  EXPECT_EQ(report.double_frees, 1u);
  EXPECT_EQ(report.unknown_frees, 1u);
  ASSERT_EQ(report.potential_leaks.size(), 1u);
  EXPECT_EQ(report.potential_leaks[0].tag, "weights");
  EXPECT_NE(report.potential_leaks[0].call_stack_hash, 0u);
  const std::vector<MemoryAllocation> live = profiler.getLiveAllocations();
  ASSERT_EQ(live.size(), 1u);
  EXPECT_TRUE(live[0].is_live());
  EXPECT_EQ(live[0].device_id, 3u);
  EXPECT_EQ(profiler.toMemoryEvents().size(), 5u);
  profiler.start();
  EXPECT_EQ(profiler.generateReport().total_allocations, 0u);
}

TEST(MemoryProfiler, DoubleFreesAreUnknownOnesWhereNobodyAsks) {
  const std::vector<MemoryEvent> events = {alloc(1, 1, 1), release(2, 1), release(3, 1)};
  EXPECT_EQ(reportOf(events).double_frees, 1u);
  EXPECT_EQ(reportOf(events, {.detect_double_free = false}).unknown_frees, 1u);
}

TEST(MemoryProfiler, WhatItKeepsIsBounded) {
  MemoryProfiler profiler({.snapshot_interval_ms = 0, .max_timeline_samples = 16, .max_events = 8});
  profiler.start();
  uint64_t last = 0;
  profiler.setCallback([&](const MemoryEvent& event) { last = event.ptr; });
  for (uint64_t i = 1; i <= 10'000; ++i) {
    profiler.recordAlloc(i * 64, 64);
    if (i > 100) profiler.recordFree((i - 100) * 64);
  }
  EXPECT_EQ(last, 9'900u * 64);
  const MemoryReport report = profiler.generateReport();
  EXPECT_LE(report.timeline.size(), 16u);
  EXPECT_GE(report.timeline.size(), 8u);
  EXPECT_EQ(report.timeline.back().peak_bytes, 101u * 64);
  EXPECT_EQ(profiler.toMemoryEvents().size(), 8u);
  EXPECT_EQ(profiler.toMemoryEvents().back().bytes, 64u);
  const std::vector<CounterEvent> counters = profiler.toCounterEvents();
  ASSERT_EQ(counters.size(), report.timeline.size());
  EXPECT_EQ(counters.back().value, static_cast<double>(report.timeline.back().live_bytes));
}

TEST(MemoryProfiler, ThreadsLoseNothing) {
  MemoryProfiler profiler;
  profiler.start();
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  constexpr uint64_t kThreads = 4, kEach = 2'000;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kEach; ++i) {
        const uint64_t ptr = (t * kEach + i + 1) * 16;
        refused += !profiler.recordAlloc(ptr, 16, static_cast<uint32_t>(t % 2));
        if (i % 2 == 0) refused += !profiler.recordFree(ptr, static_cast<uint32_t>(t % 2));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  const MemoryReport report = profiler.generateReport();
  EXPECT_EQ(report.total_allocations, kThreads * kEach);
  EXPECT_EQ(report.total_frees, kThreads * kEach / 2);
  EXPECT_EQ(report.current_memory_usage, kThreads * kEach / 2 * 16);
}

TEST(MemoryProfiler, OfNothingThereIsAReport) {
  const MemoryReport report = MemoryProfiler().generateReport();
  EXPECT_EQ(report.total_allocations, 0u);
  EXPECT_EQ(report.min_allocation_size, 0u);
  EXPECT_TRUE(report.timeline.empty());
  EXPECT_EQ(MemoryProfiler::of(Trace()).generateReport().profile_duration_ns, 0u);
}

}  // namespace
}  // namespace tracesmith
