// SPDX-License-Identifier: Apache-2.0
// Events that are told by their two ends ("B" and "E"): the row of the first one waits here for the
// second one. On a thread the one that began last ends first.
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

  void open(ThreadId thread, const Row& row) { open_[thread].push_back(row); }
  /// What ends now; none where nothing is open on that thread.
  std::optional<Row> close(ThreadId thread) {
    const auto it = open_.find(thread);
    if (it == open_.end() || it->second.empty()) return std::nullopt;
    const Row row = it->second.back();
    it->second.pop_back();
    return row;
  }
  /// Those that never ended, thread by thread.
  template <class Visit>
  void forEach(const Visit& visit) const {
    for (const auto& [thread, rows] : open_) {
      for (const Row& row : rows) visit(row);
    }
  }

 private:
  std::map<ThreadId, std::vector<Row>> open_;
};

}  // namespace tracesmith::import
