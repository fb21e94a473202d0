// SPDX-License-Identifier: Apache-2.0
// The host time range of a block's rows, so that a reader of part of a trace can skip other blocks.
// A hint may be too wide but never too narrow; there is no hint if the host time of a row is
// unknown.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/model/clock_map.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::sbt {

class TimeHints {
 public:
  /// min > max: no hint; the block is never skipped.
  struct Range {
    int64_t min_ns = std::numeric_limits<int64_t>::max();
    int64_t max_ns = std::numeric_limits<int64_t>::min();
  };

  /// Adds the streams, devices and clocks of a delta.
  void learn(const Trace& delta);

  /// Afterwards, and until the next learn(), several threads may call of().
  void settle() {
    if (!clocks_) clocks_.emplace(known_);
  }

  /// The range of rows [begin, end) of `table`.
  template <class Table>
  Range of(const Table& table, size_t begin, size_t end) {
    Range range;
    if constexpr (SpanTable<const Table>) {
      for (size_t i = begin; i < end; ++i) {
        if constexpr (kIsDeviceWork<Table>) {
          if ((table.flags[i] & op_flags::kDeviceClock) != 0) {
            if (!widenByDeviceSpan(range, table.stream_id[i], table.start_ns[i],
                                   table.duration_ns[i])) {
              return {};
            }
            continue;
          }
        }
        widen(range, table.start_ns[i], endOf(table.start_ns[i], table.duration_ns[i]));
      }
    } else if constexpr (InstantTable<const Table>) {
      for (size_t i = begin; i < end; ++i) widen(range, table.time_ns[i], table.time_ns[i]);
    }
    return range;
  }

 private:
  static void widen(Range& range, int64_t from, int64_t to) {
    range.min_ns = from < range.min_ns ? from : range.min_ns;
    range.max_ns = to > range.max_ns ? to : range.max_ns;
  }
  bool widenByDeviceSpan(Range& range, StreamId stream, int64_t start, int64_t duration);

  void trimSnapshots();

  size_t trim_above_ = 256;
  Trace known_;  // stream, device, clock_domain and clock_snapshot only
  std::optional<ClockMap> clocks_;
};

}  // namespace tracesmith::sbt
