// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/sql/access_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tracesmith {
namespace {

bool isComparison(int op) {
  return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT ||
         op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_LT ||
         op == SQLITE_INDEX_CONSTRAINT_LE;
}

/// Roughly, the most rows that one launch or one handle has.
bool nearlyUnique(const SqlColumn& column) {
  const std::string& name = column.name();
  return name.find("correlation_id") != std::string::npos || name.ends_with("_ns") ||
         name == "address" || name == "handle" || name == "row_number" || name == "flow_id";
}

double shareLeft(const SqlTable& table, const AccessPlan::Condition& condition) {
  if (condition.op != SQLITE_INDEX_CONSTRAINT_EQ) return 0.4;
  return shareOfOne(table, table.columnOrRowId(condition.column));
}

/// Whether the table can deliver its rows in the requested order.
bool canOrder(const SqlTable& table, const sqlite3_index_info* info) {
  if (info->nOrderBy == 0 || table.rowsAtMost() > RowOrder::kMaxRows) return false;
  for (int i = 0; i < info->nOrderBy; ++i) {
    const auto& term = info->aOrderBy[i];
    if (term.iColumn < 0 || term.desc != info->aOrderBy[0].desc) return false;
    if (table.column(static_cast<size_t>(term.iColumn)).role() == ColumnRole::kPlain) return false;
  }
  return true;
}

/// Texts are compared byte by byte only; SQLite itself handles any other COLLATE.
bool comparesBytes(sqlite3_index_info* info, int constraint) {
  const char* collation = sqlite3_vtab_collation(info, constraint);
  return collation == nullptr || sqlite3_stricmp(collation, "BINARY") == 0;
}

bool takes(const SqlTable& table, sqlite3_index_info* info, int i) {
  const auto& constraint = info->aConstraint[i];
  if (!constraint.usable || !isComparison(constraint.op)) return false;
  switch (table.columnOrRowId(constraint.iColumn).role()) {
    case ColumnRole::kReference:
    case ColumnRole::kRow:
    case ColumnRole::kRowId:
      return true;
    case ColumnRole::kText:
      return constraint.op == SQLITE_INDEX_CONSTRAINT_EQ && comparesBytes(info, i);
    default:
      return false;
  }
}

/// Whether at most one row has a given value.
bool isUnique(const SqlColumn& column) {
  return column.role() == ColumnRole::kRow || column.role() == ColumnRole::kRowId;
}

}  // namespace

double shareOfOne(const SqlTable& table, const SqlColumn& column) {
  // Estimated from the kind of the column: counting would cost as much as the query.
  const auto rows = static_cast<double>(std::max<uint64_t>(1, table.rowsAtMost()));
  if (isUnique(column)) return 1 / rows;
  return std::min(1.0, nearlyUnique(column) ? 2 / rows : 0.05);
}

std::string AccessPlan::toText() const {
  std::string text = std::to_string(static_cast<int>(order)) + " " + std::to_string(lead) + " " +
                     std::to_string(order_columns.size());
  for (const size_t column : order_columns) text += " " + std::to_string(column);
  for (const Condition& c : conditions) {
    text += " " + std::to_string(c.column) + " " + std::to_string(c.op);
  }
  return text;
}

AccessPlan AccessPlan::fromText(const char* text) {
  AccessPlan plan;
  char* at = const_cast<char*>(text);
  const auto next = [&at] { return static_cast<int>(std::strtol(at, &at, 10)); };
  plan.order = static_cast<Order>(next());
  plan.lead = next();
  plan.order_columns.resize(static_cast<size_t>(next()));
  for (size_t& column : plan.order_columns) column = static_cast<size_t>(next());
  while (*at != '\0') {
    Condition c;
    c.column = next();
    c.op = next();
    plan.conditions.push_back(c);
  }
  return plan;
}

AccessPlan choosePlan(const SqlTable& table, sqlite3_index_info* info) {
  AccessPlan plan;
  const auto all = static_cast<double>(std::max<uint64_t>(1, table.rowsAtMost()));
  double rows = all;
  double least = 2;
  bool equality = false;
  bool unique = false;
  for (int i = 0; i < info->nConstraint; ++i) {
    if (!takes(table, info, i)) continue;
    const auto& constraint = info->aConstraint[i];
    plan.conditions.push_back({constraint.iColumn, constraint.op});
    // Not omitted: SQLite checks again, so that its rules for other value types apply.
    info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.conditions.size());
    const double share = shareLeft(table, plan.conditions.back());
    rows *= share;
    if (share < least) {
      least = share;
      plan.lead = static_cast<int>(plan.conditions.size()) - 1;
    }
    if (constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    equality = true;
    unique = unique || isUnique(table.columnOrRowId(constraint.iColumn));
  }
  // A few rows are sorted faster than they are found in the order of all rows.
  const bool few = equality && (least < 0.01 || rows < 1000);
  if (!few && canOrder(table, info)) {
    // Sort even where grouping would be enough: sqlite3_vtab_distinct() does not tell (in 3.40)
    // whether an ORDER BY of the same column relies on it.
    for (int i = 0; i < info->nOrderBy; ++i) {
      plan.order_columns.push_back(static_cast<size_t>(info->aOrderBy[i].iColumn));
    }
    plan.order =
        info->aOrderBy[0].desc ? AccessPlan::Order::kDescending : AccessPlan::Order::kAscending;
    info->orderByConsumed = 1;
  }
  rows = std::max(1.0, rows);
  info->estimatedRows = static_cast<sqlite3_int64>(rows);
  info->estimatedCost = equality ? rows + std::log2(all + 1) : all;
  if (unique) {
    info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    info->estimatedCost = 1;
  }
  return plan;
}

bool narrow(IntegerRange& range, int op, sqlite3_value* value) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const auto nothing = [&] { range = {1, 0}; };
  auto atLeast = [&](int64_t v) { range.low = std::max(range.low, v); };
  auto atMost = [&](int64_t v) { range.high = std::min(range.high, v); };
  switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:  // a comparison with NULL is never true
      nothing();
      return true;
    case SQLITE_INTEGER: {
      const int64_t v = sqlite3_value_int64(value);
      if (op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GE) atLeast(v);
      if (op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_LE) atMost(v);
      if (op == SQLITE_INDEX_CONSTRAINT_GT) v == kMax ? nothing() : atLeast(v + 1);
      if (op == SQLITE_INDEX_CONSTRAINT_LT) v == kMin ? nothing() : atMost(v - 1);
      return true;
    }
    case SQLITE_FLOAT: {
      const double v = sqlite3_value_double(value);
      // Within these bounds, floor and ceil convert without overflow.
      if (!(std::abs(v) < 9e18)) return false;
      const auto floor = static_cast<int64_t>(std::floor(v));
      const auto ceil = static_cast<int64_t>(std::ceil(v));
      // The integers next to v are included: SQLite's own check decides about them.
      if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE) atLeast(floor);
      if (op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE) atMost(ceil);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace tracesmith
