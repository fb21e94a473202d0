// SPDX-License-Identifier: Apache-2.0
// How a virtual table is read for one query: which rows, in which order. SQLite's planner passes it
// on as a cost and a text; this struct is the content of that text.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

struct AccessPlan {
  /// A comparison of a column with a value. xFilter receives the values in this order.
  struct Condition {
    int column = 0;  ///< -1: the rowid
    int op = 0;      ///< SQLITE_INDEX_CONSTRAINT_EQ, GT, GE, LT or LE
  };
  enum class Order : uint8_t { kNone, kAscending, kDescending };

  std::vector<Condition> conditions;
  Order order = Order::kNone;
  std::vector<size_t> order_columns;  ///< the columns to sort by, unless `order` is kNone
  int lead = -1;                      ///< index of the most selective condition; -1: none

  std::string toText() const;
  static AccessPlan fromText(const char* text);
};

/// Fills `info` (estimates, consumed constraints) for SQLite's planner.
AccessPlan choosePlan(const SqlTable& table, sqlite3_index_info* info);

/// The expected fraction of a table's rows that have one given value of `column`.
double shareOfOne(const SqlTable& table, const SqlColumn& column);

/// Integers in [low, high]; empty if low > high.
struct IntegerRange {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  bool empty() const { return low > high; }
  /// Whether there is no upper bound, so that numbers above 2^63 are included.
  bool open() const { return high == std::numeric_limits<int64_t>::max(); }
};

/// Narrows `range` of an integer column to the integers v for which `v op value` may hold. False if
/// `value` is a text or blob; SQLite itself must then compare.
bool narrow(IntegerRange& range, int op, sqlite3_value* value);

}  // namespace tracesmith
