// SPDX-License-Identifier: Apache-2.0
// An SQLite database that anybody may have made, read as what it is: tables with rows. Nothing of
// the file is executed: no view, trigger, generated column, virtual table or extension. A file that
// lies about itself (pages in circles, endless chains) is left where it has given more than it can
// hold; damaged tables give the rows before and behind their damage.
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

struct sqlite3;
struct sqlite3_stmt;

namespace tracesmith::import {

/// Beginning of every SQLite database, with the byte 0 behind it.
constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);

enum class SqliteType : uint8_t { kNull, kInteger, kReal, kText, kBlob };

struct SqliteTable {
  std::string name;
  std::vector<std::string> columns;  ///< those that are stored, in the order of the table
  /// Place of `column`, or -1. As in SQL, A to Z read as a to z.
  int find(std::string_view column) const;
};

class SqliteFile;

/// The row that a scan is at. Columns by their place in the table; -1 reads as NULL.
class SqliteRow {
 public:
  SqliteType type(int column) const {
    return column < 0 ? SqliteType::kNull : cells_[static_cast<size_t>(column)].type;
  }
  /// An integer; a real number that is one, or text of digits, as well; else `otherwise`.
  int64_t integer(int column, int64_t otherwise = 0) const {
    if (type(column) == SqliteType::kInteger) return cells_[static_cast<size_t>(column)].integer;
    return integerOf(column, otherwise);
  }
  /// The same; nullopt where there is none.
  std::optional<int64_t> wholeNumber(int column) const;
  double real(int column) const;
  /// Text, or the bytes of a blob; valid until the next row. "" for anything else.
  std::string_view bytes(int column) const;

 private:
  friend class SqliteFile;
  SqliteRow(SqliteFile& file, sqlite3_stmt* statement, int first)
      : file_(file), statement_(statement), first_(first) {}
  /// Takes what the statement has come to: most values are integers that are asked for repeatedly,
  /// and each question to SQLite takes a lock.
  void load();
  int64_t integerOf(int column, int64_t otherwise) const;

  struct Cell {
    SqliteType type = SqliteType::kNull;
    int64_t integer = 0;
  };
  SqliteFile& file_;
  sqlite3_stmt* statement_;
  int first_;  // columns of the statement before those of the table
  std::vector<Cell> cells_;
};

class SqliteFile {
 public:
  /// The database of `input`; a packed one is unpacked into a temporary file. Error: it is none, or
  /// its list of tables cannot be read.
  static Result<std::unique_ptr<SqliteFile>> open(const ImportInput& input);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  const std::vector<SqliteTable>& tables() const { return tables_; }
  /// nullptr: there is none.
  const SqliteTable* find(std::string_view table) const;
  /// Every row of `table` that can be read, once; `f` returns false to end it.
  void scan(const SqliteTable& table, const std::function<bool(const SqliteRow&)>& f);

  uint64_t bytes() const { return file_bytes_; }
  /// What could not be read so far.
  const std::vector<SourceDamage>& damage() const { return damage_; }

 private:
  friend class SqliteRow;
  enum class Ended : uint8_t { kAtEnd, kByCaller, kByDamage };
  struct Walk {
    uint64_t rows = 0;
    int64_t first_rowid = 0;
    int64_t last_rowid = 0;
    std::string why;  ///< of kByDamage
  };
  SqliteFile() = default;
  Result<std::string> unpack(const ImportInput& input);
  Status openAt(const std::string& path);
  Status listTables();
  Ended walk(const SqliteTable& table, const std::string& sql, bool with_rowid, Walk& walk,
             const std::function<bool(const SqliteRow&)>& f);
  /// Rows behind the damage at which `forward` ended; `last`: the highest number of them. False: f
  /// has ended it.
  bool readBehind(const SqliteTable& table, const std::string& select, const std::string& rowid,
                  const Walk& forward, int64_t& last,
                  const std::function<bool(const SqliteRow&)>& f);
  /// Whether more has been read than the file can hold.
  bool overdrawn() const;
  static int progress(void* self);

  sqlite3* db_ = nullptr;
  std::vector<SqliteTable> tables_;
  std::vector<SourceDamage> damage_;
  uint64_t file_bytes_ = 0;
  uint64_t rows_read_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t steps_ = 0;
};

/// Whether `input` is an SQLite database with a table that `f` accepts. Of a packed file the names
/// are looked for in its head (`words`, all of them) before it is unpacked.
bool hasSqliteTables(const ImportInput& input, std::span<const std::string_view> words,
                     const std::function<bool(const SqliteFile&)>& f);

}  // namespace tracesmith::import
