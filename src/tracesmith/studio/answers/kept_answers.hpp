// SPDX-License-Identifier: Apache-2.0
// The answers that a page without a server needs: of a report, or of plain files.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {

enum class Kept : uint8_t {
  kReport,  ///< in one file: short tables, no single kernels
  kAll,
};

/// JSON: {"findings": ..., "analysis?parts=kernels&limit=1000": ...}, by what the page would ask of
/// a server. Without names and tiles.
Result<std::string> keptAnswers(const StudioTrace& of, Kept kept);

/// A body of tiles that is made one by one.
class TileBody {
 public:
  explicit TileBody(const TileSet& tiles) : tiles_(&tiles), bytes_(tiles.bytesOf({})) {}
  /// Adds a tile; true: it has its items, so that there is nothing below it.
  bool add(const TileKey& key);
  const std::string& bytes() const { return bytes_; }
  uint32_t count() const { return count_; }

 private:
  const TileSet* tiles_;
  std::string bytes_;
  uint32_t count_ = 0;
};

/// One tile of each of the first lanes has the whole trace.
std::vector<TileKey> widestTiles(const TimelineRows& rows, size_t most_lanes);

/// Names in the first lanes, by number.
std::vector<NameId> namesIn(const StudioTrace& of, size_t most_lanes, size_t most_names);

}  // namespace tracesmith::studio
