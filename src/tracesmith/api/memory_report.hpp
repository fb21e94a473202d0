// SPDX-License-Identifier: Apache-2.0
// What a MemoryProfiler finds. Sizes are bytes, times ns of the clock that the events had.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// Memory from its allocation on, to its release where that has come.
struct MemoryAllocation {
  uint64_t ptr = 0;
  uint64_t size = 0;
  uint32_t device_id = 0;
  Timestamp alloc_time = 0;
  Timestamp free_time = 0;  ///< 0: live
  std::string allocator;
  std::string tag;
  uint64_t call_stack_hash = 0;  ///< the same for the same stack of one source; 0: not known
  /// When the profiler was asked for it, or when its profile had ended; none: it is of no profiler.
  std::optional<Timestamp> as_of = {};

  bool is_live() const { return free_time == 0; }  // NOLINT(readability-identifier-naming)
  /// Up to as_of, while it is live; without that up to now.
  uint64_t lifetime_ns() const;  // NOLINT(readability-identifier-naming)
};

/// How much there was at one time.
struct MemorySnapshot {
  Timestamp timestamp = 0;
  uint64_t total_allocated = 0;  ///< bytes of all allocations so far
  uint64_t total_freed = 0;      ///< bytes of those that have been released
  uint64_t live_allocations = 0;
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;                          ///< most live_bytes so far
  std::map<uint32_t, uint64_t> device_usage;        ///< live bytes of each device
  std::map<std::string, uint64_t> allocator_usage;  ///< of each allocator
};

/// A free block is a stretch of addresses that allocations had, since the start, and that no live
/// one has. Stretches that touch are one block. Whether the allocator has given such a block back
/// to the system is not known, nor what it held before the start.
struct FragmentationInfo {
  uint64_t total_free_bytes = 0;
  uint64_t largest_free_block = 0;
  uint64_t free_block_count = 0;
  double fragmentation_ratio = 0;  ///< 1 - largest / total; 0: one block, or none
};

/// What is still live, for longer than Config::leak_threshold_ns.
struct MemoryLeak {
  uint64_t ptr = 0;
  uint64_t size = 0;
  uint32_t device_id = 0;
  Timestamp alloc_time = 0;
  std::string allocator;
  std::string tag;
  uint64_t lifetime_ns = 0;  ///< up to the end of the profile
  uint64_t call_stack_hash = 0;
};

struct MemoryReport {
  /// Of one allocator or device.
  struct AllocatorStats {
    uint64_t allocations = 0;
    uint64_t frees = 0;
    uint64_t bytes_allocated = 0;
    uint64_t bytes_freed = 0;
    uint64_t current_usage = 0;
    uint64_t peak_usage = 0;
  };

  uint64_t total_allocations = 0;
  uint64_t total_frees = 0;  ///< of live allocations
  uint64_t total_bytes_allocated = 0;
  uint64_t total_bytes_freed = 0;
  uint64_t peak_memory_usage = 0;  ///< of all devices and the host together, at one time
  Timestamp peak_time = 0;         ///< when that was reached first
  uint64_t current_memory_usage = 0;
  uint64_t profile_duration_ns = 0;
  uint64_t min_allocation_size = 0;
  uint64_t max_allocation_size = 0;
  double avg_allocation_size = 0;
  double avg_allocation_lifetime_ns = 0;  ///< of those that were released

  uint64_t double_frees = 0;   ///< of memory that had been released before
  uint64_t unknown_frees = 0;  ///< of addresses that were never allocated, as far as was seen
  /// Allocations at addresses that were live: their release was not seen, and is taken as done.
  uint64_t missed_frees = 0;

  std::vector<MemoryLeak> potential_leaks;         ///< the largest first
  std::optional<FragmentationInfo> fragmentation;  ///< none where "addresses" are only handles
  std::vector<MemorySnapshot> timeline;            ///< see MemoryProfiler::Config
  /// Allocations by size: of 0 bytes, and of [key, 2 * key) for powers of two.
  std::map<uint64_t, uint64_t> allocation_size_histogram;
  std::map<std::string, AllocatorStats> allocator_stats;
  std::map<uint32_t, AllocatorStats> device_stats;  ///< kHostMemory: of the host

  std::string summary() const;  ///< for people, some twenty lines
  std::string toJSON() const;   ///< all of it, by the names above
};
using AllocatorStats = MemoryReport::AllocatorStats;

}  // namespace tracesmith
