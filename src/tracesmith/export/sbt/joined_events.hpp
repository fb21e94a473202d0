// SPDX-License-Identifier: Apache-2.0
// Joins a trace of another tool with events that TraceSmith recorded in the same process at the
// same time.
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
  uint32_t pid = 0;  ///< pid of the process that recorded them
  /// CLOCK_REALTIME - CLOCK_MONOTONIC at the time of recording.
  int64_t unix_minus_monotonic_ns = 0;
};

/// Imports `source` and writes it together with those events to `output`. Times are those of
/// `source`, which must relate them to Unix time (Kineto does). Threads with equal ids are merged;
/// correlation ids of the events get an offset that makes them unique. `export -f json` restores
/// `source` completely. Errors: those of the import, and kUnsupported without a Unix time.
Status joinEvents(const std::string& source, const RecordedMeanwhile& meanwhile,
                  const std::string& output);

}  // namespace tracesmith
