// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/sql/virtual_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tracesmith/query/sql/access_plan.hpp"

namespace tracesmith {
namespace {

struct VirtualTable : sqlite3_vtab {
  const SqlTable* table = nullptr;
};

/// Rows read at once: enough to make a column's cost per call negligible, few enough that their
/// cells stay in the second-level cache.
constexpr size_t kBatch = 1024;
/// For searches that find a row or two, which joins make by the million.
constexpr size_t kFirstBatch = 8;

struct Check {
  const SqlColumn* column;
  int index;           // of the column; -1: the rowid
  IntegerRange range;  // of values; for texts, of ranks
  bool exact() const { return range.low == range.high; }
};

/// The cells of one column for the rows of a batch; read on first use.
struct BatchColumn {
  std::vector<Cell> cells;
  uint64_t batch = 0;  // the batch to which they belong; 0: none
  bool same = false;   // the first cell applies to all rows
};

struct Cursor : sqlite3_vtab_cursor {
  const SqlTable* table = nullptr;
  // Owned by SQLite for the statement: the same pointer means the same plan.
  const char* plan_text = nullptr;
  AccessPlan plan;

  const RowOrder* order = nullptr;  // nullptr: rows in their own order
  uint64_t begin = 0;               // positions [begin, end) of the order, or rows
  uint64_t end = 0;
  uint64_t place = 0;        // the next position to add to a batch
  uint64_t batch_place = 0;  // the first position of the batch
  bool backwards = false;
  std::vector<Check> checks;

  std::vector<uint64_t> rows;  // rows of the batch that pass the checks
  size_t at = 0;               // index in `rows`
  size_t batch_size = kFirstBatch;
  uint64_t batch = 0;
  std::vector<BatchColumn> columns;
  std::vector<Cell> checked;
  std::vector<uint32_t> ranks;

