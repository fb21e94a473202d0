// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/columns/dictionary_column.hpp"

#include <algorithm>

#include "tracesmith/query/columns/parallel_pass.hpp"

namespace tracesmith {
namespace {

constexpr size_t kRankBlock = 256;

}  // namespace

Value DictionaryColumn::at(uint64_t row) const {
  uint32_t number = 0;
  numbers(&row, 1, &number);
  return number == 0 || number > count() ? Value{} : Value::ofText(textOf(number));
}

void DictionaryColumn::read(const uint64_t* rows, size_t n, Cell* out) const {
  uint32_t block[kRankBlock];
  const uint32_t known = count();
  for (size_t first = 0; first < n; first += kRankBlock) {
    const size_t size = std::min(kRankBlock, n - first);
    numbers(rows + first, size, block);
    uint32_t last = 0;
    Cell cell;
    for (size_t i = 0; i < size; ++i) {
      if (block[i] != last) {
        last = block[i];
        cell = last == 0 || last > known ? Cell{} : Cell::of(Value::ofText(textOf(last)));
      }
      out[first + i] = cell;
    }
  }
}

void DictionaryColumn::rankTexts() const {
  if (!ranks_.empty()) return;
  const uint32_t known = count();
  std::vector<uint32_t> rows_of(size_t{known} + 1, 0);
  std::vector<uint32_t> more(rows_of);
  const auto countRows = [&](uint64_t begin, uint64_t end, std::vector<uint32_t>& counts) {
    uint64_t rows[kRankBlock];
    uint32_t block[kRankBlock];
    for (uint64_t first = begin; first < end; first += kRankBlock) {
      const size_t size = std::min<uint64_t>(kRankBlock, end - first);
      for (size_t i = 0; i < size; ++i) rows[i] = first + i;
      numbers(rows, size, block);
      for (size_t i = 0; i < size; ++i) ++counts[block[i] <= known ? block[i] : 0];
    }
  };
  const uint64_t all = table_.rows();
  runInParallel(
      canReadConcurrently(), all, [&] { countRows(0, all / 2, rows_of); },
      [&] { countRows(all / 2, all, more); });
  for (size_t i = 0; i < more.size(); ++i) rows_of[i] += more[i];
  std::vector<uint32_t> found;
  for (uint32_t i = 1; i <= known; ++i) {
    if (rows_of[i] != 0) found.push_back(i);
  }
  std::sort(found.begin(), found.end(),
            [&](uint32_t a, uint32_t b) { return textOf(a) < textOf(b); });
  std::vector<uint32_t> ranks(size_t{known} + 1, 0);
  per_rank_.assign(1, rows_of[0]);
  for (const uint32_t number : found) {
    if (sorted_.empty() || textOf(sorted_.back()) != textOf(number)) {
      sorted_.push_back(number);
      per_rank_.push_back(0);
    }
    ranks[number] = static_cast<uint32_t>(sorted_.size());
    per_rank_.back() += rows_of[number];
  }
  ranks_ = std::move(ranks);
}

uint32_t DictionaryColumn::rank(uint64_t row) const {
  uint32_t out = 0;
  ranks(&row, 1, &out);
  return out;
}

void DictionaryColumn::ranks(const uint64_t* rows, size_t n, uint32_t* out) const {
  rankTexts();
  numbers(rows, n, out);
  for (size_t i = 0; i < n; ++i) out[i] = out[i] < ranks_.size() ? ranks_[out[i]] : 0;
}

uint32_t DictionaryColumn::largestRank() const {
  rankTexts();
  return static_cast<uint32_t>(sorted_.size());
}

std::span<const uint32_t> DictionaryColumn::rowsPerRank() const {
  rankTexts();
  return per_rank_;
}

Cell DictionaryColumn::textOfRank(uint32_t rank) const {
  rankTexts();
  if (rank == 0 || rank > sorted_.size()) return {};
  return Cell::of(Value::ofText(textOf(sorted_[rank - 1])));
}

std::optional<uint32_t> DictionaryColumn::rankOf(std::string_view text) const {
  rankTexts();
  const auto at =
      std::lower_bound(sorted_.begin(), sorted_.end(), text,
                       [&](uint32_t number, std::string_view t) { return textOf(number) < t; });
  if (at == sorted_.end() || textOf(*at) != text) return std::nullopt;
  return static_cast<uint32_t>(at - sorted_.begin()) + 1;
}

}  // namespace tracesmith
