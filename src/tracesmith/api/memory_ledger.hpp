// SPDX-License-Identifier: Apache-2.0
// The bookkeeping of MemoryProfiler: live blocks per address space, totals, and the timeline.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tracesmith/api/memory_profiler.hpp"
#include "tracesmith/model/live_memory.hpp"

namespace tracesmith {

/// The memory of one device, as one process sees it.
class AddressSpace {
 public:
  struct Block {
    uint64_t size = 0;
    Timestamp time = 0;
    uint32_t allocator = 0;
    uint64_t stack = 0;
    std::string tag;
  };

  explicit AddressSpace(bool handles) : handles_(handles) {}

  const std::map<uint64_t, Block>& live() const { return live_; }
  void add(uint64_t ptr, Block block);
  /// Removes the live block at `ptr` and returns it; {_, false} if there is none.
  std::pair<Block, bool> take(uint64_t ptr);
  bool wasReleased(uint64_t ptr) const { return released_.contains(ptr) || older_.contains(ptr); }
  /// True once two live blocks had the same "address": these are handles, not addresses.
  bool handles() const { return handles_; }
  void addFragmentation(FragmentationInfo& to) const;

 private:
  static constexpr size_t kReleasedKept = 1 << 19;  // entries in each of released_ and older_
  static constexpr size_t kMaxCoveredRanges = 1 << 20;
  void cover(uint64_t begin, uint64_t end);

  std::map<uint64_t, Block> live_;
  // Address ranges that any block has ever covered: start, end.
  std::map<uint64_t, uint64_t> covered_;
  std::unordered_set<uint64_t> released_, older_;
  bool handles_;
};

/// A bounded number of samples: for each time slot, the sample with the most live bytes.
class MemoryTimeline {
 public:
  struct Sample {
    Timestamp time = 0;
    uint64_t allocated = 0, freed = 0, live = 0, bytes = 0, peak = 0;
    std::vector<uint64_t> devices, allocators;  // by number
  };

  MemoryTimeline(Timestamp begin, uint64_t slot_ns, size_t most)
      : begin_(begin), slot_ns_(slot_ns == 0 ? 1 : slot_ns), most_(most) {}

  /// Times must not decrease. `make` is called only when the sample is kept, at least for now.
  template <class Make>
  void add(Timestamp time, uint64_t bytes, Make&& make) {
    if (most_ == 0) return;
    const uint64_t slot = (time - begin_) / slot_ns_;
    if (samples_.empty() || samples_.back().first != slot) {
      samples_.emplace_back(slot, make());
      while (samples_.size() > most_) halveSamples();
    } else if (bytes > samples_.back().second.bytes) {
      samples_.back().second = make();
    }
  }
  const std::vector<std::pair<uint64_t, Sample>>& samples() const { return samples_; }

 private:
  void halveSamples();

  Timestamp begin_;
  uint64_t slot_ns_;
  size_t most_;
  std::vector<std::pair<uint64_t, Sample>> samples_;
};

/// Not thread-safe: one thread at a time. What an event changes is decided by LiveMemory, as it is
/// for reports and plots.
class MemoryLedger {
 public:
  struct Change {
    MemoryEvent event;
    uint64_t process = 0;  // separates the addresses of different processes
    bool handles = false;  // "addresses" are only handles
    std::string_view tag;
    uint64_t stack = 0;
  };

  MemoryLedger(const MemoryProfiler::Config& config, Timestamp begin)
      : config_(config),
        begin_(begin),
        now_(begin),
        timeline_(begin, std::min(config.snapshot_interval_ms, kLongestMs) * 1'000'000,
                  config.max_timeline_samples) {}

  /// Returns false for a release of memory that is not live. Corrects the event's time, and fills
  /// in the device of a release that names none.
  bool apply(Change& change);
  /// Time of the last applied event.
  Timestamp now() const { return now_; }

  uint64_t usage() const { return all_.current_usage; }
  uint64_t peak() const { return all_.peak_usage; }
  const AllocatorStats* ofDevice(uint32_t device_id) const;
  size_t liveCount() const { return live_; }
  /// `at`: the end of the profile, or now while it is active.
  std::vector<MemoryAllocation> liveAllocations(Timestamp at) const;
  std::vector<MemoryLeak> leaks(Timestamp at) const;
  MemorySnapshot snapshot(Timestamp at) const;
  MemoryReport report(Timestamp at) const;
  std::vector<CounterEvent> counters() const;
  std::vector<MemoryEvent> events() const;

 private:
  static constexpr uint64_t kLongestMs = UINT64_MAX / 1'000'000;
  /// Totals per key, numbered in order of first appearance.
  template <class Key>
  struct Sums {
    std::map<Key, uint32_t> numbers;
    std::vector<AllocatorStats> stats;
    template <class K>
    uint32_t numberOf(const K& key) {
      auto [at, added] = numbers.try_emplace(Key(key), static_cast<uint32_t>(stats.size()));
      if (added) stats.emplace_back();
      return at->second;
    }
  };
  struct Kept {
    MemoryEvent event;  // with an empty allocator_name; see `allocator`
    uint32_t allocator = 0;
  };

  void release(AddressSpace::Block& block, uint32_t device, bool seen);
  void keep(const MemoryEvent& event, uint32_t allocator);
  MemoryTimeline::Sample sample(Timestamp at) const;
  MemorySnapshot snapshotOf(const MemoryTimeline::Sample& sample) const;
  std::vector<const std::string*> allocatorNames() const;

  MemoryProfiler::Config config_;
  Timestamp begin_, now_;
  LiveMemory memory_;
  std::map<std::pair<uint32_t, uint64_t>, AddressSpace> spaces_;  // by device and process
  Sums<std::string> allocators_;
  Sums<uint32_t> devices_;
  AllocatorStats all_;
  size_t live_ = 0;
  Timestamp peak_time_ = 0;
  uint64_t smallest_ = UINT64_MAX, largest_ = 0;
  double lifetimes_ = 0;
  uint64_t double_frees_ = 0, unknown_frees_ = 0, missed_frees_ = 0;
  std::map<uint64_t, uint64_t> sizes_;
  MemoryTimeline timeline_;
  std::deque<Kept> kept_;
};

}  // namespace tracesmith
