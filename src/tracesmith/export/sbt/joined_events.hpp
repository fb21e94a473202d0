// SPDX-License-Identifier: Apache-2.0
// A trace of another tool and events that were recorded of the same process meanwhile, as one
// trace.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

struct RecordedMeanwhile {
  std::span<const TraceEvent> events;  ///< in CLOCK_MONOTONIC
  std::span<const CounterEvent> counters;
  uint32_t pid = 0;                     ///< of the process that recorded them
  int64_t unix_minus_monotonic_ns = 0;  ///< CLOCK_REALTIME - CLOCK_MONOTONIC then
};

/// Imports `source` and writes it with those events to `output`, in the time of `source`, which has
/// to say what Unix time that is (Kineto does). Threads of equal numbers are one; correlation ids
/// of the events are made others than those that are there. `source` comes back whole with `export
/// -f json`. Errors: those of the import, kUnsupported without a Unix time.
Status joinEvents(const std::string& source, const RecordedMeanwhile& meanwhile,
                  const std::string& output);

}  // namespace tracesmith
