// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/tiles/tile_set.hpp"
#include "tracesmith/studio/tiles/relative_time.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>

namespace tracesmith::studio {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0x3154'5354;  // "TST1"
enum Form : uint32_t { kCells = 0, kSpans = 1 };

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

TileSet::TileSet(const TimelineRows& rows, const ItemNames& names)
    : rows_(rows), names_(names), lanes_(rows.rows.size()) {}

const TilePyramid& TileSet::pyramid(uint32_t lane) const {
  Lane& of = lanes_[lane];
  std::call_once(of.made, [&] {
    of.pyramid = std::make_unique<TilePyramid>(rows_.rows[lane].lane, names_, rows_.zero_ns);
  });
  return *of.pyramid;
}

void TileSet::makeAll() const {
  std::atomic<uint32_t> next = 0;
  const auto make = [&] {
    for (uint32_t lane = next++; lane < lanes_.size(); lane = next++) (void)pyramid(lane);
  };
  std::vector<std::jthread> helpers;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) helpers.emplace_back(make);
  make();
}

bool TileSet::exists(const TileKey& key) const {
  if (key.lane >= rows_.rows.size() || key.level < 0 || key.level > kHighestLevel) return false;
  // Tiles behind the end of time.
  return key.index <= (uint64_t{1} << 62) / kTileCells >> key.level;
}

std::string TileSet::bytesOf(const std::vector<TileKey>& keys) const {
  std::string out;
  out.reserve(kHeader + keys.size() * (24 + kTileCells * sizeof(TileCell)));
  append(out, kMagic);
  append(out, uint32_t{0});
  uint32_t count = 0;
  for (const TileKey& key : keys) {
    if (!exists(key)) continue;
    addTile(key, out);
    ++count;
  }
  std::memcpy(out.data() + sizeof kMagic, &count, sizeof count);
  return out;
}

bool TileSet::hasItems(std::string_view tile) {
  constexpr size_t kForm = 16;  // after lane, level and index
  uint32_t form = kCells;
  std::memcpy(&form, tile.data() + kHeader + kForm, sizeof form);
  return form == kSpans;
}

void TileSet::addTile(const TileKey& key, std::string& out) const {
  const TimelineLane& lane = rows_.rows[key.lane].lane;
  const uint64_t first = key.index * kTileCells;
  const auto timeOf = [&](uint64_t cell) {
    return endOf(rows_.zero_ns, static_cast<int64_t>(cell << key.level));
  };
  const auto [begin, end] = lane.within(timeOf(first), timeOf(first + kTileCells));
  append(out, key.lane);
  append(out, static_cast<uint32_t>(key.level));
  append(out, static_cast<double>(key.index));
  if (end - begin <= kMostTileSpans) {
    append(out, kSpans);
    append(out, static_cast<uint32_t>(end - begin));
    for (size_t i = begin; i < end; ++i) {
      const DeviceSpan item = lane.items()[i];
      append(out,
             TileSpan{.begin_ns = static_cast<double>(relativeTo(rows_.zero_ns, item.begin_ns)),
                      .duration_ns = static_cast<double>(lengthOf(item.begin_ns, item.end_ns)),
                      .item = static_cast<uint32_t>(i),
                      .name = names_.of(item),
                      .kind = static_cast<uint32_t>(lane.kind(i))});
    }
    return;
  }
  std::array<TileCell, kTileCells> cells;
  pyramid(key.lane).cells(key.level, first, cells);
  append(out, kCells);
  append(out, static_cast<uint32_t>(kTileCells));
  out.append(reinterpret_cast<const char*>(cells.data()), sizeof cells);
}

uint64_t TileSet::bytes() const {
  uint64_t out = 0;
  for (const Lane& lane : lanes_) {
    if (lane.pyramid) out += lane.pyramid->bytes();
  }
  return out;
}

}  // namespace tracesmith::studio
