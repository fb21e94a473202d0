// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/blocks/row_segments.hpp"

#include <algorithm>
#include <iterator>

#include "tracesmith/format/blocks/table_traits.hpp"

namespace tracesmith::sbt {

void followMovedRows(AttributeTable& attributes, const SegmentsOf& segments) {
  size_t kept = 0;
  for (size_t i = 0; i < attributes.size(); ++i) {
    AttributeRow row = attributes.row(i);
    if (row.table == 0) continue;  // the `table` column was lost, so the row describes nothing
    const auto id = static_cast<TableId>(row.table);
    if (isKnown(id) && !isDictionary(id) && !isKeyed(id)) {
      const auto of_table = segments.find(row.table);
      if (of_table == segments.end()) continue;
      const auto& list = of_table->second;
      auto after = std::upper_bound(
          list.begin(), list.end(), row.row_number,
          [](uint64_t number, const RowSegment& segment) { return number < segment.file_row; });
      if (after == list.begin()) continue;
      const RowSegment& segment = *std::prev(after);
      if (row.row_number - segment.file_row >= segment.rows) continue;
      row.row_number = segment.trace_row + (row.row_number - segment.file_row);
    }
    attributes.set(kept++, row);
  }
  attributes.resize(kept);
}

}  // namespace tracesmith::sbt
