// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/memory_ledger.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tracesmith {
namespace {

void addTo(AllocatorStats& stats, uint64_t bytes) {
  ++stats.allocations;
  stats.bytes_allocated += bytes;
  stats.current_usage += bytes;
  stats.peak_usage = std::max(stats.peak_usage, stats.current_usage);
}

void takeFrom(AllocatorStats& stats, uint64_t bytes, bool seen) {
  stats.current_usage -= bytes;
  if (!seen) return;
  ++stats.frees;
  stats.bytes_freed += bytes;
}

}  // namespace

void AddressSpace::add(uint64_t ptr, Block block) {
  released_.erase(ptr);
  older_.erase(ptr);
  if (!handles_) {
    const uint64_t end = ptr + block.size;
    const auto next = live_.upper_bound(ptr);
    handles_ = end < ptr || (next != live_.end() && next->first < end);
    if (next != live_.begin()) {
      const auto& before = *std::prev(next);
      handles_ |= before.first + before.second.size > ptr;
    }
    if (!handles_ && block.size != 0) cover(ptr, end);
    if (handles_ || covered_.size() > kMaxCoveredRanges) {
      handles_ = true;
      covered_.clear();
    }
  }
  live_.insert_or_assign(ptr, std::move(block));
}

std::pair<AddressSpace::Block, bool> AddressSpace::take(uint64_t ptr) {
  auto node = live_.extract(ptr);
  if (!node) return {};
  if (released_.size() >= kReleasedKept) {
    older_ = std::move(released_);
    released_.clear();
  }
  released_.insert(ptr);
  return {std::move(node.mapped()), true};
}

void AddressSpace::cover(uint64_t begin, uint64_t end) {
  auto at = covered_.upper_bound(begin);
  if (at != covered_.begin() && std::prev(at)->second >= begin) {
    --at;
    begin = at->first;
  }
  while (at != covered_.end() && at->first <= end) {
    end = std::max(end, at->second);
    at = covered_.erase(at);
  }
  covered_.emplace_hint(at, begin, end);
}

void AddressSpace::addFragmentation(FragmentationInfo& to) const {
  const auto gap = [&](uint64_t begin, uint64_t end) {
    if (begin == end) return;
    ++to.free_block_count;
    to.total_free_bytes += end - begin;
    to.largest_free_block = std::max(to.largest_free_block, end - begin);
  };
  auto block = live_.begin();
  for (const auto& [from, end] : covered_) {
    uint64_t begin = from;
    for (; block != live_.end() && block->first < end; ++block) {
      if (block->second.size == 0) continue;
      gap(begin, block->first);
      begin = block->first + block->second.size;
    }
    gap(begin, end);
  }
}

void MemoryTimeline::halveSamples() {
  // Doubling ends with a single slot for all times.
  slot_ns_ = slot_ns_ > UINT64_MAX / 2 ? UINT64_MAX : slot_ns_ * 2;
  size_t kept = 0;
  for (auto& [slot, sample] : samples_) {
    slot /= 2;
    if (kept != 0 && samples_[kept - 1].first == slot) {
      if (sample.bytes > samples_[kept - 1].second.bytes) {
        samples_[kept - 1].second = std::move(sample);
      }
    } else {
      std::pair<uint64_t, Sample> moved(slot, std::move(sample));
      samples_[kept++] = std::move(moved);
    }
  }
  samples_.resize(kept);
}

