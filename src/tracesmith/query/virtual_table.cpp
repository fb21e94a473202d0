// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/virtual_table.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "tracesmith/query/access_plan.hpp"

namespace tracesmith {
namespace {

struct VirtualTable : sqlite3_vtab {
  const SqlTable* table = nullptr;
};

struct Check {
  const SqlColumn* column;
  size_t index;
  IntegerRange range;
  bool exact() const { return range.low == range.high; }
};

struct Cursor : sqlite3_vtab_cursor {
  const SqlTable* table = nullptr;
  const char* plan_text = nullptr;  // SQLite keeps it for the statement: the same text, same plan
  AccessPlan plan;
  std::vector<uint32_t> searches;  // per column, how often it was searched for one value

  const RowOrder* order = nullptr;  // nullptr: the rows as they lie
  uint64_t begin = 0;               // places [begin, end) of the order, or rows
  uint64_t end = 0;
  uint64_t place = 0;
  bool backwards = false;
  std::vector<Check> checks;

  uint64_t row() const {
    const uint64_t i = backwards ? end - 1 - (place - begin) : place;
    return order == nullptr ? i : order->row(i);
  }
  bool matches(uint64_t row) const {
    if (!table->hasRow(row)) return false;
    for (const Check& check : checks) {
      const Value v = check.column->at(row);
      // What is beyond 2^63 is greater than every bound.
      if (v.type == ValueType::kLarge) {
        if (!check.range.open()) return false;
      } else if (v.isNull() || v.integer < check.range.low || v.integer > check.range.high) {
        return false;
      }
    }
    return true;
  }
  void skip() {
    while (place < end && !matches(row())) ++place;
  }
};

int connect(sqlite3* db, void* aux, int, const char* const*, sqlite3_vtab** out, char** error) {
  try {
    const auto* table = static_cast<const SqlTable*>(aux);
    std::string sql = "CREATE TABLE x(";
    for (const auto& column : table->columns()) {
      if (sql.back() != '(') sql += ", ";
      sql += "\"" + column->name() + "\" " + column->type();
      if (column->hidden()) sql += " HIDDEN";
    }
    sql += ")";
    if (const int rc = sqlite3_declare_vtab(db, sql.c_str()); rc != SQLITE_OK) {
      *error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
      return rc;
    }
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    auto* made = new VirtualTable();
    made->table = table;
    *out = made;
    return SQLITE_OK;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

int disconnect(sqlite3_vtab* vtab) {
  delete static_cast<VirtualTable*>(vtab);
  return SQLITE_OK;
}

int bestIndex(sqlite3_vtab* vtab, sqlite3_index_info* info) {
  try {
    const AccessPlan plan = choosePlan(*static_cast<VirtualTable*>(vtab)->table, info);
    info->idxStr = sqlite3_mprintf("%s", plan.toText().c_str());
    info->needToFreeIdxStr = 1;
    return info->idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

int open(sqlite3_vtab* vtab, sqlite3_vtab_cursor** out) {
  auto* cursor = new (std::nothrow) Cursor();
  if (cursor == nullptr) return SQLITE_NOMEM;
  cursor->table = static_cast<VirtualTable*>(vtab)->table;
  *out = cursor;
  return SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

void takeRange(Cursor& c, size_t column, const IntegerRange& range) {
  const RowOrder* order = c.table->order(column);
  std::tie(c.begin, c.end) = order->range(c.table->column(column), range.low, range.high);
  c.order = order->isIdentity() ? nullptr : order;
}

/// Finds the rows of `range` if that costs less than passing over all rows.
void search(Cursor& c, size_t column, const IntegerRange& range) {
  const SqlTable& table = *c.table;
  if (table.column(column).role() == ColumnRole::kRowId) {
    const auto rows = static_cast<int64_t>(table.rows());
    const int64_t low = std::clamp<int64_t>(range.low, 1, rows + 1);
    const int64_t high = std::clamp<int64_t>(range.high, low - 1, rows);
    c.begin = static_cast<uint64_t>(low - 1);
    c.end = static_cast<uint64_t>(high);
    return;
  }
  if (table.rows() > RowOrder::kMaxRows) return;
  if (!table.hasOrder(column) && !table.liesInOrder(column)) {
    // Making the order pays from the second search on: the first may be the only one.
    c.searches.resize(table.columns().size());
    if (table.rows() < 64 || ++c.searches[column] < 2) return;
  }
  takeRange(c, column, range);
}

/// Turns the conditions into checks; false when no row can satisfy them.
bool makeChecks(Cursor& c, int argc, sqlite3_value** argv) {
  c.checks.clear();
  for (int i = 0; i < argc; ++i) {
    const AccessPlan::Condition& condition = c.plan.conditions[static_cast<size_t>(i)];
    const auto index = static_cast<size_t>(condition.column);
    auto it = std::find_if(c.checks.begin(), c.checks.end(),
                           [&](const Check& check) { return check.index == index; });
    IntegerRange range = it == c.checks.end() ? IntegerRange{} : it->range;
    if (!narrow(range, condition.op, argv[i])) continue;
    if (range.empty()) return false;
    if (it != c.checks.end()) {
      it->range = range;
    } else {
      c.checks.push_back({&c.table->column(index), index, range});
    }
  }
  return true;
}

void start(Cursor& c, int argc, sqlite3_value** argv) {
  const SqlTable& table = *c.table;
  c.order = nullptr;
  c.begin = c.end = c.place = 0;
  c.backwards = c.plan.order == AccessPlan::Order::kDescending;
  if (!makeChecks(c, argc, argv)) return;
  c.end = table.rows();
  if (c.plan.order != AccessPlan::Order::kNone) {
    const auto column = static_cast<size_t>(c.plan.order_column);
    auto own = std::find_if(c.checks.begin(), c.checks.end(),
                            [&](const Check& check) { return check.index == column; });
    if (own != c.checks.end()) {
      takeRange(c, column, own->range);
    } else {
      const RowOrder* order = table.order(column);
      c.order = order->isIdentity() ? nullptr : order;
    }
  } else {
    // The narrowest condition leads; the others are checked row by row.
    const Check* best = nullptr;
    for (const Check& check : c.checks) {
      if (best == nullptr || (check.exact() && !best->exact())) best = &check;
    }
    if (best != nullptr) search(c, best->index, best->range);
  }
  c.place = c.begin;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char* text, int argc, sqlite3_value** argv) {
  auto& c = *static_cast<Cursor*>(cursor);
  try {
    if (c.plan_text != text) {
      c.plan = AccessPlan::fromText(text);
      c.plan_text = text;
    }
    start(c, argc, argv);
    c.skip();
    return SQLITE_OK;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

int next(sqlite3_vtab_cursor* cursor) {
  auto& c = *static_cast<Cursor*>(cursor);
  ++c.place;
  c.skip();
  return SQLITE_OK;
}

int eof(sqlite3_vtab_cursor* cursor) {
  const auto& c = *static_cast<const Cursor*>(cursor);
  return c.place >= c.end ? 1 : 0;
}

int cell(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int i) {
  const auto& c = *static_cast<const Cursor*>(cursor);
  const Value v = c.table->column(static_cast<size_t>(i)).at(c.row());
  switch (v.type) {
    case ValueType::kNull:
      sqlite3_result_null(context);
      break;
    case ValueType::kInteger:
      sqlite3_result_int64(context, v.integer);
      break;
    case ValueType::kReal:
      sqlite3_result_double(context, v.real);
      break;
    case ValueType::kText:
      // Static: the texts of a trace stay where they are as long as it lives.
      sqlite3_result_text64(context, v.text.empty() ? "" : v.text.data(), v.text.size(),
                            SQLITE_STATIC, SQLITE_UTF8);
      break;
    case ValueType::kLarge: {
      const std::string digits = toText(v);
      sqlite3_result_text64(context, digits.data(), digits.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
      break;
    }
  }
  return SQLITE_OK;
}

int rowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
  *out = static_cast<sqlite3_int64>(static_cast<const Cursor*>(cursor)->row());
  return SQLITE_OK;
}

sqlite3_module makeModule() {
  sqlite3_module m{};
  m.iVersion = 1;
  m.xCreate = nullptr;  // eponymous only: CREATE VIRTUAL TABLE can not use it
  m.xConnect = connect;
  m.xBestIndex = bestIndex;
  m.xDisconnect = disconnect;
  m.xOpen = open;
  m.xClose = close;
  m.xFilter = filter;
  m.xNext = next;
  m.xEof = eof;
  m.xColumn = cell;
  m.xRowid = rowId;
  return m;
}

}  // namespace

Status registerVirtualTable(sqlite3* db, const SqlTable& table) {
  static const sqlite3_module kModule = makeModule();
  const int rc = sqlite3_create_module_v2(db, table.name().c_str(), &kModule,
                                          const_cast<SqlTable*>(&table), nullptr);
  if (rc != SQLITE_OK) return fail(ErrorCode::kInternal, sqlite3_errmsg(db), table.name());
  // Connects it now and for good: declaring the columns is more than an authorizer would allow.
  const std::string sql = "SELECT 1 FROM \"" + table.name() + "\"";
  sqlite3_stmt* statement = nullptr;
  const int prepared = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
  sqlite3_finalize(statement);
  if (prepared != SQLITE_OK) return fail(ErrorCode::kInternal, sqlite3_errmsg(db), table.name());
  return {};
}

}  // namespace tracesmith
