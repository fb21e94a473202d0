// SPDX-License-Identifier: Apache-2.0
// The order of rows within a block. Rows grouped by stream (or by host thread) compress better than
// in order of arrival, because each starts soon after the end of its predecessor. No reader may
// rely on the order of events; sorting by end time restores the order of arrival.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/format/encoding/column_words.hpp"

namespace tracesmith::sbt {

/// Sorts rows [begin, begin + count) by `keys`, stably, and stores their indexes in `order`.
/// Returns false if they are already sorted.
template <class T>
bool orderByKey(const Column<T>& keys, size_t begin, size_t count, std::vector<uint32_t>& order) {
  const T* const key = keys.data() + begin;
  if (std::is_sorted(key, key + count, [](T a, T b) { return toWord(a) < toWord(b); })) {
    return false;
  }
  constexpr uint64_t kMostCounters = 65536;
  uint64_t low = ~uint64_t{0}, high = 0;
  for (size_t i = 0; i < count; ++i) {
    low = std::min(low, toWord(key[i]));
    high = std::max(high, toWord(key[i]));
  }
  order.resize(count);
  if (high - low >= kMostCounters) {
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return toWord(key[a]) < toWord(key[b]); });
    return true;
  }
  std::vector<uint32_t> places(static_cast<size_t>(high - low) + 2, 0);
  for (size_t i = 0; i < count; ++i) ++places[toWord(key[i]) - low + 1];
  for (size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
  for (size_t i = 0; i < count; ++i) {
    order[places[toWord(key[i]) - low]++] = static_cast<uint32_t>(i);
  }
  return true;
}

/// Tables whose rows may be reordered within a block.
template <class Table>
constexpr bool kMayReorder =
    kIsDeviceWork<Table> || std::is_same_v<Table, HostCallTable> ||
    std::is_same_v<Table, MemoryEventTable> || std::is_same_v<Table, RangeTable> ||
    std::is_same_v<Table, CounterTable> || std::is_same_v<Table, FlowEventTable>;

/// The order of a block's rows; false: unchanged.
template <class Table>
bool orderRows(const Table& table, size_t begin, size_t count, std::vector<uint32_t>& order) {
  if constexpr (kIsDeviceWork<Table>) {
    return orderByKey(table.stream_id, begin, count, order);
  } else if constexpr (std::is_same_v<Table, CounterTable>) {
    return orderByKey(table.track_id, begin, count, order);
  } else if constexpr (kMayReorder<Table>) {
    return orderByKey(table.thread_id, begin, count, order);
  }
  return false;
}

}  // namespace tracesmith::sbt
