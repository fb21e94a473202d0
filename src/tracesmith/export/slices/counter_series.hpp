// SPDX-License-Identifier: Apache-2.0
// Counters as series of values that hold from a time on, restricted to a selection. The value that
// a series had before the selected range is reported at the start of that range.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Calls f(track, host ns, value) for the `counter` rows, track by track (kNone: rows whose track
/// is not in the dictionary), each in time order.
void forEachCounterValue(const Trace& trace, const Selection& selection,
                         const std::function<void(CounterTrackId, int64_t, double)>& f);

/// Of a counter of a thread, which its name does not tell: " of thread 123"; "" of others.
std::string threadOfCounter(const Trace& trace, CounterTrackId track);

/// The memory that one counter of allocated bytes covers.
struct MemoryPool {
  ProcessId process{};
  ContextId context{};
  bool on_host = false;
  auto operator<=>(const MemoryPool&) const = default;
};

/// Name of the counter in viewers, such as "Allocated device memory, context #0".
std::string memoryPoolName(const Trace& trace, const MemoryPool& pool);

/// Calls f(pool, host ns, sum) after each change of the allocated bytes, in time order, counted as
/// in model/live_memory.hpp. Ignores frees whose allocation is not in the trace, and returns their
/// number.
uint64_t forEachMemoryValue(const Trace& trace, const Selection& selection,
                            const std::function<void(const MemoryPool&, int64_t, uint64_t)>& f);

}  // namespace tracesmith
