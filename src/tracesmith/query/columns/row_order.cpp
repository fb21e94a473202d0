// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/columns/row_order.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "tracesmith/query/columns/parallel_pass.hpp"
#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {
namespace {

constexpr size_t kOrderBlock = 1024;
/// Bits per digit of the radix sort: its counters fit into the first-level cache.
constexpr unsigned kDigitBits = 11;
/// Below this, a comparison sort is faster than clearing the counters.
constexpr uint64_t kFewRows = 1024;

/// Calls f(first row, rows, n) for blocks of all rows.
template <class F>
void forEachBlock(uint64_t rows, F&& f) {
  uint64_t numbers[kOrderBlock];
  for (uint64_t first = 0; first < rows; first += kOrderBlock) {
    const size_t n = std::min<uint64_t>(kOrderBlock, rows - first);
    for (size_t i = 0; i < n; ++i) numbers[i] = first + i;
    f(first, numbers, n);
  }
}

/// A column's sort keys: numbers that sort like the SQL values.
struct Keys {
  std::vector<uint16_t> few;  // used if there are few texts, because less memory is faster to scan
  std::vector<uint32_t> narrow;
  std::vector<uint64_t> wide;
  std::vector<uint32_t> starts;  // for texts: where the rows of each rank start
  uint64_t nulls = 0;
  uint64_t others = 0;  // values that are neither NULL nor an integer
  uint64_t largest = 0;
  bool sorted = true;
};

template <class Key>
void readRanks(const SqlColumn& column, uint64_t rows, std::vector<Key>& out, Keys& keys) {
  out.resize(rows);
  uint32_t block[kOrderBlock];
  uint32_t last = 0;
  forEachBlock(rows, [&](uint64_t first, const uint64_t* numbers, size_t n) {
    column.ranks(numbers, n, block);
    Key* const to = out.data() + first;
    for (size_t i = 0; i < n; ++i) {
      to[i] = static_cast<Key>(block[i]);
      keys.sorted = keys.sorted && block[i] >= last;
      last = block[i];
    }
  });
}

/// Where the rows of each rank start, and the end of the last.
std::vector<uint32_t> startsOf(const SqlColumn& column) {
  std::vector<uint32_t> starts = {0};
  for (const uint32_t rows : column.rowsPerRank()) starts.push_back(starts.back() + rows);
  return starts;
}

/// Sorts by one text column. The number of rows of each text is known, so rows go straight to their
/// positions: those of the first half from the front of their text's range, the others from its
/// end. Empty if the rows are already sorted.
std::vector<uint32_t> sortByText(const SqlColumn& column, uint64_t rows) {
  std::vector<uint32_t> sorted(rows);
  // Computed here, before two threads need the ranks.
  std::vector<uint32_t> fronts = startsOf(column);
  std::vector<uint32_t> ends(fronts.begin() + 1, fronts.end());
  const uint64_t half = rows / 2;
  bool first_lies = true;
  bool second_lies = true;
  const auto forwards = [&] {
    uint32_t block[kOrderBlock];
    forEachBlock(half, [&](uint64_t first, const uint64_t* numbers, size_t n) {
      column.ranks(numbers, n, block);
      for (size_t i = 0; i < n; ++i) {
        const auto row = static_cast<uint32_t>(first + i);
        const uint32_t place = fronts[block[i]]++;
        first_lies = first_lies && place == row;
        sorted[place] = row;
      }
    });
  };
  const auto backwards = [&] {
    uint64_t numbers[kOrderBlock];
    uint32_t block[kOrderBlock];
    for (uint64_t end = rows; end > half;) {
      const size_t n = std::min<uint64_t>(kOrderBlock, end - half);
      end -= n;
      for (size_t i = 0; i < n; ++i) numbers[i] = end + i;
      column.ranks(numbers, n, block);
      for (size_t i = n; i-- > 0;) {
        const auto row = static_cast<uint32_t>(end + i);
        const uint32_t place = --ends[block[i]];
        second_lies = second_lies && place == row;
        sorted[place] = row;
      }
    }
  };
  runInParallel(column.canReadConcurrently(), rows, forwards, backwards);
  if (first_lies && second_lies) sorted.clear();
  return sorted;
}

Keys ranksOf(const SqlColumn& column, uint64_t rows) {
  Keys keys;
  keys.largest = column.largestRank();
  if (keys.largest <= std::numeric_limits<uint16_t>::max()) {
    readRanks(column, rows, keys.few, keys);
  } else {
    readRanks(column, rows, keys.narrow, keys);
  }
  keys.starts = startsOf(column);
  keys.nulls = keys.starts[1];
  return keys;
}

/// Calls f(keys) for the one of the three vectors that is in use.
template <class F>
auto withKeys(const Keys& keys, F&& f) {
  if (!keys.few.empty()) return f(keys.few);
  if (!keys.narrow.empty()) return f(keys.narrow);
  return f(keys.wide);
}

/// The key of NULL is 0, of an integer its distance from the smallest one plus 1; other values
/// follow. `exact` is false if this does not fit into 64 bits (values at both ends of the range);
/// there are then no keys.
Keys valuesOf(const SqlColumn& column, uint64_t rows, bool& exact) {
  Keys keys;
  keys.wide.resize(rows);
  std::vector<Cell> cells(kOrderBlock);
  int64_t low = std::numeric_limits<int64_t>::max();
  int64_t high = std::numeric_limits<int64_t>::min();
  uint64_t least_other = std::numeric_limits<uint64_t>::max();
  uint64_t last_other = 0;
  forEachBlock(rows, [&](uint64_t, const uint64_t* numbers, size_t n) {
    column.read(numbers, n, cells.data());
    for (size_t i = 0; i < n; ++i) {
      if (cells[i].type == ValueType::kNull) {
        ++keys.nulls;
      } else if (cells[i].type == ValueType::kInteger) {
        low = std::min(low, cells[i].integer);
        high = std::max(high, cells[i].integer);
      } else {
        ++keys.others;
        least_other = std::min(least_other, static_cast<uint64_t>(cells[i].integer));
        last_other = std::max(last_other, static_cast<uint64_t>(cells[i].integer));
      }
    }
  });
  const uint64_t integers =
      low > high ? 0 : static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t span_of_others = keys.others == 0 ? 0 : last_other - least_other + 1;
  exact = (low > high || integers != 0) && integers < std::numeric_limits<uint64_t>::max() / 2 &&
          span_of_others < std::numeric_limits<uint64_t>::max() / 2;
  if (!exact) return keys;
  uint64_t last = 0;
  forEachBlock(rows, [&](uint64_t first, const uint64_t* numbers, size_t n) {
    column.read(numbers, n, cells.data());
    for (size_t i = 0; i < n; ++i) {
      uint64_t key = 0;
      if (cells[i].type == ValueType::kInteger) {
        key = static_cast<uint64_t>(cells[i].integer) - static_cast<uint64_t>(low) + 1;
      } else if (cells[i].type != ValueType::kNull) {
        key = integers + 1 + (static_cast<uint64_t>(cells[i].integer) - least_other);
      }
      keys.wide[first + i] = key;
      keys.sorted = keys.sorted && key >= last;
      last = key;
      keys.largest = std::max(keys.largest, key);
    }
  });
  return keys;
}

uint8_t classOf(ValueType type) {
  return type == ValueType::kNull ? 0 : type == ValueType::kInteger ? 1 : 2;
}

void fillWithAll(std::vector<uint32_t>& rows, uint64_t count) {
  rows.resize(count);
  std::iota(rows.begin(), rows.end(), 0u);
}

/// Sorts values so far apart that their distances do not fit into 64 bits.
void sortByComparing(const SqlColumn& column, std::vector<uint32_t>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    const Value x = column.at(a);
    const Value y = column.at(b);
    if (classOf(x.type) != classOf(y.type)) return classOf(x.type) < classOf(y.type);
    if (x.type == ValueType::kLarge) {
      return static_cast<uint64_t>(x.integer) < static_cast<uint64_t>(y.integer);
    }
    return x.integer < y.integer;
  });
}

