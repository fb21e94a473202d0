// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/sqlite/sqlite_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/files/temporary_folder.hpp"

namespace tracesmith::import {
namespace {

constexpr int kLongestValue = 64 << 20;      // bytes; a longer row counts as damage
constexpr uint64_t kSmallestRow = 4;         // minimum bytes of a page that a row takes
constexpr int kStepsAtATime = 100'000;       // SQLite instructions between checks of the budget
constexpr uint64_t kStepsPerByte = 256;      // per byte of the file; real files take 1 to 10
constexpr size_t kMostProbes = 1000;         // for readable rows between damaged parts of a table
constexpr size_t kUnpackBytes = 1u << 20;    // bytes per read
constexpr size_t kHeaderBytes = 100;         // header of an SQLite file
constexpr off_t kPagesOffset = 28;           // offset of the number of pages in the header
constexpr uint64_t kRoomLeft = 64ull << 20;  // disk space to leave free when unpacking

struct StatementEnd {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, StatementEnd>;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool sameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string quotedName(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    out += c;
    if (c == '"') out += c;
  }
  return out += '"';
}

/// `path` as a file: URI.
std::string uriOf(const std::string& path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out = "file:";
  if (path.starts_with("//")) out += "//";  // else the path would start with a host name
#ifdef _WIN32
  if (path.size() > 1 && path[1] == ':') out += "///";  // as SQLite wants a drive
#endif
  for (char c : path) {
#ifdef _WIN32
    if (c == '\\') c = '/';
#endif
    const auto byte = static_cast<uint8_t>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '_' || c == '-';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out + "?mode=ro&immutable=1";
}

/// Size according to the header of an SQLite file; 0: not given.
uint64_t bytesByHeader(std::string_view head) {
  if (head.size() < kHeaderBytes) return 0;
  const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(head[i])); };
  const uint64_t page = byte(16) << 8 | byte(17);
  const uint64_t pages = byte(28) << 24 | byte(29) << 16 | byte(30) << 8 | byte(31);
  return (page == 1 ? 65536 : page) * pages;
}

/// Whether SQLite cannot open the input directly, because it is packed or has no file name.
bool mustBeUnpacked(const ImportInput& input) {
  if (input.place != input.path) return true;
  char head[kSqliteMagic.size()] = {};
  const int fd = ::open(input.place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const ssize_t n = ::pread(fd, head, sizeof head, 0);
  ::close(fd);
  return n != static_cast<ssize_t>(sizeof head) ||
         std::string_view(head, sizeof head) != kSqliteMagic;
}

}  // namespace

int SqliteTable::find(std::string_view column) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (sameName(columns[i], column)) return static_cast<int>(i);
  }
  return -1;
}

void SqliteRow::load() {
  cells_.resize(static_cast<size_t>(sqlite3_column_count(statement_) - first_));
  int column = first_;
  for (Cell& cell : cells_) {
    switch (sqlite3_column_type(statement_, column)) {
      case SQLITE_INTEGER:
        cell = {SqliteType::kInteger, sqlite3_column_int64(statement_, column)};
        break;
      case SQLITE_FLOAT:
        cell.type = SqliteType::kReal;
        break;
      case SQLITE_TEXT:
        cell.type = SqliteType::kText;
        break;
      case SQLITE_BLOB:
        cell.type = SqliteType::kBlob;
        break;
      default:
        cell.type = SqliteType::kNull;
        break;
    }
    ++column;
  }
}

int64_t SqliteRow::integerOf(int column, int64_t otherwise) const {
  switch (type(column)) {
    case SqliteType::kReal: {
      const double value = sqlite3_column_double(statement_, column + first_);
      if (!(value >= -9.2e18 && value <= 9.2e18)) return otherwise;
      const auto whole = static_cast<int64_t>(value);
      return static_cast<double>(whole) == value ? whole : otherwise;
    }
    case SqliteType::kText: {
      const std::string_view text = bytes(column);
      int64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && end == text.data() + text.size() ? value : otherwise;
    }
    default:
      return otherwise;
  }
}

std::optional<int64_t> SqliteRow::wholeNumber(int column) const {
  const int64_t value = integer(column, 0);
  if (value != 0 || integer(column, 1) == 0) return value;
  return std::nullopt;
}

double SqliteRow::real(int column) const {
  const SqliteType kind = type(column);
  if (kind != SqliteType::kReal && kind != SqliteType::kInteger) return 0;
  return sqlite3_column_double(statement_, column + first_);
}

