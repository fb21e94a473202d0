// SPDX-License-Identifier: Apache-2.0
// Selects events of a trace. keepRows() removes all others from a loaded trace, so that exporters
// need no filter.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/base/name_pattern.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// The original numbers of the rows kept in each table. A table without an entry is complete.
using KeptRows = std::map<TableId, std::vector<uint64_t>>;

/// Selection criteria in addition to time range and streams.
struct RowChoice {
  NamePattern names;
  bool counters = true;
  bool flows = true;

  bool everything() const { return names.matchesEverything() && counters && flows; }
};

/// Not thread-safe. The constructor's arguments must outlive this object.
class RowFilter {
 public:
  /// `known` must have the trace's strings and counter tracks.
  RowFilter(const Trace& known, const Selection& selection, const RowChoice& choice)
      : known_(known), selection_(selection), choice_(choice) {}

  /// Whether to take a row of `table`, which belongs to `known` or to a part of it. The name to
  /// match is the row's own, or eventName() (export/select/event_filter.hpp); for a counter, the
  /// name of its track. Rows of tables that are not events are always taken.
  template <class Table>
  bool take(const Table& table, size_t row);
  /// The same for `count` rows from `first` on, in a table of `part`.
  std::vector<bool> takes(const Trace& part, TableId table, size_t first, size_t count);

 private:
  template <class Table>
  bool matches(const Table& table, size_t row);
  bool matches(std::string_view name);

  const Trace& known_;
  const Selection& selection_;
  const RowChoice& choice_;
  std::unordered_map<std::string_view, bool> matched_;  // keys: texts of the trace, or literals
};

/// Removes all events that a RowFilter does not take. Attributes of remaining rows get the new row
/// numbers; those of removed rows are removed. Tables that are not events are unchanged, so that
/// ids stay valid.
KeptRows keepRows(Trace& trace, const Selection& selection, const RowChoice& choice);

/// The same as a trace of its own. Costs as much memory as the events that are taken.
Trace partOf(const Trace& trace, const Selection& selection, const RowChoice& choice);

}  // namespace tracesmith
