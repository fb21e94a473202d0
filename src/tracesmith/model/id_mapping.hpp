// SPDX-License-Identifier: Apache-2.0
// Replaces the ids in the rows of a trace, to move rows from one trace to another.
#pragma once

#include <type_traits>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Calls map(id) for each id in each row of `table`, for the types of ids that `map` accepts, and
/// stores the result.
template <class Table, class Map>
void mapIds(Table& table, Map& map) {
  Table::visitColumns(table, [&](const ColumnInfo&, auto& column) {
    using Id = typename std::decay_t<decltype(column)>::value_type;
    if constexpr (std::is_enum_v<Id> && requires(Id id) { map(id); }) {
      for (Id& id : column) id = map(id);
    }
  });
  if constexpr (std::is_same_v<Table, ObjectTable>) {
    const auto with = [&](auto id) {
      if constexpr (requires { map(id); }) return static_cast<uint32_t>(map(id));
      return static_cast<uint32_t>(id);
    };
    for (size_t i = 0; i < table.size(); ++i) {
      uint32_t& id = table.id[i];
      if (table.kind[i] == ObjectKind::kDevice) id = with(static_cast<DeviceId>(id));
      if (table.kind[i] == ObjectKind::kContext) id = with(static_cast<ContextId>(id));
      if (table.kind[i] == ObjectKind::kStream) id = with(static_cast<StreamId>(id));
      if (table.kind[i] == ObjectKind::kGraphNode) id = with(static_cast<CallPathId>(id));
    }
  }
}

}  // namespace tracesmith