std::string_view SqliteRow::bytes(int column) const {
  const SqliteType kind = type(column);
  const void* data = nullptr;
  if (kind == SqliteType::kText) data = sqlite3_column_text(statement_, column + first_);
  if (kind == SqliteType::kBlob) data = sqlite3_column_blob(statement_, column + first_);
  if (data == nullptr) return {};
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column + first_));
  file_.bytes_read_ += size;
  return {static_cast<const char*>(data), size};
}

SqliteFile::~SqliteFile() { sqlite3_close(db_); }

bool SqliteFile::hasReadTooMuch() const {
  // UTF-16 text grows by half at most when converted, and a column may be read twice.
  return rows_read_ > file_bytes_ / kSmallestRow || bytes_read_ / 6 > file_bytes_ ||
         steps_ / kStepsPerByte > file_bytes_ + kStepsAtATime;
}

int SqliteFile::progress(void* self) {
  auto* const file = static_cast<SqliteFile*>(self);
  file->steps_ += kStepsAtATime;
  return file->hasReadTooMuch() ? 1 : 0;
}

Result<std::unique_ptr<SqliteFile>> SqliteFile::open(const ImportInput& input) {
  if (!input.head.starts_with(kSqliteMagic)) {
    return fail(ErrorCode::kNotATrace, "is not an SQLite database", input.path);
  }
  std::unique_ptr<SqliteFile> file(new SqliteFile);
  const uint64_t claimed = bytesByHeader(input.head);
  struct stat info {};
  if (::stat(input.place.c_str(), &info) != 0)
    return failErrno(errno, "cannot inspect", input.path);
  const bool packed = mustBeUnpacked(input);
  const auto size = static_cast<uint64_t>(info.st_size);
  Status opened;
  if (packed || size < claimed) {
    file->unpacked_ = std::make_unique<TemporaryFile>();
    TemporaryFile& unpacked = *file->unpacked_;
    TS_CHECK_OK(unpacked.create());
    TS_TRY(const std::unique_ptr<ByteSource> source, input.bytes());
    const uint64_t needed = packed ? claimed : size;
    std::error_code unknown;
    const uint64_t room = std::filesystem::space(unpacked.folder(), unknown).available;
    if (!unknown && (needed > room || room - needed < kRoomLeft)) {
      return fail(ErrorCode::kNoSpace,
                  "needs " + std::to_string(needed >> 20) +
                      " MiB of free space to unpack to (set " + kTemporaryFolderVariable +
                      " to a larger disk)",
                  unpacked.folder());
    }
    // Bytes beyond the size in the header do not belong to the database. A file without a size
    // there was written before 2010 and is small.
    const uint64_t limit = claimed != 0 ? claimed : 1ull << 30;
    Bytes piece(kUnpackBytes);
    while (file->file_bytes_ < limit) {
      const Result<size_t> n = source->read(piece);
      if (!n) {
        file->damage_.push_back({.offset = file->file_bytes_, .reason = n.error().message});
        break;
      }
      if (*n == 0) break;
      TS_CHECK_OK(
          unpacked.write(std::span<const uint8_t>(piece).first(*n), "cannot unpack the database"));
      file->file_bytes_ += *n;
    }
    if (file->file_bytes_ < claimed) {
      // SQLite rejects a file that is shorter than its header says. If the size is cleared, SQLite
      // uses the actual length, and references to pages after the end count as damage.
      constexpr std::array<uint8_t, 4> kNothing = {};
      if (::pwrite(unpacked.fd(), kNothing.data(), kNothing.size(), kPagesOffset) !=
          static_cast<ssize_t>(kNothing.size())) {
        return failErrno(errno, "cannot unpack the database", unpacked.folder());
      }
    }
    TS_TRY(const std::string name, unpacked.name());
    opened = file->openAt(name);
  } else {
    file->file_bytes_ = size;
    struct stat journal {};
    if (::stat((input.place + "-wal").c_str(), &journal) == 0 && journal.st_size > 0) {
      file->damage_.push_back(
          {.reason = "rows that are only in its journal " + input.path +
                     "-wal are not read; 'sqlite3 FILE \"pragma wal_checkpoint\"' includes them"});
    }
    opened = file->openAt(input.place);
  }
#ifndef _WIN32
  file->unpacked_.reset();  // where a file may lose its name while it is open
#endif
  if (opened) opened = file->listTables();
  if (!opened) {
    Error error = opened.error();
    error.where = input.path;
    return tl::unexpected<Error>(std::move(error));
  }
  if (claimed > file->file_bytes_ && file->damage_.empty()) {
    file->damage_.push_back({.offset = file->file_bytes_,
                             .bytes = claimed - file->file_bytes_,
                             .reason = "the file ends before the database does"});
  }
  return file;
}

