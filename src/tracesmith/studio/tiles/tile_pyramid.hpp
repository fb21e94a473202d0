// SPDX-License-Identifier: Apache-2.0
// A lane of the timeline in cells of 2^level ns, so that a picture of any part costs as much as it
// has pixels. Cells of the base level have about 10 to 20 items; each level above merges pairs.
// Cells below the base level are made from the items when they are asked for.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "tracesmith/export/browse/timeline_rows.hpp"
#include "tracesmith/studio/tiles/item_names.hpp"

namespace tracesmith::studio {

/// What a lane does during one cell. The page reads these bytes (little endian).
struct TileCell {
  static constexpr uint32_t kNoItem = std::numeric_limits<uint32_t>::max();

  uint16_t busy = 0;        ///< part of the cell with an item: 65535 is all of it, 0 none
  uint16_t kind = 0;        ///< ItemKind of `item`
  uint32_t starts = 0;      ///< items that start in the cell
  uint32_t item = kNoItem;  ///< number, in its lane, of an item with a large part of the cell
  NameId name = 0;          ///< of `item`
  bool operator==(const TileCell&) const = default;
};
static_assert(sizeof(TileCell) == 16);

constexpr int kHighestLevel = 62;

class TilePyramid {
 public:
  /// `lane` and `names` must outlive the pyramid. Cell 0 of each level starts at `zero_ns`, before
  /// which no item starts.
  TilePyramid(const TimelineLane& lane, const ItemNames& names, int64_t zero_ns);

  /// Cells [first, first + out.size()) of a level from 0 to kHighestLevel.
  void cells(int level, uint64_t first, std::span<TileCell> out) const;
  uint64_t bytes() const;

 private:
  /// A cell while it is made.
  struct Sum {
    int64_t busy_ns = 0;
    int64_t item_ns = 0;  ///< of `item` in the cell
    uint32_t item = TileCell::kNoItem;
    uint32_t starts = 0;
  };
  struct Level {
    uint64_t first = 0;  ///< number of cells[0]; the cells before it are empty
    std::vector<TileCell> cells;
  };

  /// Adds the items of `sums.size()` cells.
  void addItems(int level, uint64_t first, std::span<Sum> sums) const;
  TileCell cellOf(const Sum& sum, int level) const;
  void addLevel(const std::vector<Sum>& sums, uint64_t first, int level);

  const TimelineLane& lane_;
  const ItemNames& names_;
  int64_t zero_ns_;
  int base_level_ = 0;
  std::vector<Level> levels_;  // from base_level_ on, up to one with a single cell
  Sum all_;                    // of the whole lane
};

}  // namespace tracesmith::studio
