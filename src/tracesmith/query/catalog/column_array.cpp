// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/catalog/column_array.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "tracesmith/query/columns/parallel_pass.hpp"
#include "tracesmith/query/columns/utf8.hpp"

namespace tracesmith {
namespace {

constexpr size_t kBlock = 1024;

/// The existing rows of a table that has lost some; empty if it has all rows.
std::vector<uint64_t> rowsOfSparse(const SqlTable& table) {
  std::vector<uint64_t> rows;
  if (!table.mayLackRows()) return rows;
  const uint64_t all = table.rows();
  for (uint64_t row = 0; row < all; ++row) {
    if (table.hasRow(row)) rows.push_back(row);
  }
  if (rows.size() == all) rows.clear();
  return rows;
}

/// Calls f(first position, rows, count) for the positions [begin, end).
template <class F>
void inBlocks(const std::vector<uint64_t>& sparse, uint64_t begin, uint64_t end, F&& f) {
  uint64_t rows[kBlock];
  for (uint64_t first = begin; first < end; first += kBlock) {
    const size_t n = std::min<uint64_t>(kBlock, end - first);
    for (size_t i = 0; i < n; ++i) rows[i] = sparse.empty() ? first + i : sparse[first + i];
    f(first, rows, n);
  }
}

void setNull(ColumnArray& array, uint64_t place) {
  if (array.valid.empty()) array.valid.assign((array.rows + 7) / 8, 0xff);
  array.valid[place / 8] = static_cast<uint8_t>(array.valid[place / 8] & ~(1u << place % 8));
  ++array.nulls;
}

template <class T>
T* newData(ColumnArray& array) {
  auto data = std::make_shared<std::vector<T>>(array.rows);
  T* const values = data->data();
  array.data = values;
  array.owner = std::move(data);
  return values;
}

void addText(ColumnArray& array, std::string_view text) {
  array.texts.insert(array.texts.end(), text.begin(), text.end());
  array.text_ends.push_back(static_cast<int64_t>(array.texts.size()));
}

std::string utf8Of(std::string_view text) {
  std::vector<char> bytes;
  appendUtf8(bytes, text);
  return std::string(bytes.begin(), bytes.end());
}

/// Texts that were not UTF-8 may have become equal, or changed their order: makes the texts
/// distinct and sorted again. `texts` has the current numbering.
void settleTexts(ColumnArray& array, std::vector<std::string> texts, int32_t* codes) {
  std::vector<std::string> sorted = texts;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted != texts) {
    std::vector<int32_t> places(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      places[i] = static_cast<int32_t>(std::lower_bound(sorted.begin(), sorted.end(), texts[i]) -
                                       sorted.begin());
    }
    for (uint64_t row = 0; row < array.rows; ++row) {
      if (codes[row] >= 0) codes[row] = places[static_cast<size_t>(codes[row])];
    }
  }
  for (const std::string& text : sorted) addText(array, text);
}

/// Fills a column whose texts are numbered.
void fillRanked(ColumnArray& array, const SqlColumn& column, const std::vector<uint64_t>& sparse) {
  auto* const codes = newData<int32_t>(array);
  std::vector<std::string> texts;
  for (uint32_t rank = 1; rank <= column.largestRank(); ++rank) {
    const Cell cell = column.textOfRank(rank);
    texts.push_back(utf8Of({cell.text, cell.bytes}));
  }
  const auto fill = [&](uint64_t begin, uint64_t end) {
    inBlocks(sparse, begin, end, [&](uint64_t first, const uint64_t* rows, size_t n) {
      uint32_t ranks[kBlock];
      column.ranks(rows, n, ranks);
      for (size_t i = 0; i < n; ++i) codes[first + i] = static_cast<int32_t>(ranks[i]) - 1;
    });
  };
  const uint64_t half = array.rows / 2;
  runInParallel(
      column.canReadConcurrently(), array.rows, [&] { fill(0, half); },
      [&] { fill(half, array.rows); });
  settleTexts(array, std::move(texts), codes);
  if (column.rowsPerRank().empty() || column.rowsPerRank()[0] == 0) return;
  for (uint64_t i = 0; i < array.rows; ++i) {
    if (codes[i] < 0) setNull(array, i);
  }
}

/// Fills a column whose texts are computed row by row.
void fillTexts(ColumnArray& array, const SqlColumn& column, const std::vector<uint64_t>& sparse) {
  auto* const codes = newData<int32_t>(array);
  std::map<std::string, int32_t, std::less<>> numbers;
  for (const bool number : {false, true}) {  // all texts must be known before they are numbered
    if (number) {
      int32_t next = 0;
      for (auto& [text, code] : numbers) {
        code = next++;
        addText(array, text);
      }
    }
    inBlocks(sparse, 0, array.rows, [&](uint64_t first, const uint64_t* rows, size_t n) {
      Cell cells[kBlock];
      column.read(rows, n, cells);
      for (size_t i = 0; i < n; ++i) {
        if (cells[i].type == ValueType::kNull) {
          if (number) setNull(array, first + i);
          codes[first + i] = -1;
          continue;
        }
        const std::string text = utf8Of({cells[i].text, cells[i].bytes});
        auto at = numbers.find(text);
        if (at == numbers.end()) at = numbers.emplace(text, 0).first;
        codes[first + i] = at->second;
      }
    });
  }
}

/// Fills a column of numbers that are computed, or some of which mean NULL.
template <class T>
void fillNumbers(ColumnArray& array, const SqlColumn& column, const std::vector<uint64_t>& sparse) {
  T* const values = newData<T>(array);
  inBlocks(sparse, 0, array.rows, [&](uint64_t first, const uint64_t* rows, size_t n) {
    Cell cells[kBlock];
    column.read(rows, n, cells);
    for (size_t i = 0; i < n; ++i) {
      if (cells[i].type == ValueType::kNull) {
        setNull(array, first + i);
      } else {
        values[first + i] = cells[i].type == ValueType::kReal ? static_cast<T>(cells[i].real)
                                                              : static_cast<T>(cells[i].integer);
      }
    }
  });
}

/// Finds the NULL rows of an array whose values are already in memory.
void findNulls(ColumnArray& array, const SqlColumn& column) {
  inBlocks({}, 0, array.rows, [&](uint64_t first, const uint64_t* rows, size_t n) {
    Cell cells[kBlock];
    column.read(rows, n, cells);
    for (size_t i = 0; i < n; ++i) {
      if (cells[i].type == ValueType::kNull) setNull(array, first + i);
    }
  });
}

bool anyBeyondSigned(const SqlColumn& column, uint64_t all, const std::vector<uint64_t>& sparse) {
  bool any = false;
  inBlocks(sparse, 0, all, [&](uint64_t, const uint64_t* rows, size_t n) {
    Cell cells[kBlock];
    column.read(rows, n, cells);
    any = any || std::any_of(cells, cells + n,
                             [](const Cell& cell) { return cell.type == ValueType::kLarge; });
  });
  return any;
}

}  // namespace

