// SPDX-License-Identifier: Apache-2.0
// A table as SQL sees it: columns computed, row by row, from the columns of a Trace. Nothing is
// copied; what is not asked for is never computed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/query/columns/row_order.hpp"
#include "tracesmith/query/columns/value.hpp"

namespace tracesmith {

/// What a column is good for besides being read; decides how it is searched.
enum class ColumnRole : uint8_t {
  kPlain,      ///< read only
  kRow,        ///< the row's number itself, SQL's rowid: found without searching
  kRowId,      ///< its value is the row's number plus one: found without searching
  kReference,  ///< an id of another table, a correlation id or a time: worth an order
  kText,       ///< a text of a dictionary: ordered by rank(), without looking at texts
};

/// Values as they lie in memory, one after the other.
struct RawValues {
  const void* data = nullptr;  ///< none: they are computed
  char format = 0;             ///< of one, as Arrow writes it: i I l L g
};

class SqlColumn {
 public:
  SqlColumn(std::string name, std::string type, ColumnRole role, std::string meaning)
      : name_(std::move(name)), type_(std::move(type)), meaning_(std::move(meaning)), role_(role) {}
  virtual ~SqlColumn() = default;
  SqlColumn(const SqlColumn&) = delete;
  SqlColumn& operator=(const SqlColumn&) = delete;

  virtual Value at(uint64_t row) const = 0;
  /// The cells of `n` rows: as at(), for much less per row.
  virtual void read(const uint64_t* rows, size_t n, Cell* out) const {
    for (size_t i = 0; i < n; ++i) out[i] = Cell::of(at(rows[i]));
  }
  /// Where each row has its value in memory, be it one that means NULL.
  virtual RawValues raw() const { return {}; }
  /// False where it is quickly seen that no row is NULL.
  virtual bool mayHaveNulls() const { return !never_null_; }
  /// For ColumnRole::kText: small numbers that are equal, or in order, when the texts are; 0: NULL.
  virtual uint32_t rank(uint64_t) const { return 0; }
  virtual void ranks(const uint64_t* rows, size_t n, uint32_t* out) const {
    for (size_t i = 0; i < n; ++i) out[i] = rank(rows[i]);
  }
  virtual uint32_t largestRank() const { return 0; }
  /// Reading it changes nothing, once it has been ranked: two threads may.
  virtual bool twoMayRead() const { return false; }
  /// How many rows have each rank, from 0 to the largest.
  virtual std::span<const uint32_t> rowsPerRank() const { return {}; }
  /// The text of a rank; NULL for 0.
  virtual Cell textOfRank(uint32_t) const { return {}; }
  /// The rank of a text; none: no row has it.
  virtual std::optional<uint32_t> rankOf(std::string_view) const { return std::nullopt; }

  const std::string& name() const { return name_; }
  const std::string& type() const { return type_; }  ///< INTEGER, REAL or TEXT
  const std::string& meaning() const { return meaning_; }
  ColumnRole role() const { return role_; }
  /// A second name of the id column ("kernel JOIN stream USING (stream_id)"); not in SELECT *.
  bool hidden() const { return hidden_; }
  void hide() { hidden_ = true; }
  /// True where no row is NULL: SQLite then ends a min() at the first row of an order.
  bool neverNull() const { return never_null_; }
  void setNeverNull(bool never) { never_null_ = never; }
  /// The columns of the schema, by number, that it is made of, within its table; empty: any of the
  /// trace.
  const std::vector<uint16_t>& madeOf() const { return made_of_; }
  void setMadeOf(std::vector<uint16_t> numbers) { made_of_ = std::move(numbers); }

 private:
  std::string name_;
  std::string type_;
  std::string meaning_;
  ColumnRole role_;
  bool hidden_ = false;
  bool never_null_ = false;
  std::vector<uint16_t> made_of_;
};

/// What SQL calls rowid: a column of every table that no table lists.
class RowIdColumn final : public SqlColumn {
 public:
  RowIdColumn() : SqlColumn("rowid", "INTEGER", ColumnRole::kRow, "number of the row, from 0") {}
  Value at(uint64_t row) const override { return Value::ofUnsigned(row); }
};

class SqlTable {
 public:
  SqlTable(std::string name, std::string meaning)
      : name_(std::move(name)), meaning_(std::move(meaning)) {}

  const std::string& name() const { return name_; }
  const std::string& meaning() const { return meaning_; }
  uint64_t rows() const { return count_ ? count_() : rows_; }
  /// For planning, which must not cost anything: never less than rows().
  uint64_t rowsAtMost() const { return rows_; }
  const std::vector<std::unique_ptr<SqlColumn>>& columns() const { return columns_; }
  const SqlColumn& column(size_t i) const { return *columns_[i]; }
  /// The column that SQLite means by `i`: below 0 it is the rowid.
  const SqlColumn& columnOrRowId(int i) const {
    return i < 0 ? static_cast<const SqlColumn&>(row_id_) : column(static_cast<size_t>(i));
  }
  bool mayLackRows() const { return present_ != nullptr; }
  /// False for a place in a keyed table whose row was lost; it is no row to SQL.
  bool hasRow(uint64_t row) const { return present_ == nullptr || present_->at(row).integer != 0; }

  /// The rows in the order of these columns, the first one first (texts by rank()); made once, on
  /// first use. Needs rows() <= RowOrder::kMaxRows. [one thread at a time]
  const RowOrder& order(const std::vector<size_t>& columns) const;
  bool hasOrder(size_t i) const { return orders_.count({i}) != 0; }
  /// True when the rows lie in the order of column `i` already. Looked up once.
  bool liesInOrder(size_t i) const;
  /// What queries cost so far: rows that were looked at, and orders that were made.
  uint64_t rowsVisited() const { return visited_; }
  size_t ordersMade() const { return orders_.size(); }
  void visit(uint64_t rows) const { visited_ += rows; }
  /// How often column `i` was searched, this time included.
  uint32_t countSearch(size_t i) const { return ++searches_[i]; }

  // For those who build tables.
  void setRows(uint64_t rows) { rows_ = rows; }
  /// For a table whose rows are found when they are first asked for.
  void setRows(uint64_t at_most, std::function<uint64_t()> count) {
    rows_ = at_most;
    count_ = std::move(count);
  }
  void add(std::unique_ptr<SqlColumn> column) { columns_.push_back(std::move(column)); }
  void setPresence(const SqlColumn* raw_id) { present_ = raw_id; }
  std::vector<std::unique_ptr<SqlColumn>>& mutableColumns() { return columns_; }

 private:
  std::string name_;
  std::string meaning_;
  uint64_t rows_ = 0;
  std::function<uint64_t()> count_;
  std::vector<std::unique_ptr<SqlColumn>> columns_;
  RowIdColumn row_id_;
  const SqlColumn* present_ = nullptr;
  mutable std::map<std::vector<size_t>, RowOrder> orders_;
  mutable std::map<size_t, bool> in_order_;
  mutable std::map<size_t, uint32_t> searches_;
  mutable uint64_t visited_ = 0;
};

}  // namespace tracesmith
