// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/access_plan.hpp"

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

/// Which rows a comparison leaves is guessed from the kind of column, not counted: counting would
/// cost as much as the query.
double shareLeft(const SqlTable& table, const AccessPlan::Condition& condition) {
  const auto rows = static_cast<double>(std::max<uint64_t>(1, table.rows()));
  if (condition.op != SQLITE_INDEX_CONSTRAINT_EQ) return 0.4;
  const SqlColumn& column = table.column(static_cast<size_t>(condition.column));
  if (column.role() == ColumnRole::kRowId) return 1 / rows;
  const bool links = column.name().find("correlation_id") != std::string::npos;
  return std::min(1.0, links ? 2 / rows : 0.05);
}

}  // namespace

std::string AccessPlan::toText() const {
  std::string text = std::to_string(static_cast<int>(order)) + " " + std::to_string(order_column);
  for (const Condition& c : conditions) {
    text += " " + std::to_string(c.column) + " " + std::to_string(c.op);
  }
  return text;
}

AccessPlan AccessPlan::fromText(const char* text) {
  AccessPlan plan;
  char* at = const_cast<char*>(text);
  plan.order = static_cast<Order>(std::strtol(at, &at, 10));
  plan.order_column = static_cast<int>(std::strtol(at, &at, 10));
  while (*at != '\0') {
    Condition c;
    c.column = static_cast<int>(std::strtol(at, &at, 10));
    c.op = static_cast<int>(std::strtol(at, &at, 10));
    plan.conditions.push_back(c);
  }
  return plan;
}

AccessPlan choosePlan(const SqlTable& table, sqlite3_index_info* info) {
  AccessPlan plan;
  const auto all = static_cast<double>(std::max<uint64_t>(1, table.rows()));
  double rows = all;
  bool equality = false;
  bool unique = false;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (!constraint.usable || constraint.iColumn < 0 || !isComparison(constraint.op)) continue;
    const SqlColumn& column = table.column(static_cast<size_t>(constraint.iColumn));
    if (column.role() != ColumnRole::kReference && column.role() != ColumnRole::kRowId) continue;
    plan.conditions.push_back({constraint.iColumn, constraint.op});
    // Not omitted: SQLite checks again, so that its rules for other types of values hold.
    info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.conditions.size());
    rows *= shareLeft(table, plan.conditions.back());
    equality = equality || constraint.op == SQLITE_INDEX_CONSTRAINT_EQ;
    unique = unique ||
             (constraint.op == SQLITE_INDEX_CONSTRAINT_EQ && column.role() == ColumnRole::kRowId);
  }
  if (!equality && info->nOrderBy == 1 && info->aOrderBy[0].iColumn >= 0 &&
      table.rows() <= RowOrder::kMaxRows) {
    const SqlColumn& column = table.column(static_cast<size_t>(info->aOrderBy[0].iColumn));
    // Sorted also where grouping would do: sqlite3_vtab_distinct() does not tell (3.40) whether an
    // ORDER BY of the same column relies on it.
    plan.order_column = info->aOrderBy[0].iColumn;
    if (column.role() != ColumnRole::kPlain) {
      plan.order =
          info->aOrderBy[0].desc ? AccessPlan::Order::kDescending : AccessPlan::Order::kAscending;
    }
    info->orderByConsumed = plan.order != AccessPlan::Order::kNone;
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
    case SQLITE_NULL:  // a comparison with NULL never holds
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
      // Within these bounds floor and ceil convert without overflow.
      if (!(std::abs(v) < 9e18)) return false;
      const auto floor = static_cast<int64_t>(std::floor(v));
      const auto ceil = static_cast<int64_t>(std::ceil(v));
      // The integers next to v stay in: SQLite's own check decides about them.
      if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE) atLeast(floor);
      if (op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE) atMost(ceil);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace tracesmith
