// SPDX-License-Identifier: Apache-2.0
// Reads the tables of an untrusted SQLite database. It executes nothing from the file: no view,
// trigger, generated column, virtual table or extension. A corrupt file may form endless loops
// (cycles of pages, say); reading stops when a file has produced more than it can hold. From
// damaged tables it reads the rows before and after the damage.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/import/common/importer.hpp"
#include "tracesmith/import/common/temporary_file.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace tracesmith::import {

/// The first 16 bytes of every SQLite database; the last one is 0.
constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);

enum class SqliteType : uint8_t { kNull, kInteger, kReal, kText, kBlob };

struct SqliteTable {
  std::string name;
  std::vector<std::string> columns;  ///< stored columns only, in table order
  /// Index of `column`, or -1. As in SQL, ASCII letters match in either case.
  int find(std::string_view column) const;
};

class SqliteFile;

/// The current row of a scan. Columns are given by index in the table; -1 reads as NULL.
class SqliteRow {
 public:
  SqliteType type(int column) const {
    return column < 0 ? SqliteType::kNull : cells_[static_cast<size_t>(column)].type;
  }
  /// The value as an integer, also from a real number that is whole or from text of digits; else
  /// `otherwise`.
  int64_t integer(int column, int64_t otherwise = 0) const {
    if (type(column) == SqliteType::kInteger) return cells_[static_cast<size_t>(column)].integer;
    return integerOf(column, otherwise);
  }
  /// The same; nullopt if it is not an integer.
  std::optional<int64_t> wholeNumber(int column) const;
  double real(int column) const;
  /// The text, or the bytes of a blob, valid until the next row; "" for anything else.
  std::string_view bytes(int column) const;

 private:
  friend class SqliteFile;
  SqliteRow(SqliteFile& file, sqlite3_stmt* statement, int first)
      : file_(file), statement_(statement), first_(first) {}
  /// Caches the statement's current row. Most values are integers that are read repeatedly, and
  /// each SQLite call takes a lock.
  void load();
  int64_t integerOf(int column, int64_t otherwise) const;

  struct Cell {
    SqliteType type = SqliteType::kNull;
    int64_t integer = 0;
  };
  SqliteFile& file_;
  sqlite3_stmt* statement_;
  int first_;  // number of statement columns before those of the table
  std::vector<Cell> cells_;
};

class SqliteFile {
 public:
  /// Opens the database of `input`, unpacking it into a temporary file if necessary. Error: it is
  /// not a database, or its list of tables cannot be read.
  static Result<std::unique_ptr<SqliteFile>> open(const ImportInput& input);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  const std::vector<SqliteTable>& tables() const { return tables_; }
  /// nullptr if there is none.
  const SqliteTable* find(std::string_view table) const;
  /// Calls `f` once for each readable row of `table`, until it returns false.
  void scan(const SqliteTable& table, const std::function<bool(const SqliteRow&)>& f);

  uint64_t bytes() const { return file_bytes_; }
  /// Parts that could not be read so far.
  const std::vector<SourceDamage>& damage() const { return damage_; }

 private:
  friend class SqliteRow;
  enum class ScanEnd : uint8_t { kAtEnd, kByCaller, kByDamage };
  struct ScanState {
    uint64_t rows = 0;
    int64_t first_rowid = 0;
    int64_t last_rowid = 0;
    std::string why;  ///< reason, for kByDamage
  };
  SqliteFile() = default;
  Result<std::string> unpack(const ImportInput& input);
  Status openAt(const std::string& path);
  Status listTables();
  ScanEnd walk(const SqliteTable& table, const std::string& sql, bool with_rowid, ScanState& walk,
               const std::function<bool(const SqliteRow&)>& f);
  /// Reads the rows after the damage that ended `forward`. `last`: highest row id of these. Returns
  /// false if `f` ended the scan.
  bool readAfterDamage(const SqliteTable& table, const std::string& select,
                       const std::string& rowid, const ScanState& forward, int64_t& last,
                       const std::function<bool(const SqliteRow&)>& f);
  /// Whether more data has been read than the file can hold.
  bool hasReadTooMuch() const;
  static int progress(void* self);

  std::unique_ptr<TemporaryFile> unpacked_;  // removed after db_ is closed
  sqlite3* db_ = nullptr;
  std::vector<SqliteTable> tables_;
  std::vector<SourceDamage> damage_;
  uint64_t file_bytes_ = 0;
  uint64_t rows_read_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t steps_ = 0;
};

/// Whether `input` is an SQLite database with a table that `f` accepts. A packed file is only
/// unpacked if its first bytes contain all of `words`.
bool hasSqliteTables(const ImportInput& input, std::span<const std::string_view> words,
                     const std::function<bool(const SqliteFile&)>& f);

}  // namespace tracesmith::import
