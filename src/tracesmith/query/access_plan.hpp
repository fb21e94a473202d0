// SPDX-License-Identifier: Apache-2.0
// How a virtual table is read for one query: which rows, in which order. SQLite's planner sees only
// costs and a text; this is what that text says.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tracesmith/query/sql_table.hpp"

namespace tracesmith {

struct AccessPlan {
  /// One comparison of an integer column with a value that xFilter gets, in this order.
  struct Condition {
    int column = 0;
    int op = 0;  ///< SQLITE_INDEX_CONSTRAINT_EQ, GT, GE, LT or LE
  };
  enum class Order : uint8_t { kNone, kAscending, kDescending };

  std::vector<Condition> conditions;
  Order order = Order::kNone;
  int order_column = 0;  ///< of order, when it is not kNone

  std::string toText() const;
  static AccessPlan fromText(const char* text);
};

/// Fills `info` (estimates, what is consumed) for SQLite's question about `table`.
AccessPlan choosePlan(const SqlTable& table, sqlite3_index_info* info);

/// Integers of [low, high]; empty when low > high.
struct IntegerRange {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  bool empty() const { return low > high; }
  /// No upper bound, so that numbers beyond 2^63 are in it as well.
  bool open() const { return high == std::numeric_limits<int64_t>::max(); }
};

/// Narrows `range` to the integers v for which `v op value` may hold. False when `value` is a text
/// or blob, about which SQLite itself has to decide.
bool narrow(IntegerRange& range, int op, sqlite3_value* value);

}  // namespace tracesmith
