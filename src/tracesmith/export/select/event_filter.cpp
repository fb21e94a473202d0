// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/select/event_filter.hpp"

#include <algorithm>
#include <utility>

#include "tracesmith/export/select/row_filter.hpp"

namespace tracesmith {

struct EventMatcher::Impl {
  const Trace& trace;
  std::vector<TableId> tables;
  bool only_streams;
  Selection selection;
  RowChoice choice;
  RowFilter rows;

  Impl(const Trace& of, const EventFilter& filter, NamePattern names)
      : trace(of),
        tables(filter.tables),
        only_streams(!filter.streams.empty()),
        selection(of, filter.from_ns, filter.to_ns, filter.streams),
        choice{std::move(names)},
        rows(of, selection, choice) {}

  /// Exports keep rows of no stream when streams are chosen; a list shows those of the streams
  /// only.
  template <class Table>
  bool wants(const Table& table, size_t row) {
    if (only_streams) {
      if constexpr (requires { table.stream_id; }) {
        if (table.stream_id[row] == StreamId::kNone) return false;
      } else {
        return false;
      }
    }
    return rows.take(table, row);
  }

  bool wants(TableId table, size_t row) {
    switch (table) {
      case TableId::kHostCall:
        return wants(trace.host_call, row);
      case TableId::kKernel:
        return wants(trace.kernel, row);
      case TableId::kCopy:
        return wants(trace.copy, row);
      case TableId::kFill:
        return wants(trace.fill, row);
      case TableId::kSync:
        return wants(trace.sync, row);
      case TableId::kRange:
        return wants(trace.range, row);
      case TableId::kProgramBuild:
        return wants(trace.program_build, row);
      case TableId::kMemoryEvent:
        return wants(trace.memory_event, row);
      default:
        return false;
    }
  }
};

std::vector<std::pair<std::string_view, TableId>> listableTables() {
  return {{"host_call", TableId::kHostCall},
          {"kernel", TableId::kKernel},
          {"copy", TableId::kCopy},
          {"fill", TableId::kFill},
          {"sync", TableId::kSync},
          {"memory_event", TableId::kMemoryEvent},
          {"program_build", TableId::kProgramBuild},
          {"range", TableId::kRange}};
}

std::string_view eventName(const Trace& trace, TableId table, size_t row) {
  std::string_view name;
  forEachTable(trace, [&](const auto& rows) {
    if (std::decay_t<decltype(rows)>::kId == table) name = eventName(trace, rows, row);
  });
  return name;
}

EventMatcher::EventMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventMatcher::EventMatcher(EventMatcher&&) noexcept = default;
EventMatcher::~EventMatcher() = default;

Result<EventMatcher> EventMatcher::of(const Trace& trace, const EventFilter& filter) {
  TS_TRY(NamePattern names, NamePattern::parse(filter.name_regex, "--name"));
  return EventMatcher(std::make_unique<Impl>(trace, filter, std::move(names)));
}

bool EventMatcher::wantsTable(TableId table) const {
  return impl_->tables.empty() ||
         std::find(impl_->tables.begin(), impl_->tables.end(), table) != impl_->tables.end();
}

bool EventMatcher::operator()(TableId table, size_t row) const {
  return wantsTable(table) && impl_->wants(table, row);
}

}  // namespace tracesmith
