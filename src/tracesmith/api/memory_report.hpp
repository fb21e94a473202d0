// SPDX-License-Identifier: Apache-2.0
// Results of a MemoryProfiler. Sizes are in bytes; times are ns of the clock used by the events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

/// An allocation and, if it was seen, its release.
struct MemoryAllocation {
  uint64_t ptr = 0;
  uint64_t size = 0;
  uint32_t device_id = 0;
  Timestamp alloc_time = 0;
  Timestamp free_time = 0;  ///< 0: still live
  std::string allocator;
  std::string tag;
  uint64_t call_stack_hash = 0;  ///< equal for equal stacks from one source; 0: unknown
  /// When the profiler was asked, or when its profile ended. Empty if no profiler created this
  /// value.
  std::optional<Timestamp> as_of = {};

  bool is_live() const { return free_time == 0; }  // NOLINT(readability-identifier-naming)
  /// From allocation to release. While live: up to as_of, or up to now if as_of is empty.
  uint64_t lifetime_ns() const;  // NOLINT(readability-identifier-naming)
};

/// Memory usage at one time.
struct MemorySnapshot {
  Timestamp timestamp = 0;
  uint64_t total_allocated = 0;  ///< bytes of all allocations so far
  uint64_t total_freed = 0;      ///< bytes of those that have been released
  uint64_t live_allocations = 0;
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;                          ///< most live_bytes so far
  std::map<uint32_t, uint64_t> device_usage;        ///< live bytes of each device
  std::map<std::string, uint64_t> allocator_usage;  ///< live bytes of each allocator
};

/// A free block is an address range that allocations have used since the start of the profile and
/// that no live allocation uses. Adjacent ranges form one block. It is unknown whether the
/// allocator has returned such a block to the system, and what it held before the start.
struct FragmentationInfo {
  uint64_t total_free_bytes = 0;
  uint64_t largest_free_block = 0;
  uint64_t free_block_count = 0;
  double fragmentation_ratio = 0;  ///< 1 - largest / total; 0: one block, or none
};

/// An allocation that has been live for at least Config::leak_threshold_ns.
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
  /// Totals of one allocator or device.
  struct AllocatorStats {
    uint64_t allocations = 0;
    uint64_t frees = 0;
    uint64_t bytes_allocated = 0;
    uint64_t bytes_freed = 0;
    uint64_t current_usage = 0;
    uint64_t peak_usage = 0;
  };

  uint64_t total_allocations = 0;
  uint64_t total_frees = 0;  ///< releases of live allocations
  uint64_t total_bytes_allocated = 0;
  uint64_t total_bytes_freed = 0;
  uint64_t peak_memory_usage = 0;  ///< devices and host together, at one time
  Timestamp peak_time = 0;         ///< when that peak was first reached
  uint64_t current_memory_usage = 0;
  uint64_t profile_duration_ns = 0;
  uint64_t min_allocation_size = 0;
  uint64_t max_allocation_size = 0;
  double avg_allocation_size = 0;
  double avg_allocation_lifetime_ns = 0;  ///< of released allocations

  uint64_t double_frees = 0;   ///< releases of memory that was already released
  uint64_t unknown_frees = 0;  ///< releases of addresses not seen to be allocated
  /// Allocations at an address that was still live: the release was not seen and is assumed.
  uint64_t missed_frees = 0;

  std::vector<MemoryLeak> potential_leaks;         ///< largest first
  std::optional<FragmentationInfo> fragmentation;  ///< empty if "addresses" are only handles
  std::vector<MemorySnapshot> timeline;            ///< see MemoryProfiler::Config
  /// Number of allocations by size. Key 0: size 0; key 2^n: sizes in [key, 2 * key).
  std::map<uint64_t, uint64_t> allocation_size_histogram;
  std::map<std::string, AllocatorStats> allocator_stats;
  std::map<uint32_t, AllocatorStats> device_stats;  ///< kHostMemory: the host

  std::string summary() const;  ///< for people; about twenty lines
  std::string toJSON() const;   ///< all members, under the names above
};
using AllocatorStats = MemoryReport::AllocatorStats;

}  // namespace tracesmith
