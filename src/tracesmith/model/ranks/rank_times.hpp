// SPDX-License-Identifier: Apache-2.0
// Replaces the host times in the rows of a trace, to move them to another clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Replaces each host time of an event by map(rank, time), and each other one, as the start of a
/// process, by map_other(rank, time). rank_of(table, row) gives the index of a row's rank; rows
/// without one stay. Neither may decrease, so that spans stay nested and in order. Stamps of a
/// device's clock, and bounds between clocks (table clock_offset), are not host times.
template <class RankOf, class Map, class MapOther>
void mapTimes(Trace& trace, RankOf rank_of, Map map, MapOther map_other) {
  forEachTable(trace, [&](auto& table) {
    const auto move = [&](auto& times, size_t row, size_t rank) {
      if (times[row] != 0) times[row] = map_other(rank, times[row]);  // 0: unknown, or never
    };
    const auto earlier = [](int64_t time, int64_t by) {
      int64_t result = 0;
      return __builtin_sub_overflow(time, by, &result) ? INT64_MIN : result;
    };
    for (size_t i = 0; i < table.size(); ++i) {
      const std::optional<size_t> rank = rank_of(table, i);
      if (!rank) continue;
      if constexpr (requires { table.time_ns; }) table.time_ns[i] = map(*rank, table.time_ns[i]);
      if constexpr (requires {
                      table.start_ns;
                      table.duration_ns;
                    }) {
        if constexpr (requires { table.queued_before_ns; }) {
          if ((table.flags[i] & op_flags::kDeviceClock) != 0) continue;
        }
        const int64_t start = table.start_ns[i];
        const int64_t moved = map(*rank, start);
        // An event of no length keeps none, and one of an impossible length keeps that.
        if (table.duration_ns[i] > 0) {
          table.duration_ns[i] = lengthOf(moved, map(*rank, endOf(start, table.duration_ns[i])));
        }
        if constexpr (requires { table.queued_before_ns; }) {
          for (auto* before : {&table.queued_before_ns, &table.submitted_before_ns}) {
            int64_t& ns = (*before)[i];
            if (ns > 0) ns = lengthOf(map(*rank, earlier(start, ns)), moved);
          }
        }
        table.start_ns[i] = moved;
      }
      if constexpr (requires { table.end_ns; }) {
        move(table.start_ns, i, *rank);
        move(table.end_ns, i, *rank);
      }
      if constexpr (requires { table.created_ns; }) move(table.created_ns, i, *rank);
      if constexpr (requires { table.released_ns; }) move(table.released_ns, i, *rank);
      if constexpr (std::is_same_v<std::decay_t<decltype(table)>, ClockSnapshotTable>) {
        table.host_ns[i] = map_other(*rank, table.host_ns[i]);
      }
    }
  });
}

}  // namespace tracesmith