Status SqliteFile::openAt(const std::string& path) {
  const int flags =
      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  const int rc = sqlite3_open_v2(uriOf(path).c_str(), &db_, flags, nullptr);
  if (db_ == nullptr) return fail(ErrorCode::kNoSpace, "not enough memory to open the database");
  if (rc != SQLITE_OK) return fail(ErrorCode::kIo, sqlite3_errmsg(db_));
  for (const auto& [option, value] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                      {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                      {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                      {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}}) {
    sqlite3_db_config(db_, option, value, nullptr);
  }
  sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_limit(db_, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
  sqlite3_limit(db_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db_, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  sqlite3_limit(db_, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_progress_handler(db_, kStepsAtATime, progress, this);
  for (const char* pragma : {"PRAGMA trusted_schema=OFF", "PRAGMA query_only=ON",
                             "PRAGMA cell_size_check=ON", "PRAGMA mmap_size=0"}) {
    sqlite3_exec(db_, pragma, nullptr, nullptr, nullptr);
  }
  return {};
}

Status SqliteFile::listTables() {
  sqlite3_stmt* raw = nullptr;
  // Virtual tables have no pages.
  constexpr const char* kTables =
      "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0";
  if (sqlite3_prepare_v2(db_, kTables, -1, &raw, nullptr) != SQLITE_OK) {
    return fail(ErrorCode::kDamaged,
                std::string("the database's list of tables is damaged: ") + sqlite3_errmsg(db_));
  }
  const Statement names(raw);
  SqliteRow row(*this, raw, 0);
  int rc = SQLITE_ROW;
  while ((rc = sqlite3_step(names.get())) == SQLITE_ROW) {
    if (++rows_read_; hasReadTooMuch()) break;
    row.load();
    const std::string_view name = row.bytes(0);
    // SQLite reserves such names for its own tables.
    if (name.empty() || name.starts_with("sqlite_") || name.find('\0') != name.npos) continue;
    tables_.push_back({.name = std::string(name)});
  }
  if (rc != SQLITE_DONE) {
    damage_.push_back({.reason = std::string("the list of tables cannot be read completely: ") +
                                 sqlite3_errmsg(db_)});
  }
  for (SqliteTable& table : tables_) {
    const std::string sql = "PRAGMA table_xinfo(" + quotedName(table.name) + ")";
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) continue;
    const Statement columns(raw);
    SqliteRow column(*this, raw, 0);
    while (sqlite3_step(columns.get()) == SQLITE_ROW) {
      column.load();
      const std::string_view name = column.bytes(1);
      if (column.integer(6) != 0 || name.find('\0') != name.npos) continue;  // computed, not stored
      table.columns.emplace_back(name);
    }
  }
  std::erase_if(tables_, [](const SqliteTable& table) { return table.columns.empty(); });
  return {};
}

const SqliteTable* SqliteFile::find(std::string_view table) const {
  for (const SqliteTable& t : tables_) {
    if (sameName(t.name, table)) return &t;
  }
  return nullptr;
}

SqliteFile::ScanEnd SqliteFile::walk(const SqliteTable& table, const std::string& sql,
                                     bool with_rowid, ScanState& walk,
                                     const std::function<bool(const SqliteRow&)>& f) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) {
    walk.why = sqlite3_errmsg(db_);
    return ScanEnd::kByDamage;
  }
  const Statement statement(raw);
  SqliteRow row(*this, raw, with_rowid ? 1 : 0);
  int rc = SQLITE_ROW;
  while ((rc = sqlite3_step(raw)) == SQLITE_ROW) {
    ++rows_read_;
    if (hasReadTooMuch()) {
      walk.why = "table " + table.name + " gives more than the file can hold";
      return ScanEnd::kByDamage;
    }
    row.load();
    ++walk.rows;
    if (with_rowid) {
      walk.last_rowid = sqlite3_column_int64(raw, 0);
      if (walk.rows == 1) walk.first_rowid = walk.last_rowid;
    }
    if (!f(row)) return ScanEnd::kByCaller;
  }
  if (rc == SQLITE_DONE) return ScanEnd::kAtEnd;
  walk.why = hasReadTooMuch() ? "table " + table.name + " gives more than the file can hold"
                              : "table " + table.name + ": " + sqlite3_errmsg(db_);
  return ScanEnd::kByDamage;
}

void SqliteFile::scan(const SqliteTable& table, const std::function<bool(const SqliteRow&)>& f) {
  if (hasReadTooMuch()) return;  // already reported
  // A row id name that is not used by a column; tables WITHOUT ROWID have no row id.
  std::string rowid;
  for (const char* name : {"rowid", "_rowid_", "oid"}) {
    if (rowid.empty() && table.find(name) < 0) rowid = name;
  }
  std::string columns;
  for (const std::string& column : table.columns) {
    columns += (columns.empty() ? "" : ", ") + quotedName(column);
  }
  const std::string from = columns + " FROM " + quotedName(table.name) + " NOT INDEXED";
  if (!rowid.empty()) {
    sqlite3_stmt* raw = nullptr;
    const std::string sql = "SELECT " + rowid + " FROM " + quotedName(table.name);
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) rowid.clear();
    sqlite3_finalize(raw);
  }
  const std::string select = "SELECT " + (rowid.empty() ? "" : rowid + ", ") + from;
  ScanState forward;
  if (walk(table, select, !rowid.empty(), forward, f) != ScanEnd::kByDamage) return;
  std::string why = forward.why;
  if (!rowid.empty() && !hasReadTooMuch()) {
    const uint64_t before = rows_read_;
    int64_t last = forward.last_rowid;
    if (!readAfterDamage(table, select, rowid, forward, last, f)) return;
    why += "; rows after number " + std::to_string(forward.last_rowid) + " are lost";
    if (rows_read_ > before) {
      why += ", except for " + std::to_string(rows_read_ - before) + " up to number " +
             std::to_string(last);
    }
  }
  // A table may be scanned again; report its damage only once.
  const bool said = std::any_of(damage_.begin(), damage_.end(),
                                [&](const SourceDamage& d) { return d.reason == why; });
  if (!said) damage_.push_back({.reason = std::move(why)});
}

