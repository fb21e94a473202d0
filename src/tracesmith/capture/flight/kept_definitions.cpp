// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/flight/kept_definitions.hpp"

#include <cstddef>
#include <type_traits>

#include "tracesmith/format/blocks/keyed_rows.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"

namespace tracesmith {
namespace {

/// Tables whose rows are only appended, and that events refer to.
constexpr bool isAppended(TableId id) {
  return sbt::isDictionary(id) || id == TableId::kSymbol || id == TableId::kModule ||
         id == TableId::kTopologyLink;
}

template <class Table>
void append(Table& to, const Table& rows) {
  for (size_t i = 0; i < rows.size(); ++i) to.push(rows.row(i));
}

/// Whether rows of the table stay in this object: then the names in them are needed for ever.
constexpr bool isKept(TableId id) {
  return isKeyed(id) || isAppended(id) || id == TableId::kMetadata || id == TableId::kObject ||
         id == TableId::kCommit || id == TableId::kClockSnapshot || id == TableId::kClockOffset;
}

/// Calls f(column, is_kept) for each column of names.
template <class SomeTrace, class F>
void forEachNameColumn(SomeTrace& trace, F&& f) {
  forEachTable(trace, [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if (table.empty()) return;
    Table::visitColumns(table, [&](const ColumnInfo&, auto& column) {
      using Value = typename std::decay_t<decltype(column)>::value_type;
      if constexpr (std::is_same_v<Value, StringId>) f(column, isKept(Table::kId));
    });
  });
}

}  // namespace

void KeptDefinitions::renameForgotten(Trace& delta) {
  if (!has_forgotten_) return;
  forEachNameColumn(delta, [&](auto& column, bool) {
    for (StringId& id : column) {
      const size_t i = indexOf(id);
      if (id == StringId::kNone || i >= last_use_.size() || last_use_[i] != kForgotten) continue;
      id = newIdOf(id, delta.strings);
    }
  });
}

StringId KeptDefinitions::newIdOf(StringId forgotten, StringTable& strings) {
  StringId& known = new_ids_[forgotten];
  const bool is_usable = known != StringId::kNone && (indexOf(known) >= last_use_.size() ||
                                                      last_use_[indexOf(known)] != kForgotten);
  if (!is_usable) known = strings.append(std::string(strings.at(forgotten)));
  return known;
}

void KeptDefinitions::noteUse(const Trace& delta) {
  last_use_.resize(delta.strings.size(), file_);
  forEachNameColumn(delta, [&](const auto& column, bool is_kept) {
    for (const StringId id : column) {
      const size_t i = indexOf(id);
      if (id == StringId::kNone || i >= last_use_.size() || last_use_[i] == kAlways) continue;
      last_use_[i] = is_kept ? kAlways : file_;
    }
  });
}

void KeptDefinitions::forgetNames() {
  constexpr size_t kWorthIt = 256 << 10;
  const auto isUnused = [&](size_t i) {
    return last_use_[i] < kForgotten && last_use_[i] + kForgottenAfter < file_;
  };
  size_t bytes = 0;
  for (size_t i = 0; i < last_use_.size(); ++i) {
    if (isUnused(i)) bytes += kept_.strings.at(idAt<StringId>(i)).size();
  }
  if (bytes < kWorthIt) return;
  StringTable strings;
  for (size_t i = 0; i < last_use_.size(); ++i) {
    if (isUnused(i)) last_use_[i] = kForgotten;
    const auto id = idAt<StringId>(i);
    strings.append(last_use_[i] == kForgotten ? std::string_view() : kept_.strings.at(id));
  }
  kept_.strings = std::move(strings);
  has_forgotten_ = true;
}

void KeptDefinitions::add(const Trace& delta) {
  for (size_t i = kept_.strings.size(); i < delta.strings.size(); ++i) {
    kept_.strings.append(delta.strings.at(idAt<StringId>(i)));
  }
  noteUse(delta);
  const auto take = [](auto& kept, const auto& rows) {
    using Table = std::decay_t<decltype(rows)>;
    if constexpr (isKeyed(Table::kId)) {
      sbt::mergeById(kept, rows, UINT32_MAX);
    } else if constexpr (isAppended(Table::kId)) {
      append(kept, rows);
    }
  };
#define TS_Y(number, Name, name, columns) take(kept_.name, delta.name);
  TS_TABLES(TS_Y)
#undef TS_Y
  for (size_t i = 0; i < delta.metadata.size(); ++i) {
    metadata_[delta.metadata.key[i]] = delta.metadata.value[i];
  }
  for (size_t i = 0; i < delta.object.size(); ++i) {
    const ObjectRow row = delta.object.row(i);
    objects_[{row.process_id, row.kind, row.handle}] = row;
  }
  for (size_t i = 0; i < delta.commit_mark.size(); ++i) {
    const CommitRow row = delta.commit_mark.row(i);
    commits_[{row.arena, row.ring}] = row;
  }
  for (size_t i = 0; i < delta.clock_offset.size(); ++i) {
    const ClockOffsetRow row = delta.clock_offset.row(i);
    offsets_[row.peer] = row;
  }
  addSnapshots(delta.clock_snapshot);
}

void KeptDefinitions::addSnapshots(const ClockSnapshotTable& snapshots) {
  for (size_t i = 0; i < snapshots.size(); ++i) {
    const ClockSnapshotRow row = snapshots.row(i);
    const auto [last, is_first] = snapshots_.try_emplace(row.domain_id, row, row);
    if (!is_first) last->second = {last->second.second, row};
  }
}

Trace KeptDefinitions::rows() const {
  Trace out = kept_;
  for (const auto& [key, value] : metadata_) out.metadata.push({.key = key, .value = value});
  for (const auto& [key, row] : objects_) out.object.push(row);
  for (const auto& [key, row] : commits_) out.commit_mark.push(row);
  for (const auto& [domain, rows] : snapshots_) {
    out.clock_snapshot.push(rows.first);
    if (rows.second.host_ns != rows.first.host_ns) out.clock_snapshot.push(rows.second);
  }
  for (const auto& [peer, row] : offsets_) out.clock_offset.push(row);
  return out;
}

}  // namespace tracesmith
