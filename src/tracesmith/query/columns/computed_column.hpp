// SPDX-License-Identifier: Apache-2.0
// A column whose cells are computed by a function of the row number.
#pragma once

#include <string>
#include <utility>

#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

template <class F>
class ComputedColumn final : public SqlColumn {
 public:
  ComputedColumn(std::string name, const char* type, ColumnRole role, std::string meaning, F f)
      : SqlColumn(std::move(name), type, role, std::move(meaning)), f_(std::move(f)) {}
  Value at(uint64_t row) const override { return f_(row); }
  void read(const uint64_t* rows, size_t n, Cell* out) const override {
    for (size_t i = 0; i < n; ++i) out[i] = Cell::of(f_(rows[i]));
  }

 private:
  F f_;
};

}  // namespace tracesmith
