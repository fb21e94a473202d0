// SPDX-License-Identifier: Apache-2.0
// Columns that read the tables of the schema directly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/query/columns/dictionary_column.hpp"
#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

/// Prefetches the cache lines of rows that will be read soon. Rows in the order of another column
/// are scattered, so the hardware cannot predict them.
template <class T>
void fetchAhead(const Column<T>& column, const uint64_t* rows, size_t i, size_t n) {
  constexpr size_t kAhead = 32;
  if (i + kAhead < n) __builtin_prefetch(&column[rows[i + kAhead]]);
}

/// A column of text ids.
class TextColumn final : public DictionaryColumn {
 public:
  TextColumn(std::string name, std::string meaning, const SqlTable& table,
             const StringTable& strings, const Column<StringId>& ids)
      : DictionaryColumn(std::move(name), std::move(meaning), table),
        strings_(strings),
        ids_(ids) {}
  bool canReadConcurrently() const override { return true; }

 protected:
  uint32_t count() const override { return static_cast<uint32_t>(strings_.size()); }
  std::string_view textOf(uint32_t number) const override {
    return strings_.at(static_cast<StringId>(number));
  }
  void numbers(const uint64_t* rows, size_t n, uint32_t* out) const override {
    // Ranking the texts of a column reads all rows in sequence, where prefetching only costs time.
    const bool apart = n > 0 && rows[n - 1] - rows[0] != n - 1;
    for (size_t i = 0; i < n; ++i) {
      if (apart) fetchAhead(ids_, rows, i, n);
      out[i] = static_cast<uint32_t>(ids_[rows[i]]);
    }
  }

 private:
  const StringTable& strings_;
  const Column<StringId>& ids_;
};

/// A column of an enum, shown by name.
template <class E>
class KindColumn final : public DictionaryColumn {
 public:
  KindColumn(std::string name, std::string meaning, const SqlTable& table, const Column<E>& kinds)
      : DictionaryColumn(std::move(name), std::move(meaning), table), kinds_(kinds) {}

 protected:
  uint32_t count() const override { return 256; }
  std::string_view textOf(uint32_t number) const override {
    return toString(static_cast<E>(number - 1));
  }
  void numbers(const uint64_t* rows, size_t n, uint32_t* out) const override {
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(kinds_[rows[i]]) + 1u;
  }

 private:
  const Column<E>& kinds_;
};

template <class T>
Value numberValue(T v) {
  if constexpr (std::is_same_v<T, double>) {
    return Value::ofReal(v);
  } else if constexpr (std::is_enum_v<T>) {
    return Value::ofInteger(static_cast<int64_t>(static_cast<std::underlying_type_t<T>>(v)));
  } else if constexpr (std::is_unsigned_v<T>) {
    return Value::ofUnsigned(v);
  } else {
    return Value::ofInteger(v);
  }
}

/// A column of numbers, unchanged except that values meaning "none" are NULL. Device work without
/// device times has no duration; the `flags` column of its table tells.
template <class T>
class NumberColumn final : public SqlColumn {
 public:
  NumberColumn(std::string name, ColumnRole role, std::string meaning, const Column<T>& values,
               bool zero_is_null, const Column<uint32_t>* flags = nullptr)
      : SqlColumn(std::move(name), std::is_same_v<T, double> ? "REAL" : "INTEGER", role,
                  std::move(meaning)),
        values_(values),
        flags_(flags),
        zero_is_null_(zero_is_null) {}

  RawValues raw() const override {
    if constexpr (std::is_same_v<T, double>) {
      return {values_.data(), 'g'};
    } else if constexpr (sizeof(T) == 8) {
      return {values_.data(), std::is_unsigned_v<T> ? 'L' : 'l'};
    } else {
      static_assert(sizeof(T) == 4);
      return {values_.data(), 'I'};
    }
  }
  bool mayHaveNulls() const override {
    return (flags_ != nullptr && anyFlag()) ||
           (zero_is_null_ && std::find(values_.begin(), values_.end(), T{}) != values_.end());
  }
  Value at(uint64_t row) const override {
    if (zero_is_null_ && values_[row] == T{}) return {};
    if (flags_ != nullptr && ((*flags_)[row] & op_flags::kNoDeviceTime) != 0) return {};
    return numberValue(values_[row]);
  }
  void read(const uint64_t* rows, size_t n, Cell* out) const override {
    for (size_t i = 0; i < n; ++i) {
      fetchAhead(values_, rows, i, n);
      out[i] = zero_is_null_ && values_[rows[i]] == T{} ? Cell{}
                                                        : Cell::of(numberValue(values_[rows[i]]));
    }
    if (flags_ == nullptr || !anyFlag()) return;
    for (size_t i = 0; i < n; ++i) {
      if (((*flags_)[rows[i]] & op_flags::kNoDeviceTime) != 0) out[i] = {};
    }
  }

 private:
  bool anyFlag() const {
    if (!any_flag_) {
      any_flag_ = std::any_of(flags_->begin(), flags_->end(), [](uint32_t flags) {
        return (flags & op_flags::kNoDeviceTime) != 0;
      });
    }
    return *any_flag_;
  }

  const Column<T>& values_;
  const Column<uint32_t>* flags_;
  mutable std::optional<bool> any_flag_;  // determined on first use
  bool zero_is_null_;
};

}  // namespace tracesmith
