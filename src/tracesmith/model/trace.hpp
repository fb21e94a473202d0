// SPDX-License-Identifier: Apache-2.0
// Trace: the recorded data as columns. Analyses iterate over the columns; there is no object per
// event. In a loaded trace all times are host ns (CLOCK_MONOTONIC); see model/clock_map.hpp.
#pragma once

#include <optional>
#include <string_view>

#include "tracesmith/model/string_table.hpp"
#include "tracesmith/model/tables.hpp"

namespace tracesmith {

struct Trace {
  // Defined in trace.cpp: each of them is kilobytes of code, and inline every file that holds a
  // trace would compile it again.
  Trace();
  ~Trace();
  Trace(const Trace&);
  Trace(Trace&&) noexcept;
  Trace& operator=(const Trace&);
  Trace& operator=(Trace&&) noexcept;

  StringTable strings;
#define TS_Y(number, Name, name, columns) Name##Table name;
  TS_TABLES(TS_Y)
#undef TS_Y

  /// Start of the first event of the whole trace, if only a part of its events was read.
  std::optional<int64_t> begin_ns;

  std::string_view text(StringId id) const { return strings.at(id); }

  /// Device and context of a stream (kNone for an unknown stream).
  DeviceId deviceOf(StreamId id) const;
  ContextId contextOf(StreamId id) const;

  /// The last value of a metadata key; "" if there is none.
  std::string_view metadataValue(std::string_view key) const;
  void setMetadata(std::string_view key, std::string_view value);
};

/// Calls f(table) for each table of `trace` (const or not) except the strings, in on-disk order.
template <class T, class F>
void forEachTable(T& trace, F&& f) {
#define TS_Y(number, Name, name, columns) f(trace.name);
  TS_TABLES(TS_Y)
#undef TS_Y
}

/// Tables whose first column is the row's id, where a later row replaces an earlier one.
constexpr bool isKeyed(TableId id) {
  switch (id) {
    case TableId::kProcess:
    case TableId::kThread:
    case TableId::kDevice:
    case TableId::kContext:
    case TableId::kStream:
    case TableId::kClockDomain:
    case TableId::kLoss:
    case TableId::kRank:
    case TableId::kTopologyNode:
    case TableId::kCommunicator:
      return true;
    default:
      return false;
  }
}

/// Whether the number of events that a `loss` row counts is known.
inline bool emittedIsKnown(const LossTable& losses, size_t row) {
  return losses.emitted[row] >= losses.written[row] && losses.emitted[row] >= losses.dropped[row];
}

/// start + duration without overflow; a negative duration (damaged data) counts as 0.
constexpr int64_t endOf(int64_t start_ns, int64_t duration_ns) {
  if (duration_ns <= 0) return start_ns;
  int64_t end = 0;
  return __builtin_add_overflow(start_ns, duration_ns, &end) ? INT64_MAX : end;
}
/// end - start without overflow; 0 if negative.
constexpr int64_t lengthOf(int64_t begin_ns, int64_t end_ns) {
  if (end_ns <= begin_ns) return 0;
  int64_t length = 0;
  return __builtin_sub_overflow(end_ns, begin_ns, &length) ? INT64_MAX : length;
}

/// Start of the first event (of the whole trace if known) and end of the last event; {0, 0} for a
/// trace without events.
struct TimeRange {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t duration() const { return lengthOf(begin_ns, end_ns); }
};
TimeRange timeRange(const Trace& trace);

}  // namespace tracesmith
