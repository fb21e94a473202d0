// SPDX-License-Identifier: Apache-2.0
// Numbers the device-side rows of a trace, and finds them by correlation id.
//
// Every row of kernel, copy, fill and sync has a work number: kernels first, then copies, fills and
// syncs, from 1. Exports use it as the event id, because correlation ids are not unique: other
// processes may use the same ones, and one launch may own several rows (a graph launch owns many
// kernels).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

enum class WorkKind : uint8_t { kKernel = 0, kCopy = 1, kFill = 2, kSync = 3 };
constexpr size_t kWorkKinds = 4;

/// The word for a device in labels; not every device is a GPU (PoCL's, say).
constexpr std::string_view deviceWord(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "CPU";
    case DeviceKind::kGpu:
      return "GPU";
    default:
      return "Device";
  }
}

/// Calls f(table, WorkKind) for the four tables of device work.
template <class F>
void forEachWorkTable(const Trace& trace, F&& f) {
  f(trace.kernel, WorkKind::kKernel);
  f(trace.copy, WorkKind::kCopy);
  f(trace.fill, WorkKind::kFill);
  f(trace.sync, WorkKind::kSync);
}

/// Whether row `i` is device work in `selection`. Host waits are not device work.
template <class Table>
bool isWorkSelected(const Table& table, size_t i, const Selection& selection) {
  if constexpr (Table::kId == TableId::kSync) {
    if (table.flags[i] & op_flags::kHostSide) return false;
  }
  return selection.everything() || (selection.span(table.start_ns[i], table.duration_ns[i]) &&
                                    selection.stream(table.stream_id[i]));
}

/// Finds device work by (process, correlation id). Ids of one process are close together in all
/// known sources, so it uses an array; scattered ids go to a sorted list.
class DeviceWork {
 public:
  /// Indexes the rows in `selection`. O(rows). Fails for more than 2^32 - 2 rows.
  static Result<DeviceWork> index(const Trace& trace, const Selection& selection);

  /// Work number of row `row` of the table of `kind`.
  uint64_t number(WorkKind kind, size_t row) const {
    return base_[static_cast<size_t>(kind)] + row + 1;
  }
  /// Smallest work number of a row with this correlation id; 0: none.
  uint32_t first(ProcessId process, uint64_t correlation_id) const {
    const auto p = static_cast<size_t>(process);
    if (p >= ranges_.size() || correlation_id == 0) return 0;
    const Range& r = ranges_[p];
    const uint64_t at = correlation_id - r.min;
    if (at < r.slots) return slots_[r.offset + at];
    return r.scattered ? findScattered(process, correlation_id) : 0;
  }
  /// The next row with the same (process, correlation id), or 0.
  uint32_t next(uint32_t number) const { return next_.empty() ? 0 : next_[number]; }
  /// Number of rows that share an id with an earlier one.
  uint64_t shared() const { return shared_; }

 private:
  struct Range {
    uint64_t min = 0;
    uint64_t slots = 0;  // number of entries in slots_
    uint64_t offset = 0;
    bool scattered = false;
  };
  struct Entry {
    uint32_t process;
    uint32_t number;
    uint64_t correlation_id;
  };

  struct Extent;
  void assignSlots(const std::vector<Extent>& extents);
  template <class Table>
  void addRows(const Table& table, WorkKind kind, const Selection& selection);
  void chain(uint32_t number, uint32_t next);
  void linkScattered();
  uint32_t findScattered(ProcessId process, uint64_t correlation_id) const;

  uint64_t base_[kWorkKinds] = {};
  uint64_t rows_ = 0;
  std::vector<Range> ranges_;     // by ProcessId, including kNone
  std::vector<uint32_t> slots_;   // first work number
  std::vector<uint32_t> next_;    // by work number; empty if no id is shared
  std::vector<Entry> scattered_;  // by (process, correlation id, number)
  uint64_t shared_ = 0;
};

}  // namespace tracesmith
