// SPDX-License-Identifier: Apache-2.0
// Finds rows of the `attribute` table by the row that they describe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class RowAttributes {
 public:
  RowAttributes() = default;
  explicit RowAttributes(const Trace& trace) : table_(&trace.attribute) {
    rows_.resize(table_->size());
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i] = static_cast<uint32_t>(i);
    std::stable_sort(rows_.begin(), rows_.end(),
                     [this](uint32_t a, uint32_t b) { return keyOf(a) < keyOf(b); });
  }

  /// Numbers of the attribute rows of row `row` of `table`, in file order.
  std::span<const uint32_t> of(TableId table, uint64_t row) const {
    if (rows_.empty()) return {};
    const auto key = std::tuple(static_cast<uint32_t>(table), row);
    const auto first = std::lower_bound(rows_.begin(), rows_.end(), key,
                                        [this](uint32_t a, const auto& k) { return keyOf(a) < k; });
    auto last = first;
    while (last != rows_.end() && keyOf(*last) == key) ++last;
    return {rows_.data() + (first - rows_.begin()), static_cast<size_t>(last - first)};
  }
  /// The display form of the key. A key that starts with '.' is internal and gives "". A user's key
  /// that starts with '.' is stored with the dot doubled (model/event_appender.hpp).
  std::string_view label(const Trace& trace, uint32_t attribute) const {
    std::string_view key = trace.text(table_->key[attribute]);
    if (key.substr(0, 1) != ".") return key;
    key.remove_prefix(1);
    return key.substr(0, 1) == "." ? key : std::string_view{};
  }
  StringId value(uint32_t attribute) const { return table_->value[attribute]; }

 private:
  std::tuple<uint32_t, uint64_t> keyOf(uint32_t i) const {
    return {table_->table[i], table_->row_number[i]};
  }
  const AttributeTable* table_ = nullptr;
  std::vector<uint32_t> rows_;
};

}  // namespace tracesmith