bool SqliteFile::readAfterDamage(const SqliteTable& table, const std::string& select,
                                 const std::string& rowid, const ScanState& forward, int64_t& last,
                                 const std::function<bool(const SqliteRow&)>& f) {
  const auto rows = [&](const std::string& where, bool backwards, ScanState& got) {
    std::string sql = select;
    if (!where.empty()) sql += " WHERE " + where;
    if (backwards) sql += " ORDER BY " + rowid + " DESC";
    return walk(table, sql, true, got, f);
  };
  const auto above = [&](int64_t number) { return rowid + " > " + std::to_string(number); };
  const auto below = [&](int64_t number) { return rowid + " < " + std::to_string(number); };

  // Read from the other end back to the last damage.
  ScanState backward;
  if (rows(forward.rows > 0 ? above(forward.last_rowid) : "", true, backward) ==
      ScanEnd::kByCaller) {
    return false;
  }
  if (backward.rows == 0) return true;
  last = std::max(last, backward.first_rowid);
  // Then read rows between damaged parts: search for a readable position in doubling steps.
  if (forward.rows == 0) return true;
  const int64_t end = backward.last_rowid;
  int64_t begin = forward.last_rowid;
  uint64_t step = 1;
  for (size_t probes = 0; probes < kMostProbes && !hasReadTooMuch(); ++probes) {
    if (end <= begin || step >= static_cast<uint64_t>(end) - static_cast<uint64_t>(begin)) break;
    const auto from = static_cast<int64_t>(static_cast<uint64_t>(begin) + step);
    ScanState island;
    const ScanEnd ended = rows(above(from) + " AND " + below(end), false, island);
    if (ended == ScanEnd::kByCaller) return false;
    if (island.rows > 0) {
      ScanState shore;
      if (rows(above(begin) + " AND " + below(island.first_rowid), true, shore) ==
          ScanEnd::kByCaller) {
        return false;
      }
      begin = island.last_rowid;
      step = 1;
    } else {
      step *= 2;
    }
    if (ended == ScanEnd::kAtEnd) break;
  }
  return true;
}

bool hasSqliteTables(const ImportInput& input, std::span<const std::string_view> words,
                     const std::function<bool(const SqliteFile&)>& f) {
  if (!input.head.starts_with(kSqliteMagic)) return false;
  const bool named = std::all_of(words.begin(), words.end(), [&](std::string_view word) {
    return input.head.find(word) != std::string::npos;
  });
  if (named && mustBeUnpacked(input)) return true;
  const auto file = SqliteFile::open(input);
  return file && f(**file);
}

}  // namespace tracesmith::import
