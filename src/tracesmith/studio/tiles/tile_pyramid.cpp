// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/tiles/tile_pyramid.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tracesmith::studio {
namespace {

constexpr int64_t kItemsPerCell = 10;

/// Saturates at the end of time.
int64_t timeOfCell(uint64_t cell, int level) {
  const uint64_t most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) >> level;
  return cell > most ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(cell << level);
}

}  // namespace

TilePyramid::TilePyramid(const TimelineLane& lane, const ItemNames& names, int64_t zero_ns)
    : lane_(lane), names_(names), zero_ns_(zero_ns) {
  const LaneItems& items = lane.items();
  if (items.empty()) return;
  const int64_t begin = lengthOf(zero_ns, items.front().begin_ns);
  const int64_t end = std::max(lengthOf(zero_ns, items.back().end_ns), begin + 1);
  const auto per_item = static_cast<uint64_t>((end - begin) / static_cast<int64_t>(items.size()));
  base_level_ = std::min(static_cast<int>(std::bit_width(per_item * kItemsPerCell)), kHighestLevel);
  uint64_t first = static_cast<uint64_t>(begin) >> base_level_;
  std::vector<Sum> sums((static_cast<uint64_t>(end - 1) >> base_level_) - first + 1);
  addItems(base_level_, first, sums);
  int level = base_level_;
  addLevel(sums, first, level);
  while (sums.size() > 1 && level < kHighestLevel) {
    ++level;
    const uint64_t above = first >> 1;
    std::vector<Sum> merged(((first + sums.size() - 1) >> 1) - above + 1);
    for (size_t i = 0; i < sums.size(); ++i) {
      const Sum& from = sums[i];
      Sum& to = merged[((first + i) >> 1) - above];
      to.busy_ns += from.busy_ns;
      to.starts += from.starts;
      if (from.item == to.item && from.item != TileCell::kNoItem) {
        to.item_ns += from.item_ns;
      } else if (to.item == TileCell::kNoItem || from.item_ns > to.item_ns) {
        to.item = from.item;
        to.item_ns = from.item_ns;
      }
    }
    sums = std::move(merged);
    first = above;
    addLevel(sums, first, level);
  }
  all_ = sums.front();
}

void TilePyramid::addLevel(const std::vector<Sum>& sums, uint64_t first, int level) {
  Level& made = levels_.emplace_back();
  made.first = first;
  made.cells.reserve(sums.size());
  for (const Sum& sum : sums) made.cells.push_back(cellOf(sum, level));
}

void TilePyramid::addItems(int level, uint64_t first, std::span<Sum> sums) const {
  const int64_t from = timeOfCell(first, level);
  const int64_t until = timeOfCell(first + sums.size(), level);
  const auto [begin, end] = lane_.within(endOf(zero_ns_, from), endOf(zero_ns_, until));
  for (size_t i = begin; i < end; ++i) {
    const DeviceSpan item = lane_.items()[i];
    int64_t at = lengthOf(zero_ns_, item.begin_ns);
    const int64_t stop = std::min(lengthOf(zero_ns_, item.end_ns), until);
    if (at >= from) {
      ++sums[(static_cast<uint64_t>(at) >> level) - first].starts;
    } else {
      at = from;
    }
    do {
      const uint64_t cell = static_cast<uint64_t>(at) >> level;
      const int64_t next = timeOfCell(cell + 1, level);
      const int64_t ns = std::max<int64_t>(std::min(stop, next) - at, 0);
      Sum& sum = sums[cell - first];
      sum.busy_ns += ns;
      if (sum.item == TileCell::kNoItem || ns > sum.item_ns) {
        sum.item = static_cast<uint32_t>(i);
        sum.item_ns = ns;
      }
      at = next;
    } while (at < stop);
  }
}

TileCell TilePyramid::cellOf(const Sum& sum, int level) const {
  if (sum.item == TileCell::kNoItem) return {};
  const double part = std::ldexp(static_cast<double>(sum.busy_ns), -level);
  const auto busy = static_cast<int>(std::lround(std::min(part, 1.0) * 65535));
  return {.busy = static_cast<uint16_t>(sum.busy_ns > 0 ? std::max(busy, 1) : 0),
          .kind = static_cast<uint16_t>(lane_.kind(sum.item)),
          .starts = sum.starts,
          .item = sum.item,
          .name = names_.of(lane_.items()[sum.item])};
}

void TilePyramid::cells(int level, uint64_t first, std::span<TileCell> out) const {
  std::fill(out.begin(), out.end(), TileCell{});
  if (levels_.empty()) return;
  if (level < base_level_) {
    std::vector<Sum> sums(out.size());
    addItems(level, first, sums);
    for (size_t i = 0; i < out.size(); ++i) out[i] = cellOf(sums[i], level);
    return;
  }
  const auto index = static_cast<size_t>(level - base_level_);
  if (index >= levels_.size()) {
    // A single cell has all items.
    const uint64_t cell = levels_.back().first >> (index + 1 - levels_.size());
    if (cell >= first && cell - first < out.size()) out[cell - first] = cellOf(all_, level);
    return;
  }
  const Level& made = levels_[index];
  const uint64_t begin = std::max(first, made.first);
  const uint64_t end = std::min(first + out.size(), made.first + made.cells.size());
  for (uint64_t cell = begin; cell < end; ++cell) {
    out[cell - first] = made.cells[cell - made.first];
  }
}

uint64_t TilePyramid::bytes() const {
  uint64_t out = 0;
  for (const Level& level : levels_) out += level.cells.capacity() * sizeof(TileCell);
  return out;
}

}  // namespace tracesmith::studio
