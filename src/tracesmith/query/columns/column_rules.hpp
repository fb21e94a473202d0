// SPDX-License-Identifier: Apache-2.0
// How a column of the schema reads in SQL, where its type alone does not say it.
#pragma once

#include <string_view>

#include "tracesmith/model/tables.hpp"

namespace tracesmith::query_rules {

/// One sentence about a table; nullptr for tables that are bookkeeping and not offered.
const char* meaningOf(TableId table);

/// True when 0 in this column means "none" or "unknown" and so is NULL.
bool zeroIsNull(TableId table, std::string_view column);

/// True for numbers that link rows (correlation ids) and for times: worth an order.
bool isReference(std::string_view column);

/// Where a column stands in its table: the columns people look for come first.
int rankOf(std::string_view column);

/// The SQL name of a column (`table` is a keyword of SQL).
std::string_view sqlName(TableId table, std::string_view column);

/// The second, hidden name of a dictionary's `id`, for JOIN ... USING; "" when it has none.
std::string_view idAlias(TableId table);

/// A bit of a `flags` column that has a column of its own, as 0 or 1.
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
