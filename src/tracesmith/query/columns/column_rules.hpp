// SPDX-License-Identifier: Apache-2.0
// How columns of the schema appear in SQL, beyond what their types determine.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "tracesmith/model/tables.hpp"

namespace tracesmith::query_rules {

/// One sentence about a table; nullptr for internal tables that are not offered.
const char* meaningOf(TableId table);

/// Whether 0 in this column means "none" or "unknown" and appears as NULL.
bool zeroIsNull(TableId table, std::string_view column);

/// Whether a column links rows (correlation ids) or has times, so that a row order for it is
/// useful.
bool isReference(std::string_view column);

/// The position of a column in its table: the most important columns come first.
int rankOf(std::string_view column);

/// The numbers of those of `columns` that are named.
std::vector<uint16_t> numbersOf(std::span<const ColumnInfo> columns,
                                std::initializer_list<std::string_view> names);

/// The SQL name of a column (`table` is a keyword of SQL).
std::string_view sqlName(TableId table, std::string_view column);

/// The second, hidden name of a dictionary's `id`, for JOIN ... USING; "" when it has none.
std::string_view idAlias(TableId table);

/// A bit of a `flags` column that appears as a column of its own, with 0 or 1.
struct FlagColumn {
  const char* name;
  uint32_t bit;
  const char* meaning;
};
struct FlagColumns {
  const FlagColumn* first;
  size_t count;
};
FlagColumns flagColumns(TableId table);

}  // namespace tracesmith::query_rules
