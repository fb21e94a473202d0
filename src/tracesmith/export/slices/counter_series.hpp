// SPDX-License-Identifier: Apache-2.0
// Counters as series of values that hold from a time on, cut to a selection: what a series was when
// the stretch began is given as its value there.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Calls f(track, host ns, value) for the `counter` rows, track by track (kNone: rows whose track
/// is not in the dictionary), each in order of time.
void forEachCounterValue(const Trace& trace, const Selection& selection,
                         const std::function<void(CounterTrackId, int64_t, double)>& f);

/// What one counter of allocated bytes is of.
struct MemoryPool {
  ProcessId process{};
  ContextId context{};
  bool on_host = false;
  auto operator<=>(const MemoryPool&) const = default;
};

/// "Allocated device memory, context #0": what viewers call the counter.
std::string memoryPoolName(const Trace& trace, const MemoryPool& pool);

/// Bytes that are allocated, as model/live_memory.hpp counts them: f(pool, host ns, sum) after each
/// change, in order of time. Returns the number of frees whose allocation is not in the trace; they
/// change nothing.
uint64_t forEachMemoryValue(const Trace& trace, const Selection& selection,
                            const std::function<void(const MemoryPool&, int64_t, uint64_t)>& f);

}  // namespace tracesmith
