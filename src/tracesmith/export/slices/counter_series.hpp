// SPDX-License-Identifier: Apache-2.0
// Counters as series of values that hold from a time on, cut to a selection: what a series was when
// the stretch began is given as its value there.
#pragma once

#include <cstdint>
#include <functional>

#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Calls f(track, host ns, value) for the `counter` rows, track by track (kNone: rows whose track
/// is not in the dictionary), each in order of time.
void forEachCounterValue(const Trace& trace, const Selection& selection,
                         const std::function<void(CounterTrackId, int64_t, double)>& f);

/// Bytes that are allocated per process and context, from `memory_event`: f(process, context, host
/// ns, sum) after each change, in order of time. Returns the number of frees whose allocation is
/// not in the trace; they change nothing.
uint64_t forEachMemoryValue(const Trace& trace, const Selection& selection,
                            const std::function<void(ProcessId, ContextId, int64_t, uint64_t)>& f);

}  // namespace tracesmith
