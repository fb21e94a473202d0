// SPDX-License-Identifier: Apache-2.0
// Events that are told by their two ends ("B" and "E"): the row of the first one waits here for the
// second one. The ends of a thread are taken in the order of the document, in which the format
// wants them to be in order of time. Which slice an end belongs to is decided as Perfetto's
// trace_processor does:
//
//   - the innermost open slice of the thread with the end's name and category, where it says them;
//   - none, where no open slice has them: the end stands alone;
//   - slices within the one that ended stay open, but end with it once something later happens on
//     the thread: slices of a thread do not cross.
//
// Spans whose length is known ("X") take no part in this: they stand in the document in any order.
#pragma once

#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith::import {

class OpenSlices {
 public:
  using Row = std::variant<RangeRow, KernelRow, CopyRow, FillRow, SyncRow, HostCallRow>;
  /// What an end says of the slice that it belongs to; kNone: nothing.
  struct Label {
    StringId name{};
    StringId category{};
  };

  void open(ThreadId thread, const Row& row, Label label);
  /// The row of the slice that ends at `time_ns`, without its length; none where it ends none.
  std::optional<Row> close(ThreadId thread, Label end, int64_t time_ns);
  /// Slices that ended with the one around them.
  uint64_t cutShort() const { return cut_.size(); }
  /// Those that were cut short, and then those that never ended, thread by thread:
  /// visit(row, never ended).
  template <class Visit>
  void forEach(const Visit& visit) const {
    for (const Row& row : cut_) visit(row, false);
    for (const auto& [thread, stack] : stacks_) {
      for (const Slice& slice : stack.slices) {
        if (!slice.end_ns) visit(slice.row, true);
      }
    }
  }

 private:
  struct Slice {
    Row row;
    Label label;
    std::optional<int64_t> end_ns;  ///< it has ended, but slices within it have not
  };
  struct Stack {
    std::vector<Slice> slices;
    size_t ended = 0;  ///< of them
  };
  void settle(Stack& stack, int64_t time_ns);
  void pop(Stack& stack);

  std::map<ThreadId, Stack> stacks_;
  std::vector<Row> cut_;
};

/// Takes the last row out of a table.
OpenSlices::Row takeLastRow(Trace& trace, TableId table);
/// Pushes the row to its table, which is returned.
TableId pushRow(Trace& trace, const OpenSlices::Row& row);

}  // namespace tracesmith::import
