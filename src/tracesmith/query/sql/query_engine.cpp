// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/sql/query_engine.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "tracesmith/query/catalog/catalog.hpp"
#include "tracesmith/query/catalog/views.hpp"
#include "tracesmith/query/sql/sql_error.hpp"
#include "tracesmith/query/sql/sql_functions.hpp"
#include "tracesmith/query/sql/virtual_table.hpp"

namespace tracesmith {
namespace {

constexpr int kStepsBetweenAsking = 4000;
/// Maximum size of a text or blob in a query: zeroblob() and replace() could fill the memory.
constexpr int kMaxValueBytes = 64 << 20;
constexpr int kMaxSqlBytes = 1 << 20;

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

/// Allows reading and denies everything else: ATTACH, PRAGMA, writes, extensions.
int authorize(void*, int action, const char*, const char* detail, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return detail != nullptr && sqlite3_stricmp(detail, "load_extension") == 0 ? SQLITE_DENY
                                                                                 : SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

int askCancelled(void* options) {
  return static_cast<const QueryOptions*>(options)->cancelled() ? 1 : 0;
}

Value valueAt(sqlite3_stmt* statement, int i) {
  switch (sqlite3_column_type(statement, i)) {
    case SQLITE_INTEGER:
      return Value::ofInteger(sqlite3_column_int64(statement, i));
    case SQLITE_FLOAT:
      return Value::ofReal(sqlite3_column_double(statement, i));
    case SQLITE_TEXT:
    case SQLITE_BLOB: {
      const void* data = sqlite3_column_blob(statement, i);
      const auto bytes = static_cast<size_t>(sqlite3_column_bytes(statement, i));
      return Value::ofText(data == nullptr
                               ? std::string_view("")
                               : std::string_view(static_cast<const char*>(data), bytes));
    }
    default:
      return {};
  }
}

bool onlyBlanksAndComments(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == ';') {
      ++i;
    } else if (text.substr(i, 2) == "--") {
      const size_t end = text.find('\n', i);
      i = end == std::string_view::npos ? text.size() : end + 1;
    } else if (text.substr(i, 2) == "/*") {
      const size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

struct QueryEngine::Impl {
  Impl(const Trace& trace, SourceOfRow source_of_row)
      : source(std::move(source_of_row)), catalog(trace) {}

  SourceOfRow source;
  Catalog catalog;  // before db, whose tables refer to it
  Database db;

  tl::unexpected<Error> failed(std::string_view sql, int rc) const {
    const int extended = rc & 0xff;
    const char* message = sqlite3_errmsg(db.get());
    if (extended == SQLITE_AUTH) {
      return fail(ErrorCode::kPermission, std::string("a query can only read: ") + message +
                                              "; use SELECT, WITH or VALUES");
    }
    if (extended == SQLITE_INTERRUPT) return fail(ErrorCode::kUnsupported, "interrupted");
    if (extended == SQLITE_NOMEM) return fail(ErrorCode::kNoSpace, "the query needs more memory");
    if (extended == SQLITE_TOOBIG) {
      return fail(ErrorCode::kNoSpace, "a value of the query is larger than 64 MiB");
    }
    if (extended == SQLITE_FULL || extended == SQLITE_IOERR) {
      return fail(
          ErrorCode::kNoSpace,
          std::string("sorting needs room for temporary files (see SQLITE_TMPDIR): ") + message);
    }
    return fail(ErrorCode::kInvalidArgument,
                explainSqlError(catalog, sql, message, sqlite3_error_offset(db.get())));
  }
};

QueryEngine::QueryEngine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
QueryEngine::QueryEngine(QueryEngine&&) noexcept = default;
QueryEngine& QueryEngine::operator=(QueryEngine&&) noexcept = default;
QueryEngine::~QueryEngine() = default;

bool QueryEngine::endsStatement(const std::string& sql) {
  return sqlite3_complete(sql.c_str()) != 0;
}

const Catalog& QueryEngine::catalog() const { return impl_->catalog; }

std::vector<std::string> QueryEngine::functions() const {
  sqlite3* db = impl_->db.get();
  std::vector<std::string> names;
  sqlite3_set_authorizer(db, nullptr, nullptr);  // queries of users cannot read pragmas
  sqlite3_exec(
      db,
      "SELECT DISTINCT name FROM pragma_function_list WHERE name GLOB '[a-z]*' AND name != "
      "'load_extension' ORDER BY name",
      [](void* to, int, char** values, char**) {
        static_cast<std::vector<std::string>*>(to)->emplace_back(values[0]);
        return 0;
      },
      &names, nullptr);
  sqlite3_set_authorizer(db, authorize, nullptr);
  return names;
}

Result<QueryEngine> QueryEngine::open(const Trace& trace, SourceOfRow source) {
  auto impl = std::make_unique<Impl>(trace, std::move(source));
  sqlite3* db = nullptr;
  const int rc =
      sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  impl->db.reset(db);
  if (rc != SQLITE_OK) {
    return fail(ErrorCode::kInternal, std::string("cannot start SQLite: ") + sqlite3_errstr(rc));
  }
  sqlite3_extended_result_codes(db, 1);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // "name" is a column and 'name' a text. SQLite's leniency would turn a misspelt column into a
  // text.
  sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, kMaxSqlBytes);
  for (const auto& table : impl->catalog.tables()) TS_CHECK_OK(registerVirtualTable(db, *table));
  TS_CHECK_OK(registerSqlFunctions(db));
  TS_CHECK_OK(registerSourceJson(db, impl->source));
  TS_CHECK_OK(registerViews(db));
  sqlite3_exec(db, "PRAGMA query_only = 1", nullptr, nullptr, nullptr);
  sqlite3_set_authorizer(db, authorize, nullptr);
  return QueryEngine(std::move(impl));
}

struct QueryCursor::Impl {
  Impl(QueryEngine::Impl& of, std::string_view text, const QueryOptions& given)
      : engine(of), sql(text), options(given) {}

  /// Makes SQLite ask, while it works, whether to continue.
  class Asking {
   public:
    explicit Asking(Impl& cursor) : db_(cursor.engine.db.get()) {
      const bool asks = static_cast<bool>(cursor.options.cancelled);
      sqlite3_progress_handler(db_, asks ? kStepsBetweenAsking : 0, asks ? askCancelled : nullptr,
                               &cursor.options);
    }
    ~Asking() { sqlite3_progress_handler(db_, 0, nullptr, nullptr); }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

   private:
    sqlite3* db_;
  };

  QueryEngine::Impl& engine;
  std::string sql;
  QueryOptions options;
  Statement statement;
  std::vector<QueryColumn> columns;
  std::vector<Value> row;
  bool ended = false;
};

QueryCursor::QueryCursor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
QueryCursor::QueryCursor(QueryCursor&&) noexcept = default;
QueryCursor& QueryCursor::operator=(QueryCursor&&) noexcept = default;
QueryCursor::~QueryCursor() = default;

const std::vector<QueryColumn>& QueryCursor::columns() const { return impl_->columns; }
std::span<const Value> QueryCursor::row() const { return impl_->row; }

Result<bool> QueryCursor::next() {
  Impl& c = *impl_;
  if (c.ended) return false;
  const Impl::Asking asking(c);
  const int rc = sqlite3_step(c.statement.get());
  if (rc != SQLITE_ROW) {
    c.ended = true;
    if (rc == SQLITE_DONE) return false;
    return c.engine.failed(c.sql, rc);
  }
  for (size_t i = 0; i < c.row.size(); ++i) {
    c.row[i] = valueAt(c.statement.get(), static_cast<int>(i));
  }
  return true;
}

Result<QueryCursor> QueryEngine::start(std::string_view sql, const QueryOptions& options) {
  sqlite3* db = impl_->db.get();
  if (sql.size() > kMaxSqlBytes) {
    return fail(ErrorCode::kInvalidArgument, "the query is longer than 1 MiB");
  }
  if (onlyBlanksAndComments(sql)) {
    return fail(ErrorCode::kInvalidArgument, "the query is empty; try \"SELECT * FROM schema\"");
  }
  const size_t zero = sql.find('\0');  // SQLite would end the text there
  if (zero != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, "the query contains a zero byte");
  }
  auto cursor = std::make_unique<QueryCursor::Impl>(*impl_, sql, options);
  // Set before preparing, because planning may have to scan a column.
  const QueryCursor::Impl::Asking asking(*cursor);
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  const int prepared =
      sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &raw, &tail);
  cursor->statement.reset(raw);
  if (prepared != SQLITE_OK) return impl_->failed(sql, prepared);
  const std::string_view rest = sql.substr(static_cast<size_t>(tail - sql.data()));
  if (!onlyBlanksAndComments(rest)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("one statement at a time; a second one starts at column {}",
                            sql.size() - rest.size() + 1));
  }
  // EXPLAIN of a SELECT only reads too, but it shows SQLite's internals.
  if (sqlite3_stmt_isexplain(raw) != 0 || sqlite3_stmt_readonly(raw) == 0 ||
      sqlite3_column_count(raw) == 0) {
    return fail(ErrorCode::kPermission, "a query can only read: SELECT, WITH and VALUES");
  }
  const int count = sqlite3_column_count(raw);
  for (int i = 0; i < count; ++i) {
    const char* name = sqlite3_column_name(raw, i);
    const char* type = sqlite3_column_decltype(raw, i);
    cursor->columns.push_back({name == nullptr ? "" : name, type == nullptr ? "" : type});
  }
  cursor->row.resize(static_cast<size_t>(count));
  return QueryCursor(std::move(cursor));
}

Result<uint64_t> QueryEngine::run(std::string_view sql, const QuerySink& sink,
                                  const QueryOptions& options) {
  TS_TRY(QueryCursor cursor, start(sql, options));
  if (sink.columns) sink.columns(cursor.columns());
  uint64_t rows = 0;
  while (true) {
    TS_TRY(const bool any, cursor.next());
    if (!any) return rows;
    ++rows;
    if (sink.row && !sink.row(cursor.row())) return rows;
  }
}

Result<QueryResult> QueryEngine::run(std::string_view sql, const QueryOptions& options) {
  QueryResult result;
  QuerySink sink;
  sink.columns = [&](std::span<const QueryColumn> columns) {
    result.columns.assign(columns.begin(), columns.end());
  };
  sink.row = [&](std::span<const Value> values) {
    std::vector<QueryResult::Cell>& row = result.rows.emplace_back();
    for (const Value& v : values) {
      row.push_back({v.type, v.integer, v.real, std::string(v.text)});
    }
    return true;
  };
  TS_TRY(const uint64_t rows, run(sql, sink, options));
  (void)rows;
  return result;
}

void limitQueryMemory(uint64_t bytes) {
  sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(bytes));
}

}  // namespace tracesmith
