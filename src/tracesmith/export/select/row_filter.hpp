// SPDX-License-Identifier: Apache-2.0
// Which events of a trace are wanted; and takes the others out of a loaded trace, so that an export
// has what is left and need not know why.
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

/// Which rows of the tables were left, by their numbers before; a table that is not in it is whole.
using KeptRows = std::map<TableId, std::vector<uint64_t>>;

/// Which events are taken, beside those of a stretch of time and of streams.
struct RowChoice {
  NamePattern names;
  bool counters = true;
  bool flows = true;

  bool everything() const { return names.matchesEverything() && counters && flows; }
};

/// One thread at a time. What is given to it must outlive it.
class RowFilter {
 public:
  /// `known` has the trace's strings and counter tracks.
  RowFilter(const Trace& known, const Selection& selection, const RowChoice& choice)
      : known_(known), selection_(selection), choice_(choice) {}

  /// Whether the row of an event is taken, in a table of `known` or of a part of it; its name is
  /// its own or eventName() (export/select/event_filter.hpp), that of a counter its track's. Rows
  /// of tables that are no events are.
  template <class Table>
  bool take(const Table& table, size_t row);
  /// The same of `count` rows from `first` on of a table of `part`.
  std::vector<bool> takes(const Trace& part, TableId table, size_t first, size_t count);

 private:
  template <class Table>
  bool matches(const Table& table, size_t row);
  bool matches(std::string_view name);

  const Trace& known_;
  const Selection& selection_;
  const RowChoice& choice_;
  std::unordered_map<std::string_view, bool> matched_;  // texts of the trace, or of the program
};

/// Leaves the events that a RowFilter takes. Attributes go and move with their rows. Tables that
/// are no events stay as they are, so that ids hold.
KeptRows keepRows(Trace& trace, const Selection& selection, const RowChoice& choice);

}  // namespace tracesmith
