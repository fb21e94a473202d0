// SPDX-License-Identifier: Apache-2.0
// How much memory a trace has allocated at any time: the one definition, which reports, plots and
// memory profiles share (docs/analysis.md).
//
// Memory lies at a place: a device, or the host where an allocation names none. What is allocated
// at a place is the sum of the sizes of its live allocations. A peak is the most that there ever
// was after an event, and its time the first at which it was reached.
//
//   - Events count in the order of their times; of equal times, in that of their rows.
//   - The place of an event is the device of its row, else that of its context. A release that
//     names neither is of the place where its address is live.
//   - An address that is allocated again while it is live had lost its release: it counts once.
//   - A release of what is not live (it was allocated before recording began) changes nothing.
//   - Address 0 is no memory: that is what an allocation gives that failed.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// What MemoryEvent::device_id says of memory of the host.
constexpr uint32_t kHostMemory = UINT32_MAX;

/// What is live, one event at a time, in the order in which events count. Everything that adds up
/// memory asks this class what an event changes.
class LiveMemory {
 public:
  struct Event {
    bool is_allocation = true;
    uint32_t place = kHostMemory;  ///< any number of a device
    uint64_t process = 0;          ///< addresses are those of a process
    uint64_t address = 0;          ///< not 0
    uint64_t bytes = 0;            ///< of an allocation
    uint32_t row = 0;              ///< the caller's, for `taken_row`
  };
  struct Change {
    uint32_t place = kHostMemory;  ///< the event's, or where what it releases is live
    uint64_t added = 0;
    uint64_t taken = 0;      ///< released, or known to be gone as its address was allocated again
    bool takes = false;      ///< whether an allocation is gone, which may have had no bytes
    uint32_t taken_row = 0;  ///< the row of that allocation
    bool known = true;       ///< false: a release of what is not live
  };
  Change apply(const Event& event);

 private:
  struct Block {
    uint32_t place = 0, row = 0;
    uint64_t process = 0, bytes = 0;
  };
  // By address: the places where it is live; nearly always one.
  std::unordered_multimap<uint64_t, Block> live_;
};

struct MemoryChange {
  uint32_t row = 0;   ///< of memory_event
  DeviceId device{};  ///< kNone: the host
  uint64_t added = 0;
  uint64_t taken = 0;  ///< released, or known to be gone as its address was allocated again
  bool takes = false;  ///< whether the allocation of `taken_row` is gone
  uint32_t taken_row = 0;
  bool known = true;  ///< false: a release of what is not live
};

/// What each allocation and release does, in the order in which they count. Cancelled
/// (base/cancellation.hpp): only the first of them.
std::vector<MemoryChange> memoryChanges(const Trace& trace);

/// Where the memory of each row of memory_event lies; kNone: on the host.
std::vector<DeviceId> memoryPlaces(const Trace& trace);

struct MemoryTotals {
  DeviceId device{};  ///< kNone: the host; of all places together it says nothing
  uint64_t allocations = 0;
  uint64_t frees = 0;
  uint64_t allocated_bytes = 0;
  uint64_t freed_bytes = 0;  ///< of allocations whose release the trace has
  uint64_t live_bytes = 0;   ///< at the end
  uint64_t peak_bytes = 0;
  int64_t peak_ns = 0;  ///< when that was reached first
};
struct MemoryUsage {
  std::vector<MemoryTotals> places;  ///< the host first, then devices by id
  MemoryTotals all;                  ///< its peak is that of the sum, not the sum of peaks
};
MemoryUsage memoryUsage(const Trace& trace);

/// Allocated bytes of one place after each of its events.
struct MemoryCurve {
  DeviceId device{};
  std::vector<int64_t> times_ns;
  std::vector<uint64_t> bytes;
};
/// The host first, then devices by id.
std::vector<MemoryCurve> memoryCurves(const Trace& trace);

}  // namespace tracesmith