  void takeRows();
  void check(const Check& check);
  bool readByRuns(size_t column, BatchColumn& c) const;
  /// Continues with the next batch that has a row.
  void fill() {
    at = 0;
    do {
      takeRows();
      for (const Check& c : checks) check(c);
    } while (rows.empty() && place < end);
  }
  const Cell& cell(size_t column) {
    BatchColumn& c = columns[column];
    if (c.batch != batch) [[unlikely]]
      readColumn(column);
    return c.cells[c.same ? 0 : at];
  }
  void readColumn(size_t column);
};

void Cursor::takeRows() {
  ++batch;
  const size_t n = std::min<uint64_t>(batch_size, end - place);
  batch_place = place;
  table->visit(n);
  rows.resize(n);
  for (size_t i = 0; i < n; ++i, ++place) {
    const uint64_t from = backwards ? end - 1 - (place - begin) : place;
    rows[i] = order == nullptr ? from : order->row(from);
  }
  batch_size = std::min(batch_size * 4, kBatch);
  if (!table->mayLackRows()) return;
  std::erase_if(rows, [this](uint64_t row) { return !table->hasRow(row); });
}

/// In an order by a text column, the text is known without reading a row.
bool Cursor::readByRuns(size_t column, BatchColumn& c) const {
  if (order == nullptr || backwards || plan.order_columns.empty()) return false;
  if (column != plan.order_columns[0] || rows.size() != place - batch_place) return false;
  for (size_t i = 0; i < rows.size();) {
    const auto [rank, run_end] = order->run(batch_place + i);
    if (run_end <= batch_place + i) return false;
    const Cell text = table->column(column).textOfRank(rank);
    const size_t until = std::min<uint64_t>(rows.size(), run_end - batch_place);
    c.same = i == 0 && until == rows.size();
    if (c.same) {
      c.cells[0] = text;
      return true;
    }
    while (i < until) c.cells[i++] = text;
  }
  return true;
}

void Cursor::readColumn(size_t column) {
  BatchColumn& c = columns[column];
  if (c.cells.size() < rows.size()) c.cells.resize(batch_size);
  c.same = false;
  if (!readByRuns(column, c)) table->column(column).read(rows.data(), rows.size(), c.cells.data());
  c.batch = batch;
}

void Cursor::check(const Check& check) {
  const size_t n = rows.size();
  size_t kept = 0;
  if (check.column->role() == ColumnRole::kText) {
    ranks.resize(std::max(ranks.size(), n));
    check.column->ranks(rows.data(), n, ranks.data());
    for (size_t i = 0; i < n; ++i) {
      const bool in = ranks[i] >= check.range.low && ranks[i] <= check.range.high;
      rows[kept] = rows[i];
      kept += in ? 1 : 0;
    }
  } else {
    checked.resize(std::max(checked.size(), n));
    check.column->read(rows.data(), n, checked.data());
    for (size_t i = 0; i < n; ++i) {
      const Cell& c = checked[i];
      // Values above 2^63 - 1 are greater than every bound.
      const bool in = c.type == ValueType::kInteger
                          ? c.integer >= check.range.low && c.integer <= check.range.high
                          : c.type == ValueType::kLarge && check.range.open();
      rows[kept] = rows[i];
      kept += in ? 1 : 0;
    }
  }
  rows.resize(kept);
}

int connect(sqlite3* db, void* aux, int, const char* const*, sqlite3_vtab** out, char** error) {
  try {
    const auto* table = static_cast<const SqlTable*>(aux);
    std::string sql = "CREATE TABLE x(";
    for (const auto& column : table->columns()) {
      if (sql.back() != '(') sql += ", ";
      sql += "\"" + column->name() + "\" " + column->type();
      if (column->hidden()) sql += " HIDDEN";
      if (column->neverNull()) sql += " NOT NULL";
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

void takeRange(Cursor& c, const std::vector<size_t>& columns, const IntegerRange& range) {
  const RowOrder& order = c.table->order(columns);
  std::tie(c.begin, c.end) = order.range(c.table->column(columns[0]), range.low, range.high);
  c.order = order.isIdentity() ? nullptr : &order;
}

/// Finds the rows of `range` if that costs less than scanning all rows.
void search(Cursor& c, const Check& check) {
  const SqlTable& table = *c.table;
  const ColumnRole role = check.column->role();
  const IntegerRange& range = check.range;
  if (role == ColumnRole::kRow || role == ColumnRole::kRowId) {
    const int64_t first = role == ColumnRole::kRow ? 0 : 1;  // value of the first row
    const auto rows = static_cast<int64_t>(table.rows());
    const int64_t low = std::clamp<int64_t>(range.low, first, first + rows);
    const int64_t high = std::clamp<int64_t>(range.high, low - 1, first + rows - 1);
    c.begin = static_cast<uint64_t>(low - first);
    c.end = static_cast<uint64_t>(high - first + 1);
    return;
  }
  if (table.rows() > RowOrder::kMaxRows) return;
  const auto column = static_cast<size_t>(check.index);
  const bool text = role == ColumnRole::kText;
  if (!table.hasOrder(column) && (text || !table.isSorted(column))) {
    // Computing the order pays from the second search on; the first one may be the only one.
    if (table.rows() < 64 || table.countSearch(column) < 2) return;
  }
  takeRange(c, {column}, range);
}

/// Narrows `range` by a condition; false if SQLite itself must evaluate it.
bool narrowBy(IntegerRange& range, const SqlColumn& column, int op, sqlite3_value* value) {
  if (column.role() != ColumnRole::kText) return narrow(range, op, value);
  if (sqlite3_value_type(value) == SQLITE_NULL) {
    range = {1, 0};
    return true;
  }
  if (sqlite3_value_type(value) != SQLITE_TEXT) return false;
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  const auto bytes = static_cast<size_t>(sqlite3_value_bytes(value));
  const std::optional<uint32_t> rank = column.rankOf({text == nullptr ? "" : text, bytes});
  if (!rank || *rank < range.low || *rank > range.high) {
    range = {1, 0};
  } else {
    range = {*rank, *rank};
  }
  return true;
}

/// Converts the conditions to checks; false if no row can satisfy them.
bool makeChecks(Cursor& c, int argc, sqlite3_value** argv) {
  c.checks.clear();
  for (int i = 0; i < argc; ++i) {
    const AccessPlan::Condition& condition = c.plan.conditions[static_cast<size_t>(i)];
    auto it = std::find_if(c.checks.begin(), c.checks.end(),
                           [&](const Check& check) { return check.index == condition.column; });
    IntegerRange range = it == c.checks.end() ? IntegerRange{} : it->range;
    const SqlColumn& column = c.table->columnOrRowId(condition.column);
    if (!narrowBy(range, column, condition.op, argv[i])) continue;
    if (range.empty()) return false;
    if (it != c.checks.end()) {
      it->range = range;
    } else {
      c.checks.push_back({&column, condition.column, range});
    }
  }
  return true;
}

const Check* findCheck(const Cursor& c, int column) {
  const auto it = std::find_if(c.checks.begin(), c.checks.end(),
                               [&](const Check& check) { return check.index == column; });
  return it == c.checks.end() ? nullptr : &*it;
}

void start(Cursor& c, int argc, sqlite3_value** argv) {
  const SqlTable& table = *c.table;
  c.order = nullptr;
  c.begin = c.end = c.place = 0;
  c.rows.clear();
  c.at = 0;
  c.batch_size = kFirstBatch;
  c.columns.resize(table.columns().size());
  c.backwards = c.plan.order == AccessPlan::Order::kDescending;
  if (!makeChecks(c, argc, argv)) return;
  c.end = table.rows();
  if (c.plan.order != AccessPlan::Order::kNone) {
    const Check* own = findCheck(c, static_cast<int>(c.plan.order_columns[0]));
    if (own != nullptr) {
      takeRange(c, c.plan.order_columns, own->range);
    } else {
      const RowOrder& order = table.order(c.plan.order_columns);
      c.order = order.isIdentity() ? nullptr : &order;
    }
  } else if (c.plan.lead >= 0) {
    // The most selective condition leads; the others are checked row by row.
    const auto& condition = c.plan.conditions[static_cast<size_t>(c.plan.lead)];
    const Check* lead = findCheck(c, condition.column);
    if (lead == nullptr && !c.checks.empty()) lead = &c.checks.front();
    if (lead != nullptr) search(c, *lead);
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
    c.fill();
    return SQLITE_OK;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

int next(sqlite3_vtab_cursor* cursor) {
  auto& c = *static_cast<Cursor*>(cursor);
  if (++c.at < c.rows.size()) return SQLITE_OK;
  try {
    c.fill();
    return SQLITE_OK;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

int eof(sqlite3_vtab_cursor* cursor) {
  const auto& c = *static_cast<const Cursor*>(cursor);
  return c.at >= c.rows.size() ? 1 : 0;
}

/// Handles rare kinds of cells, outside cell(), which runs for every cell.
int rareCell(sqlite3_context* context, const Cell& v) {
  if (v.type == ValueType::kReal) {
    sqlite3_result_double(context, v.real);
  } else if (v.type == ValueType::kLarge) {
    const fmt::format_int digits(static_cast<uint64_t>(v.integer));
    sqlite3_result_text64(context, digits.data(), digits.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  return SQLITE_OK;  // NULL is the default result
}

int cell(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int i) {
  auto& c = *static_cast<Cursor*>(cursor);
  try {
    const Cell& v = c.cell(static_cast<size_t>(i));
    if (v.type == ValueType::kInteger) {
      sqlite3_result_int64(context, v.integer);
    } else if (v.type == ValueType::kText) {
      // Static: the texts of a trace do not move as long as it lives.
      sqlite3_result_text64(context, v.bytes == 0 ? "" : v.text, v.bytes, SQLITE_STATIC,
                            SQLITE_UTF8);
    } else {
      return rareCell(context, v);
    }
    return SQLITE_OK;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

int rowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
  const auto& c = *static_cast<const Cursor*>(cursor);
  *out = static_cast<sqlite3_int64>(c.rows[c.at]);
  return SQLITE_OK;
}

sqlite3_module makeModule() {
  sqlite3_module m{};
  m.iVersion = 1;
  m.xCreate = nullptr;  // eponymous only: CREATE VIRTUAL TABLE cannot use it
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
  // Connects the table once and for all: an authorizer would not allow the declaration of columns.
  const std::string sql = "SELECT 1 FROM \"" + table.name() + "\"";
  sqlite3_stmt* statement = nullptr;
  const int prepared = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
  sqlite3_finalize(statement);
  if (prepared != SQLITE_OK) return fail(ErrorCode::kInternal, sqlite3_errmsg(db), table.name());
  return {};
}

}  // namespace tracesmith
