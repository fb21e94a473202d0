// SPDX-License-Identifier: Apache-2.0
// The tiles of all lanes of a trace, as the page asks for them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/export/browse/timeline_rows.hpp"
#include "tracesmith/studio/tiles/tile_pyramid.hpp"

namespace tracesmith::studio {

constexpr size_t kTileCells = 512;
/// A tile with at most this many items has the items themselves.
constexpr size_t kMostTileSpans = 512;

/// 512 cells of a lane: [index * 512, (index + 1) * 512) * 2^level ns.
struct TileKey {
  uint32_t lane = 0;  ///< index in TimelineRows::rows
  int level = 0;
  uint64_t index = 0;
};

/// An item of a tile. The page reads these bytes (little endian).
struct TileSpan {
  double begin_ns = 0;  ///< from the start of the trace
  double duration_ns = 0;
  uint32_t item = 0;  ///< number in its lane
  NameId name = 0;
  uint32_t kind = 0;  ///< ItemKind
  uint32_t unused = 0;
};
static_assert(sizeof(TileSpan) == 32);

/// Any number of threads may ask at the same time. `rows` and `names` must outlive the object.
class TileSet {
 public:
  TileSet(const TimelineRows& rows, const ItemNames& names);

  /// Makes all pyramids, on as many threads as the machine has. They are otherwise made when they
  /// are first asked for.
  void makeAll() const;
  /// The tiles as bytes: docs/studio.md has the layout. Ignores keys that cannot exist.
  std::string bytesOf(const std::vector<TileKey>& keys) const;
  /// Bytes before the first tile.
  static constexpr size_t kHeader = 8;
  /// Of one tile with its header: it has the items themselves.
  static bool hasItems(std::string_view tile);
  const TilePyramid& pyramid(uint32_t lane) const;
  /// Memory of the pyramids that were made.
  uint64_t bytes() const;

 private:
  struct Lane {
    std::once_flag made;
    std::unique_ptr<TilePyramid> pyramid;
  };
  bool exists(const TileKey& key) const;
  void addTile(const TileKey& key, std::string& out) const;

  const TimelineRows& rows_;
  const ItemNames& names_;
  mutable std::vector<Lane> lanes_;
};

}  // namespace tracesmith::studio
