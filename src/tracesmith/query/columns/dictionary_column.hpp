// SPDX-License-Identifier: Apache-2.0
// A column of numbered texts: each row has the number of its text. Sorting, grouping and comparing
// use the numbers, so each text is examined once, however many rows have it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

class DictionaryColumn : public SqlColumn {
 public:
  /// `table` is the table of this column.
  DictionaryColumn(std::string name, std::string meaning, const SqlTable& table)
      : SqlColumn(std::move(name), "TEXT", ColumnRole::kText, std::move(meaning)), table_(table) {}

  Value at(uint64_t row) const final;
  void read(const uint64_t* rows, size_t n, Cell* out) const final;
  uint32_t rank(uint64_t row) const final;
  void ranks(const uint64_t* rows, size_t n, uint32_t* out) const final;
  uint32_t largestRank() const final;
  std::span<const uint32_t> rowsPerRank() const final;
  Cell textOfRank(uint32_t rank) const final;
  std::optional<uint32_t> rankOf(std::string_view text) const final;

 protected:
  /// Texts have the numbers 1 to count(); two numbers may have equal texts.
  virtual uint32_t count() const = 0;
  virtual std::string_view textOf(uint32_t number) const = 0;
  /// The numbers of the rows' texts; 0 or above count(): NULL.
  virtual void numbers(const uint64_t* rows, size_t n, uint32_t* out) const = 0;

 private:
  /// Ranks the texts that occur in rows. Done on first use: many texts of a trace are in no row.
  void rankTexts() const;

  const SqlTable& table_;
  mutable std::vector<uint32_t> ranks_;     // by number, from 0
  mutable std::vector<uint32_t> per_rank_;  // number of rows
  mutable std::vector<uint32_t> sorted_;    // numbers sorted by text, each text once
};

}  // namespace tracesmith
