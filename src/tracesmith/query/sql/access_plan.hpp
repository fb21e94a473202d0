// SPDX-License-Identifier: Apache-2.0
// How a virtual table is read for one query: which rows, in which order. SQLite's planner sees only
// costs and a text; this is what that text says.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

struct AccessPlan {
  /// One comparison of a column with a value that xFilter gets, in this order.
  struct Condition {
    int column = 0;  ///< -1: the rowid
    int op = 0;      ///< SQLITE_INDEX_CONSTRAINT_EQ, GT, GE, LT or LE
  };
  enum class Order : uint8_t { kNone, kAscending, kDescending };

  std::vector<Condition> conditions;
  Order order = Order::kNone;
  std::vector<size_t> order_columns;  ///< of order, when it is not kNone
  int lead = -1;  ///< the condition that leaves the fewest rows; -1: there is none

  std::string toText() const;
  static AccessPlan fromText(const char* text);
};

/// Fills `info` (estimates, what is consumed) for SQLite's question about `table`.
AccessPlan choosePlan(const SqlTable& table, sqlite3_index_info* info);

/// The share of a table's rows that is expected to have one value of `column`.
double shareOfOne(const SqlTable& table, const SqlColumn& column);

/// Integers of [low, high]; empty when low > high.
struct IntegerRange {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  bool empty() const { return low > high; }
  /// No upper bound, so that numbers beyond 2^63 are in it as well.
  bool open() const { return high == std::numeric_limits<int64_t>::max(); }
};

/// Narrows `range` of an integer column to the integers v for which `v op value` may hold. False
/// when `value` is a text or blob, about which SQLite itself has to decide.
bool narrow(IntegerRange& range, int op, sqlite3_value* value);

}  // namespace tracesmith
