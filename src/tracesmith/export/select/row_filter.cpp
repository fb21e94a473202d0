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
    case TableId::kComm:
    case TableId::kCommWork:
    case TableId::kCpuSample:
    case TableId::kThreadState:
    case TableId::kWakeup:
    case TableId::kSystemCall:
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

/// Tables whose rows are flows. Rows of `flow` are not events, but viewers draw them.
constexpr bool isArrow(TableId id) { return id == TableId::kFlow || id == TableId::kFlowEvent; }

template <class Table>
void compact(Table& table, const std::vector<uint64_t>& rows) {
  Table::visitColumns(table, [&](const ColumnInfo&, auto& column) {
    for (size_t i = 0; i < rows.size(); ++i) column[i] = column[rows[i]];
    column.resize(rows.size());
  });
}

/// Of tables of which some rows are not taken, those that are.
KeptRows takenRows(const Trace& trace, const Selection& selection, const RowChoice& choice) {
  KeptRows kept;
  RowFilter wanted(trace, selection, choice);
  forEachTable(trace, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (isEvent(Table::kId) || isArrow(Table::kId)) {
      std::vector<uint64_t> rows;
      for (size_t row = 0; row < table.size(); ++row) {
        if (wanted.take(table, row)) rows.push_back(row);
      }
      if (rows.size() < table.size()) kept.emplace(Table::kId, std::move(rows));
    }
  });
  return kept;
}

/// Attributes of rows that remain, and the numbers of these among those of their table.
struct KeptAttributes {
  std::vector<uint64_t> rows, row_numbers;
};

KeptAttributes attributesOf(const AttributeTable& attributes, const KeptRows& kept) {
  KeptAttributes out;
  for (size_t i = 0; i < attributes.size(); ++i) {
    uint64_t number = attributes.row_number[i];
    const auto it = kept.find(static_cast<TableId>(attributes.table[i]));
    if (it != kept.end()) {
      const auto at = std::lower_bound(it->second.begin(), it->second.end(), number);
      if (at == it->second.end() || *at != number) continue;
      number = static_cast<uint64_t>(at - it->second.begin());
    }
    out.rows.push_back(i);
    out.row_numbers.push_back(number);
  }
  return out;
}

template <class Table>
void copyRows(const Table& from, const std::vector<uint64_t>& rows, Table& to) {
  to.reserve(rows.size());
  for (const uint64_t row : rows) to.push(from.row(row));
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
    if constexpr (requires { table.name; }) {  // copies may have a name, which then also counts
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
  KeptRows kept = takenRows(trace, selection, choice);
  if (kept.empty()) return kept;
  forEachTable(trace, [&](auto& table) {
    const auto rows = kept.find(table.kId);
    if (rows != kept.end()) compact(table, rows->second);
  });
  const KeptAttributes attributes = attributesOf(trace.attribute, kept);
  compact(trace.attribute, attributes.rows);
  trace.attribute.row_number = attributes.row_numbers;
  return kept;
}

Trace partOf(const Trace& trace, const Selection& selection, const RowChoice& choice) {
  const KeptRows kept = takenRows(trace, selection, choice);
  Trace out;
  out.strings = trace.strings;
  out.begin_ns = trace.begin_ns;
  const KeptAttributes attributes = attributesOf(trace.attribute, kept);
  forEachTable(out, [&](auto& to) {
    using Table = std::decay_t<decltype(to)>;
    forEachTable(trace, [&](const auto& from) {
      if constexpr (std::is_same_v<std::decay_t<decltype(from)>, Table>) {
        const auto rows = kept.find(Table::kId);
        if (Table::kId == TableId::kAttribute) {
          copyRows(from, attributes.rows, to);
        } else if (rows != kept.end()) {
          copyRows(from, rows->second, to);
        } else {
          to = from;
        }
      }
    });
  });
  out.attribute.row_number = attributes.row_numbers;
  return out;
}

}  // namespace tracesmith
