// SPDX-License-Identifier: Apache-2.0
// Pairs events that mark the two ends of a slice ("B" and "E"). The row of the start event waits
// here for the end event. Ends of a thread are processed in document order, which the format
// requires to be time order. Matching follows Perfetto's trace_processor:
//
//   - An end closes the innermost open slice of the thread that has the end's name and category, as
//     far as the end gives them.
//   - If no open slice matches, the end closes nothing and is unmatched.
//   - Slices inside a closed slice stay open, but end with it once something later happens on the
//     thread: slices of a thread do not partially overlap.
//
// Spans of known length ("X") do not take part: they may appear in the document in any order.
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
  /// Name and category that an end event gives; kNone: not given.
  struct Label {
    StringId name{};
    StringId category{};
  };

  void open(ThreadId thread, const Row& row, Label label);
  /// Returns the row of the slice that ends at `time_ns`, with its length not yet set; nullopt if
  /// the end closes nothing.
  std::optional<Row> close(ThreadId thread, Label end, int64_t time_ns);
  /// Number of slices that ended with an enclosing slice.
  uint64_t cutShort() const { return cut_.size(); }
  /// Calls visit(row, never_ended) for slices that were cut short, then for those that never ended,
  /// thread by thread.
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
    std::optional<int64_t> end_ns;  ///< set when it has ended but slices inside it have not
  };
  struct Stack {
    std::vector<Slice> slices;
    size_t ended = 0;  ///< number of `slices` with an end
  };
  void settle(Stack& stack, int64_t time_ns);
  void pop(Stack& stack);

  std::map<ThreadId, Stack> stacks_;
  std::vector<Row> cut_;
};

/// Removes the last row of a table and returns it.
OpenSlices::Row takeLastRow(Trace& trace, TableId table);
/// Pushes the row to its table and returns that table.
TableId pushRow(Trace& trace, const OpenSlices::Row& row);

}  // namespace tracesmith::import