bool MemoryLedger::apply(Change& change) {
  MemoryEvent& event = change.event;
  event.timestamp = now_ = std::max(now_, event.timestamp);
  const LiveMemory::Change what = memory_.apply({.is_allocation = event.is_allocation,
                                                 .place = event.device_id,
                                                 .process = change.process,
                                                 .address = event.ptr,
                                                 .bytes = event.bytes});
  event.device_id = what.place;
  const uint32_t device = devices_.numberOf(event.device_id);
  AddressSpace& space =
      spaces_.try_emplace(std::pair(event.device_id, change.process), change.handles).first->second;
  uint32_t allocator = 0;
  auto [old, there] = what.takes ? space.take(event.ptr) : std::pair(AddressSpace::Block{}, false);
  if (event.is_allocation) {
    allocator = allocators_.numberOf(event.allocator_name);
    if (there) {
      ++missed_frees_;
      release(old, device, false);
    }
    space.add(event.ptr, {event.bytes, now_, allocator, change.stack, std::string(change.tag)});
    ++live_;
    const uint64_t peak = all_.peak_usage;
    for (AllocatorStats* stats : {&allocators_.stats[allocator], &devices_.stats[device], &all_}) {
      addTo(*stats, event.bytes);
    }
    if (all_.peak_usage != peak) peak_time_ = now_;
    smallest_ = std::min(smallest_, event.bytes);
    largest_ = std::max(largest_, event.bytes);
    ++sizes_[std::bit_floor(event.bytes)];
  } else {
    if (there) {
      allocator = old.allocator;
      if (event.bytes == 0) event.bytes = old.size;
      lifetimes_ += static_cast<double>(now_ - old.time);
      release(old, device, true);
    } else {
      allocator = allocators_.numberOf(event.allocator_name);
      ++(config_.detect_double_free && space.wasReleased(event.ptr) ? double_frees_
                                                                    : unknown_frees_);
    }
  }
  keep(event, allocator);
  timeline_.add(now_, all_.current_usage, [&] { return sample(now_); });
  return what.known;
}

void MemoryLedger::release(AddressSpace::Block& block, uint32_t device, bool seen) {
  --live_;
  for (AllocatorStats* stats :
       {&allocators_.stats[block.allocator], &devices_.stats[device], &all_}) {
    takeFrom(*stats, block.size, seen);
  }
}

void MemoryLedger::keep(const MemoryEvent& event, uint32_t allocator) {
  if (config_.max_events == 0) return;
  if (kept_.size() >= config_.max_events) kept_.pop_front();
  Kept& kept = kept_.emplace_back(Kept{event, allocator});
  kept.event.allocator_name.clear();
  kept.event.allocator_name.shrink_to_fit();
}

const AllocatorStats* MemoryLedger::ofDevice(uint32_t device_id) const {
  const auto at = devices_.numbers.find(device_id);
  return at == devices_.numbers.end() ? nullptr : &devices_.stats[at->second];
}

std::vector<const std::string*> MemoryLedger::allocatorNames() const {
  std::vector<const std::string*> names(allocators_.stats.size());
  for (const auto& [name, number] : allocators_.numbers) names[number] = &name;
  return names;
}

std::vector<MemoryAllocation> MemoryLedger::liveAllocations(Timestamp at) const {
  const std::vector<const std::string*> names = allocatorNames();
  std::vector<MemoryAllocation> allocations;
  allocations.reserve(live_);
  for (const auto& [place, space] : spaces_) {
    for (const auto& [ptr, block] : space.live()) {
      allocations.push_back({ptr, block.size, place.first, block.time, 0, *names[block.allocator],
                             block.tag, block.stack, at});
    }
  }
  std::stable_sort(allocations.begin(), allocations.end(), [](const auto& a, const auto& b) {
    return std::pair(a.device_id, a.ptr) < std::pair(b.device_id, b.ptr);
  });
  return allocations;
}

std::vector<MemoryLeak> MemoryLedger::leaks(Timestamp at) const {
  std::vector<MemoryLeak> leaks;
  for (MemoryAllocation& a : liveAllocations(at)) {
    const uint64_t age = at > a.alloc_time ? at - a.alloc_time : 0;
    if (age < config_.leak_threshold_ns) continue;
    leaks.push_back({a.ptr, a.size, a.device_id, a.alloc_time, std::move(a.allocator),
                     std::move(a.tag), age, a.call_stack_hash});
  }
  std::stable_sort(leaks.begin(), leaks.end(),
                   [](const auto& a, const auto& b) { return a.size > b.size; });
  return leaks;
}

