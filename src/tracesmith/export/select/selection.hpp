// SPDX-License-Identifier: Apache-2.0
// Selects rows of a trace by time range and streams.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class Selection {
 public:
  /// Selects spans that overlap [from_ns, to_ns) and instants inside it; an absent bound is open.
  /// If `streams` is not empty, rows of other streams are excluded; rows without a stream (builds,
  /// allocations) stay.
  Selection(const Trace& trace, std::optional<int64_t> from_ns, std::optional<int64_t> to_ns,
            const std::vector<StreamId>& streams)
      : from_ns_(from_ns.value_or(std::numeric_limits<int64_t>::min())),
        to_ns_(to_ns.value_or(std::numeric_limits<int64_t>::max())),
        all_times_(!from_ns && !to_ns),
        all_streams_(streams.empty()) {
    if (all_streams_) return;
    taken_.assign(trace.stream.size() + 1, false);
    taken_[0] = true;
    for (StreamId id : streams) {
      if (static_cast<size_t>(id) < taken_.size()) taken_[static_cast<size_t>(id)] = true;
    }
  }

  bool span(int64_t start_ns, int64_t duration_ns) const {
    if (all_times_) return true;
    // An empty span is treated like an instant.
    return start_ns < to_ns_ && (endOf(start_ns, duration_ns) > from_ns_ || start_ns >= from_ns_);
  }
  bool instant(int64_t time_ns) const {
    return all_times_ || (time_ns >= from_ns_ && time_ns < to_ns_);
  }
  bool stream(StreamId id) const {
    const auto i = static_cast<size_t>(id);
    return all_streams_ || (i < taken_.size() ? taken_[i] : false);
  }
  bool everything() const { return all_times_ && all_streams_; }
  bool allTimes() const { return all_times_; }
  int64_t fromNs() const { return from_ns_; }
  int64_t toNs() const { return to_ns_; }

 private:
  int64_t from_ns_;
  int64_t to_ns_;
  bool all_times_;
  bool all_streams_;
  std::vector<bool> taken_;
};

}  // namespace tracesmith