uint64_t presentRows(const SqlTable& table) {
  const std::vector<uint64_t> sparse = rowsOfSparse(table);
  return sparse.empty() ? table.rows() : sparse.size();
}

ColumnArray columnArray(std::shared_ptr<const TraceTables::Loaded> loaded, const SqlTable& table,
                        const SqlColumn& column) {
  ColumnArray array;
  const std::vector<uint64_t> sparse = rowsOfSparse(table);
  array.rows = sparse.empty() ? table.rows() : sparse.size();
  array.is_text = column.type() == "TEXT";
  const RawValues raw = column.raw();
  if (array.is_text) {
    array.format = 'i';
    // In a table that has lost rows, the ranks would count those as well.
    if (column.role() == ColumnRole::kText && sparse.empty()) {
      fillRanked(array, column, sparse);
    } else {
      fillTexts(array, column, sparse);
    }
  } else if (raw.format != 0 && sparse.empty()) {
    array.format = raw.format;
    array.data = raw.data;
    if (column.mayHaveNulls()) findNulls(array, column);
    array.owner = std::move(loaded);
  } else if (column.type() == "REAL") {
    array.format = 'g';
    fillNumbers<double>(array, column, sparse);
  } else if (raw.format == 'I') {
    array.format = 'I';
    fillNumbers<uint32_t>(array, column, sparse);
  } else if (raw.format == 'L' || anyBeyondSigned(column, array.rows, sparse)) {
    array.format = 'L';
    fillNumbers<uint64_t>(array, column, sparse);
  } else {
    array.format = 'l';
    fillNumbers<int64_t>(array, column, sparse);
  }
  return array;
}

}  // namespace tracesmith
