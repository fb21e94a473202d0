// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/select/row_filter.hpp"

#include <algorithm>
#include <type_traits>

#include "tracesmith/export/select/event_filter.hpp"

namespace tracesmith {
namespace {

/// Tables whose rows are events.
constexpr bool isEvent(TableId id) {
  switch (id) {
    case TableId::kHostCall:
    case TableId::kKernel:
    case TableId::kCopy:
    case TableId::kFill:
    case TableId::kSync:
    case TableId::kMemoryEvent:
    case TableId::kProgramBuild:
    case TableId::kCounter:
    case TableId::kRange:
    case TableId::kFlowEvent:
      return true;
    default:
      return false;
  }
}

template <class Table>
bool inSelection(const Table& table, size_t row, const Selection& selection) {
  if constexpr (requires { table.stream_id; }) {
    if (!selection.stream(table.stream_id[row])) return false;
  }
  if constexpr (requires { table.duration_ns; }) {
    return selection.span(table.start_ns[row], table.duration_ns[row]);
  } else {
    return selection.instant(table.time_ns[row]);
  }
}

/// Rows of a table that are arrows; those of `flow` are no events, but drawn as such.
constexpr bool isArrow(TableId id) { return id == TableId::kFlow || id == TableId::kFlowEvent; }

template <class Table>
void compact(Table& table, const std::vector<uint64_t>& rows) {
  Table::visitColumns(table, [&](const ColumnInfo&, auto& column) {
    for (size_t i = 0; i < rows.size(); ++i) column[i] = column[rows[i]];
    column.resize(rows.size());
  });
}

void compactAttributes(AttributeTable& attributes, const KeptRows& kept) {
  std::vector<uint64_t> rows;
  for (size_t i = 0; i < attributes.size(); ++i) {
    const auto it = kept.find(static_cast<TableId>(attributes.table[i]));
    if (it != kept.end()) {
      const auto at =
          std::lower_bound(it->second.begin(), it->second.end(), attributes.row_number[i]);
      if (at == it->second.end() || *at != attributes.row_number[i]) continue;
      attributes.row_number[i] = static_cast<uint64_t>(at - it->second.begin());
    }
    rows.push_back(i);
  }
  compact(attributes, rows);
}

}  // namespace

bool RowFilter::matches(std::string_view name) {
  const auto [entry, fresh] = matched_.try_emplace(name, false);
  if (fresh) entry->second = choice_.names.matches(name);
  return entry->second;
}

template <class Table>
bool RowFilter::matches(const Table& table, size_t row) {
  if (choice_.names.matchesEverything()) return true;
  if constexpr (Table::kId == TableId::kCounter) {
    const auto track = static_cast<size_t>(table.track_id[row]);
    const CounterTrackTable& tracks = known_.counter_track;
    return matches(track == 0 || track > tracks.size() ? std::string_view{}
                                                       : known_.text(tracks.name[track - 1]));
  } else if constexpr (Table::kId == TableId::kFlowEvent) {
    return matches(known_.text(table.name[row]));
  } else {
    if constexpr (requires { table.name; }) {  // a copy may have one, which then is meant as well
      if (table.name[row] != StringId::kNone && matches(known_.text(table.name[row]))) return true;
    }
    return matches(eventName(known_, table, row));
  }
}

template <class Table>
bool RowFilter::take(const Table& table, size_t row) {
  if (isArrow(Table::kId) && !choice_.flows) return false;
  if constexpr (isEvent(Table::kId)) {
    if (Table::kId == TableId::kCounter && !choice_.counters) return false;
    return inSelection(table, row, selection_) && matches(table, row);
  } else {
    return true;
  }
}

template bool RowFilter::take(const HostCallTable&, size_t);
template bool RowFilter::take(const KernelTable&, size_t);
template bool RowFilter::take(const CopyTable&, size_t);
template bool RowFilter::take(const FillTable&, size_t);
template bool RowFilter::take(const SyncTable&, size_t);
template bool RowFilter::take(const RangeTable&, size_t);
template bool RowFilter::take(const ProgramBuildTable&, size_t);
template bool RowFilter::take(const MemoryEventTable&, size_t);

std::vector<bool> RowFilter::takes(const Trace& part, TableId table, size_t first, size_t count) {
  std::vector<bool> taken;
  forEachTable(part, [&](const auto& rows) {
    if (std::decay_t<decltype(rows)>::kId != table) return;
    for (size_t row = first; row < first + count; ++row) taken.push_back(take(rows, row));
  });
  return taken;
}

KeptRows keepRows(Trace& trace, const Selection& selection, const RowChoice& choice) {
  KeptRows kept;
  RowFilter wanted(trace, selection, choice);
  forEachTable(trace, [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (isEvent(Table::kId) || isArrow(Table::kId)) {
      std::vector<uint64_t> rows;
      for (size_t row = 0; row < table.size(); ++row) {
        if (wanted.take(table, row)) rows.push_back(row);
      }
      if (rows.size() == table.size()) return;
      compact(table, rows);
      kept.emplace(Table::kId, std::move(rows));
    }
  });
  if (!kept.empty()) compactAttributes(trace.attribute, kept);
  return kept;
}

}  // namespace tracesmith