MemoryTimeline::Sample MemoryLedger::sample(Timestamp at) const {
  MemoryTimeline::Sample sample{
      at, all_.bytes_allocated, all_.bytes_freed, live_, all_.current_usage, all_.peak_usage, {},
      {}};
  for (const AllocatorStats& s : devices_.stats) sample.devices.push_back(s.current_usage);
  for (const AllocatorStats& s : allocators_.stats) sample.allocators.push_back(s.current_usage);
  return sample;
}

MemorySnapshot MemoryLedger::snapshotOf(const MemoryTimeline::Sample& sample) const {
  MemorySnapshot snapshot{sample.time,  sample.allocated, sample.freed, sample.live,
                          sample.bytes, sample.peak,      {},           {}};
  for (const auto& [device, number] : devices_.numbers) {
    if (number < sample.devices.size()) snapshot.device_usage[device] = sample.devices[number];
  }
  for (const auto& [name, number] : allocators_.numbers) {
    if (number < sample.allocators.size() && allocators_.stats[number].allocations != 0) {
      snapshot.allocator_usage[name] = sample.allocators[number];
    }
  }
  return snapshot;
}

MemorySnapshot MemoryLedger::snapshot(Timestamp at) const { return snapshotOf(sample(at)); }

MemoryReport MemoryLedger::report(Timestamp at) const {
  MemoryReport report;
  report.total_allocations = all_.allocations;
  report.total_frees = all_.frees;
  report.total_bytes_allocated = all_.bytes_allocated;
  report.total_bytes_freed = all_.bytes_freed;
  report.peak_memory_usage = all_.peak_usage;
  report.peak_time = peak_time_;
  report.current_memory_usage = all_.current_usage;
  report.profile_duration_ns = at > begin_ ? at - begin_ : 0;
  if (all_.allocations != 0) {
    report.min_allocation_size = smallest_;
    report.max_allocation_size = largest_;
    report.avg_allocation_size =
        static_cast<double>(all_.bytes_allocated) / static_cast<double>(all_.allocations);
  }
  if (all_.frees != 0) {
    report.avg_allocation_lifetime_ns = lifetimes_ / static_cast<double>(all_.frees);
  }
  report.double_frees = double_frees_;
  report.unknown_frees = unknown_frees_;
  report.missed_frees = missed_frees_;
  report.potential_leaks = leaks(at);
  FragmentationInfo fragmentation;
  const bool handles = std::any_of(spaces_.begin(), spaces_.end(),
                                   [](const auto& space) { return space.second.handles(); });
  if (!handles) {
    for (const auto& [place, space] : spaces_) space.addFragmentation(fragmentation);
    if (fragmentation.total_free_bytes != 0) {
      fragmentation.fragmentation_ratio =
          1 - static_cast<double>(fragmentation.largest_free_block) /
                  static_cast<double>(fragmentation.total_free_bytes);
    }
    report.fragmentation = fragmentation;
  }
  for (const auto& [slot, sample] : timeline_.samples()) {
    report.timeline.push_back(snapshotOf(sample));
  }
  report.allocation_size_histogram = sizes_;
  for (const auto& [name, number] : allocators_.numbers) {
    if (allocators_.stats[number].allocations == 0) continue;  // known only from a release
    report.allocator_stats[name] = allocators_.stats[number];
  }
  for (const auto& [device, number] : devices_.numbers) {
    report.device_stats[device] = devices_.stats[number];
  }
  return report;
}

std::vector<CounterEvent> MemoryLedger::counters() const {
  std::vector<CounterEvent> events;
  for (const auto& [slot, sample] : timeline_.samples()) {
    for (const auto& [device, number] : devices_.numbers) {
      if (number >= sample.devices.size()) continue;
      events.push_back({sample.time, device, 0, "device memory",
                        static_cast<double>(sample.devices[number]), "bytes"});
    }
  }
  return events;
}

std::vector<MemoryEvent> MemoryLedger::events() const {
  const std::vector<const std::string*> names = allocatorNames();
  std::vector<MemoryEvent> events;
  events.reserve(kept_.size());
  for (const Kept& kept : kept_) {
    events.push_back(kept.event);
    events.back().allocator_name = *names[kept.allocator];
  }
  return events;
}

}  // namespace tracesmith
