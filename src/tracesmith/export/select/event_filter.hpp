// SPDX-License-Identifier: Apache-2.0
// Which events a view is about: by table, stream, time and name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct EventFilter {
  std::vector<TableId> tables;            ///< empty: all event tables
  std::vector<StreamId> streams;          ///< empty: all; else rows of no stream are left out
  std::string name_regex;                 ///< a NamePattern for eventName(); empty: all
  std::optional<int64_t> from_ns, to_ns;  ///< host time; what overlaps [from, to)
};

/// Tables that hold events one may list, with the names that -t takes.
std::vector<std::pair<std::string_view, TableId>> listableTables();

/// What an event is called: a kernel's or a function's name, the kind of a copy.
std::string_view eventName(const Trace& trace, TableId table, size_t row);
/// The same of a row in `table`, which may be another trace's; `known` has its strings.
template <class Table>
std::string_view eventName(const Trace& known, const Table& table, size_t row) {
  if constexpr (Table::kId == TableId::kFill) {
    return "fill";
  } else if constexpr (Table::kId == TableId::kHostCall || Table::kId == TableId::kKernel ||
                       Table::kId == TableId::kRange) {
    return known.text(table.name[row]);
  } else if constexpr (Table::kId == TableId::kCopy || Table::kId == TableId::kSync ||
                       Table::kId == TableId::kMemoryEvent ||
                       Table::kId == TableId::kProgramBuild) {
    return toString(table.kind[row]);
  } else {
    return {};
  }
}

/// A filter made ready for one trace, which must outlive it. One thread at a time.
class EventMatcher {
 public:
  /// kInvalidArgument for a bad regular expression.
  static Result<EventMatcher> of(const Trace& trace, const EventFilter& filter);
  EventMatcher(EventMatcher&&) noexcept;
  ~EventMatcher();

  bool wantsTable(TableId table) const;
  bool operator()(TableId table, size_t row) const;

 private:
  struct Impl;
  explicit EventMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracesmith
