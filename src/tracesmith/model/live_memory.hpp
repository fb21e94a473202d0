// SPDX-License-Identifier: Apache-2.0
// The definition of allocated memory over time, shared by reports, plots and memory profiles
// (docs/analysis.md).
//
// Memory has a place: a device, or the host if an allocation names no device. The memory allocated
// at a place is the sum of the sizes of its live allocations. A peak is the maximum after any
// event, and its time is when that maximum is first reached.
//
// - Events count in order of time; events with equal times, in order of their rows.
// - The place of an event is the device of its row, else the device of its context. A release that
//   names neither belongs to the place where its address is live.
// - If an address is allocated again while it is live, its release was lost; it counts once.
// - A release of memory that is not live changes nothing: it was allocated before recording began.
// - Address 0 is not memory; failed allocations return it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// MemoryEvent::device_id of host memory.
constexpr uint32_t kHostMemory = UINT32_MAX;

/// Tracks live memory, one event at a time, in the order in which events count. All code that sums
/// memory uses this class to find out what an event changes.
class LiveMemory {
 public:
  struct Event {
    bool is_allocation = true;
    uint32_t place = kHostMemory;  ///< any numbering of devices
    uint64_t process = 0;          ///< addresses belong to a process
    uint64_t address = 0;          ///< not 0
    uint64_t bytes = 0;            ///< size of an allocation
    uint32_t row = 0;              ///< chosen by the caller; returned as `taken_row`
  };
  struct Change {
    /// The event's place, or the place of the memory that it releases.
    uint32_t place = kHostMemory;
    uint64_t added = 0;
    /// Bytes released, or known to be released because the address was allocated again.
    uint64_t taken = 0;
    bool takes = false;      ///< whether an allocation ended; it may have had 0 bytes
    uint32_t taken_row = 0;  ///< the row of that allocation
    bool known = true;       ///< false: a release of memory that is not live
  };
  Change apply(const Event& event);

 private:
  struct Block {
    uint32_t place = 0, row = 0;
    uint64_t process = 0, bytes = 0;
  };
  // By address: the places where it is live; almost always one.
  std::unordered_multimap<uint64_t, Block> live_;
};

struct MemoryChange {
  uint32_t row = 0;   ///< row of memory_event
  DeviceId device{};  ///< kNone: the host
  uint64_t added = 0;
  /// Bytes released, or known to be released because the address was allocated again.
  uint64_t taken = 0;
  bool takes = false;  ///< whether the allocation of `taken_row` ended
  uint32_t taken_row = 0;
  bool known = true;  ///< false: a release of memory that is not live
};

/// The effect of each allocation and release, in the order in which they count. If cancelled
/// (base/cancellation.hpp), only the first ones.
std::vector<MemoryChange> memoryChanges(const Trace& trace);

/// The place of each row of memory_event; kNone: the host.
std::vector<DeviceId> memoryDevices(const Trace& trace);

struct MemoryTotals {
  DeviceId device{};  ///< kNone: the host; meaningless in MemoryUsage::all
  uint64_t allocations = 0;
  uint64_t frees = 0;
  uint64_t allocated_bytes = 0;
  uint64_t freed_bytes = 0;  ///< of allocations whose release is in the trace
  uint64_t live_bytes = 0;   ///< at the end of the trace
  uint64_t peak_bytes = 0;
  int64_t peak_ns = 0;  ///< when the peak was first reached
};
struct MemoryUsage {
  std::vector<MemoryTotals> places;  ///< the host first, then devices by id
  MemoryTotals all;                  ///< its peak is the peak of the sum, not the sum of the peaks
};
MemoryUsage memoryUsage(const Trace& trace);

/// Allocated bytes at one place after each of its events.
struct MemoryCurve {
  DeviceId device{};
  std::vector<int64_t> times_ns;
  std::vector<uint64_t> bytes;
};
/// The host first, then devices by id.
std::vector<MemoryCurve> memoryCurves(const Trace& trace);

}  // namespace tracesmith
