// SPDX-License-Identifier: Apache-2.0
// A table as SQL sees it: columns computed row by row from the columns of a Trace. Nothing is
// copied, and unused columns are never computed.
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

/// How a column can be searched.
enum class ColumnRole : uint8_t {
  kPlain,      ///< can only be read
  kRow,        ///< the row's number, SQL's rowid: found without searching
  kRowId,      ///< the row's number plus one: found without searching
  kReference,  ///< an id of another table, a correlation id or a time: a row order is useful
  kText,       ///< a text of a dictionary: sorted by rank(), without reading texts
};

/// Contiguous values in memory.
struct RawValues {
  const void* data = nullptr;  ///< nullptr: the values are computed
  char format = 0;             ///< type of a value in Arrow's notation: i I l L g
};

class SqlColumn {
 public:
  SqlColumn(std::string name, std::string type, ColumnRole role, std::string meaning)
      : name_(std::move(name)), type_(std::move(type)), meaning_(std::move(meaning)), role_(role) {}
  virtual ~SqlColumn() = default;
  SqlColumn(const SqlColumn&) = delete;
  SqlColumn& operator=(const SqlColumn&) = delete;

  virtual Value at(uint64_t row) const = 0;
  /// The cells of `n` rows: the same as at(), but much cheaper per row.
  virtual void read(const uint64_t* rows, size_t n, Cell* out) const {
    for (size_t i = 0; i < n; ++i) out[i] = Cell::of(at(rows[i]));
  }
  /// The column's values in memory, including those that mean NULL.
  virtual RawValues raw() const { return {}; }
  /// False if it is quickly known that no row is NULL.
  virtual bool mayHaveNulls() const { return !never_null_; }
  /// For ColumnRole::kText: small numbers that compare like the texts; 0: NULL.
  virtual uint32_t rank(uint64_t) const { return 0; }
  virtual void ranks(const uint64_t* rows, size_t n, uint32_t* out) const {
    for (size_t i = 0; i < n; ++i) out[i] = rank(rows[i]);
  }
  virtual uint32_t largestRank() const { return 0; }
  /// Whether two threads may read it once it has been ranked, because reading changes nothing.
  virtual bool canReadConcurrently() const { return false; }
  /// Number of rows of each rank, from 0 to the largest.
  virtual std::span<const uint32_t> rowsPerRank() const { return {}; }
  /// The text of a rank; NULL for 0.
  virtual Cell textOfRank(uint32_t) const { return {}; }
  /// The rank of a text; nothing if no row has it.
  virtual std::optional<uint32_t> rankOf(std::string_view) const { return std::nullopt; }

  const std::string& name() const { return name_; }
  const std::string& type() const { return type_; }  ///< INTEGER, REAL or TEXT
  const std::string& meaning() const { return meaning_; }
  ColumnRole role() const { return role_; }
  /// A second name of the id column ("kernel JOIN stream USING (stream_id)"); not in SELECT *.
  bool hidden() const { return hidden_; }
  void hide() { hidden_ = true; }
  /// Whether no row is NULL: SQLite then ends a min() at the first row of an order.
  bool neverNull() const { return never_null_; }
  void setNeverNull(bool never) { never_null_ = never; }
  /// Numbers of the schema's columns, in its table, from which it is computed; empty: it may depend
  /// on anything in the trace.
  const std::vector<uint16_t>& sourceColumns() const { return source_columns_; }
  void setSourceColumns(std::vector<uint16_t> numbers) { source_columns_ = std::move(numbers); }

 private:
  std::string name_;
  std::string type_;
  std::string meaning_;
  ColumnRole role_;
  bool hidden_ = false;
  bool never_null_ = false;
  std::vector<uint16_t> source_columns_;
};

/// SQL's rowid: every table has this column but does not list it.
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
  /// An upper bound of rows() that costs nothing, for query planning.
  uint64_t rowsAtMost() const { return rows_; }
  const std::vector<std::unique_ptr<SqlColumn>>& columns() const { return columns_; }
  const SqlColumn& column(size_t i) const { return *columns_[i]; }
  /// The column that SQLite calls `i`; negative: the rowid.
  const SqlColumn& columnOrRowId(int i) const {
    return i < 0 ? static_cast<const SqlColumn&>(row_id_) : column(static_cast<size_t>(i));
  }
  bool mayLackRows() const { return present_ != nullptr; }
  /// False for a position in a keyed table whose row was lost; SQL does not see it.
  bool hasRow(uint64_t row) const { return present_ == nullptr || present_->at(row).integer != 0; }

  /// The rows sorted by these columns, the first one first (texts by rank()). Computed once, on
  /// first use. Requires rows() <= RowOrder::kMaxRows. [one thread at a time]
  const RowOrder& order(const std::vector<size_t>& columns) const;
  bool hasOrder(size_t i) const { return orders_.count({i}) != 0; }
  /// Whether the rows are already sorted by column `i`. Determined once.
  bool isSorted(size_t i) const;
  /// The cost of queries so far: rows visited, and row orders computed.
  uint64_t rowsVisited() const { return visited_; }
  size_t orderCount() const { return orders_.size(); }
  void visit(uint64_t rows) const { visited_ += rows; }
  /// How often column `i` has been searched, including this time.
  uint32_t countSearch(size_t i) const { return ++searches_[i]; }

  // For code that builds tables.
  void setRows(uint64_t rows) { rows_ = rows; }
  /// For a table whose rows are determined on first use.
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
