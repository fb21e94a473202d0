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

}  // namespace

void KeptDefinitions::add(const Trace& delta) {
  for (size_t i = kept_.strings.size(); i < delta.strings.size(); ++i) {
    kept_.strings.append(delta.strings.at(idAt<StringId>(i)));
  }
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
