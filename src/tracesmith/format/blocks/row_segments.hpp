// SPDX-License-Identifier: Apache-2.0
// Where the rows of a file were placed in a trace that does not have all of them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::sbt {

/// Where a range of the file's rows was placed in a trace.
struct RowSegment {
  uint64_t file_row = 0;
  uint64_t trace_row = 0;
  uint64_t rows = 0;
};
using SegmentsOf = std::map<uint32_t, std::vector<RowSegment>>;  // by table

/// Attributes refer to rows by their number in the file; omitted rows change the numbers of later
/// ones.
void followMovedRows(AttributeTable& attributes, const SegmentsOf& segments);

}  // namespace tracesmith::sbt
