// SPDX-License-Identifier: Apache-2.0
// The list of events that `tracesmith view` prints: all event tables merged by time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/output.hpp"
#include "tracesmith/export/selection.hpp"
#include "tracesmith/export/terminal_table.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

enum class ListFormat { kText, kJson, kCsv };

struct EventFilter {
  std::vector<TableId> tables;            ///< empty: all event tables
  std::vector<StreamId> streams;          ///< empty: all
  std::string name_regex;                 ///< ECMAScript, searched; empty: all
  std::optional<int64_t> from_ns, to_ns;  ///< host time
  size_t limit = SIZE_MAX;
};

/// Tables that hold events one may list, with the names that -t takes.
std::vector<std::pair<std::string_view, TableId>> listableTables();

/// Writes the events that pass the filter, by start; returns how many there were beyond the limit.
/// kInvalidArgument for a bad regular expression.
Result<size_t> listEvents(const Trace& trace, const EventFilter& filter, ListFormat format,
                          const TerminalStyle& style, Output& out);

}  // namespace tracesmith