/// `rows` empty: all rows in their own order.
template <class Key>
void sortByKeys(const std::vector<Key>& keys, uint64_t largest, std::vector<uint32_t>& rows) {
  if (keys.size() < kFewRows) {
    if (rows.empty()) fillWithAll(rows, keys.size());
    std::stable_sort(rows.begin(), rows.end(),
                     [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    return;
  }
  const auto bits = static_cast<unsigned>(std::bit_width(largest));
  // Digits of equal width: 12 bits become two digits of 6.
  const unsigned digits = std::max(1u, (bits + kDigitBits - 1) / kDigitBits);
  const unsigned width = std::max(1u, (bits + digits - 1) / digits);
  const uint64_t mask = (uint64_t{1} << width) - 1;
  std::vector<uint64_t> places(mask + 2);
  std::vector<uint32_t> other;
  for (unsigned shift = 0; shift < bits; shift += width) {
    std::fill(places.begin(), places.end(), 0);
    for (const Key key : keys) ++places[((key >> shift) & mask) + 1];
    for (size_t k = 1; k < places.size(); ++k) places[k] += places[k - 1];
    if (rows.empty()) {
      rows.resize(keys.size());
      for (size_t row = 0; row < keys.size(); ++row) {
        rows[places[(keys[row] >> shift) & mask]++] = static_cast<uint32_t>(row);
      }
    } else {
      other.resize(rows.size());
      for (const uint32_t row : rows) other[places[(keys[row] >> shift) & mask]++] = row;
      rows.swap(other);
    }
  }
}

}  // namespace

RowOrder RowOrder::by(std::span<const SqlColumn* const> columns, uint64_t rows) {
  RowOrder order;
  order.count_ = order.end_integer_ = rows;
  if (columns.size() == 1 && columns[0]->role() == ColumnRole::kText) {
    order.starts_ = startsOf(*columns[0]);
    order.first_integer_ = order.starts_[1];
    order.rows_ = sortByText(*columns[0], rows);
    return order;
  }
  std::vector<uint32_t> sorted;
  // From the last column to the first: a stable sort preserves the order by the later columns.
  for (size_t c = columns.size(); c-- > 0;) {
    const SqlColumn& column = *columns[c];
    const bool text = column.role() == ColumnRole::kText;
    bool exact = true;
    const Keys keys = text ? ranksOf(column, rows) : valuesOf(column, rows, exact);
    if (c == 0) {
      order.first_integer_ = keys.nulls;
      order.end_integer_ = rows - keys.others;
    }
    if (!exact) {
      if (sorted.empty()) fillWithAll(sorted, rows);
      sortByComparing(column, sorted);
    } else {
      withKeys(keys, [&](const auto& all) {
        if (sorted.empty() && keys.sorted) return;
        sortByKeys(all, keys.largest, sorted);
      });
    }
    if (c == 0) order.starts_ = keys.starts;
  }
  order.rows_ = std::move(sorted);
  return order;
}

RowOrder RowOrder::inStorageOrder(uint64_t rows) {
  RowOrder order;
  order.count_ = order.end_integer_ = rows;
  return order;
}

std::pair<uint32_t, uint64_t> RowOrder::run(uint64_t i) const {
  if (starts_.empty() || i >= count_) return {0, 0};
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), i);
  return {static_cast<uint32_t>(next - starts_.begin() - 1),
          next == starts_.end() ? count_ : *next};
}

std::pair<uint64_t, uint64_t> RowOrder::range(const SqlColumn& column, int64_t low,
                                              int64_t high) const {
  if (low > high) return {0, 0};
  if (!starts_.empty() && low == high && low > 0) {
    const auto rank = static_cast<uint64_t>(low);
    if (rank + 1 >= starts_.size()) return {0, 0};
    return {starts_[rank], starts_[rank + 1]};
  }
  const bool text = column.role() == ColumnRole::kText;
  const auto key = [&](uint64_t place) {
    return text ? static_cast<int64_t>(column.rank(row(place))) : column.at(row(place)).integer;
  };
  // The first position in [from, end_integer_) whose value does not satisfy `less`.
  auto firstNot = [&](uint64_t from, auto less) {
    uint64_t count = end_integer_ - from;
    while (count > 0) {
      const uint64_t half = count / 2;
      if (less(key(from + half))) {
        from += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    return from;
  };
  const uint64_t first = firstNot(first_integer_, [&](int64_t v) { return v < low; });
  if (high == std::numeric_limits<int64_t>::max()) return {first, count_};
  const uint64_t last = firstNot(first, [&](int64_t v) { return v <= high; });
  return {first, last};
}

}  // namespace tracesmith
