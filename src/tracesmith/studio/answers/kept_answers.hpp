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

/// One tile of each of the first lanes has the whole trace.
std::vector<TileKey> widestTiles(const TimelineRows& rows, size_t most_lanes);

/// Names in the first lanes, by number.
std::vector<NameId> namesIn(const StudioTrace& of, size_t most_lanes, size_t most_names);

}  // namespace tracesmith::studio
