// SPDX-License-Identifier: Apache-2.0
// What interactive timelines say about the selected operation or gap.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"
#include "tracesmith/analysis/timing/launch_index.hpp"
#include "tracesmith/export/browse/timeline_browser.hpp"
#include "tracesmith/export/text/terminal_table.hpp"

namespace tracesmith {

/// A value and the SQL column, or the word, that names it.
struct TimelineDetail {
  std::string label, value;
};

class TimelineDetails {
 public:
  explicit TimelineDetails(const Trace& trace);

  /// Short label of a kernel; the name of anything else.
  std::string_view shortName(const DeviceSpan& item) const;
  /// The selection's values, the full name first; empty if nothing is selected.
  std::vector<TimelineDetail> of(const TimelineBrowser& browser, const TerminalStyle& style) const;
  /// The same for an item of a lane. `zero_ns`: the time shown as 0.
  std::vector<TimelineDetail> ofItem(const DeviceSpan& item, int64_t zero_ns,
                                     const TerminalStyle& style) const;

 private:
  std::vector<TimelineDetail> ofGap(const TimelineRows& rows, size_t row, Interval gap,
                                    const TerminalStyle& style) const;
  /// Row of host_call that launched a row of a table of device work; LaunchIndex::kNone: unknown.
  template <class Table>
  uint32_t launchOf(const Table& table, size_t row) const;

  const Trace& trace_;
  KernelLabels labels_;
  mutable std::map<TableId, std::vector<uint32_t>> launches_;  // made when a selection needs it
};

}  // namespace tracesmith
