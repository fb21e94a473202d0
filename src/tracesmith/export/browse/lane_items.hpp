// SPDX-License-Identifier: Apache-2.0
// Rows of a trace as items with times, in 4 bytes for each (5 if they are of several tables).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "tracesmith/state/timeline.hpp"

namespace tracesmith {

/// Rows of one table, in any order.
struct TableRows {
  TableId table{};
  std::vector<uint32_t> rows;
};

/// A sequence of items by number, made when they are looked at. Refers to the columns of times of
/// the trace, which must outlive it and not change; the trace may be moved.
class LaneItems {
 public:
  LaneItems() = default;
  /// By start; of those with the same start, the longest first. Each table occurs at most once.
  LaneItems(const Trace& trace, std::vector<TableRows> tables);

  size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  DeviceSpan operator[](size_t i) const {
    const TableId table = tables_.empty() ? table_ : TableId{tables_[i]};
    const Times& times = times_[static_cast<size_t>(table)];
    const uint32_t row = rows_[i];
    return {times.start_ns[row], endOf(times.start_ns[row], times.duration_ns[row]), table, row};
  }
  DeviceSpan front() const { return (*this)[0]; }
  DeviceSpan back() const { return (*this)[size() - 1]; }

  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = DeviceSpan;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = DeviceSpan;

    Iterator() = default;
    Iterator(const LaneItems* of, size_t at) : of_(of), at_(at) {}
    DeviceSpan operator*() const { return (*of_)[at_]; }
    DeviceSpan operator[](difference_type n) const { return *(*this + n); }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this += -1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this + -1); }
    Iterator& operator+=(difference_type n) {
      at_ += static_cast<size_t>(n);
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator it, difference_type n) { return it += n; }
    friend Iterator operator+(difference_type n, Iterator it) { return it += n; }
    friend Iterator operator-(Iterator it, difference_type n) { return it -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) {
      return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }
    auto operator<=>(const Iterator& other) const { return at_ <=> other.at_; }

   private:
    const LaneItems* of_ = nullptr;
    size_t at_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  /// Parts in the order of the items: item i belongs to part `part_of[i]`, which has `sizes` of it.
  std::vector<LaneItems> parts(std::span<const uint32_t> part_of,
                               std::span<const size_t> sizes) const;

 private:
  void mergeTables(const std::vector<TableRows>& tables);

  static constexpr size_t kMostTables = 48;  // the numbers of tables of events are below
  struct Times {
    const int64_t* start_ns = nullptr;
    const int64_t* duration_ns = nullptr;
  };

  std::vector<uint32_t> rows_;
  std::vector<uint8_t> tables_;  ///< TableId; empty: all are of table_
  TableId table_{};
  std::array<Times, kMostTables> times_{};
};

}  // namespace tracesmith
