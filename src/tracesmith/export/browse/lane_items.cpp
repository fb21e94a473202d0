// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/browse/lane_items.hpp"

#include <algorithm>
#include <type_traits>

namespace tracesmith {

LaneItems::LaneItems(const Trace& trace, std::span<const DeviceSpan> items) {
  const auto add = [this](const auto& table) {
    constexpr auto kTable = static_cast<size_t>(std::decay_t<decltype(table)>::kId);
    static_assert(kTable < kMostTables);
    times_[kTable] = {table.start_ns.data(), table.duration_ns.data()};
  };
  add(trace.kernel);
  add(trace.copy);
  add(trace.fill);
  add(trace.sync);
  add(trace.host_call);
  add(trace.range);
  rows_.reserve(items.size());
  for (const DeviceSpan& item : items) rows_.push_back(item.row);
  if (items.empty()) return;
  table_ = items[0].table;
  const bool several = std::any_of(items.begin(), items.end(),
                                   [this](const DeviceSpan& item) { return item.table != table_; });
  if (!several) return;
  tables_.reserve(items.size());
  for (const DeviceSpan& item : items) tables_.push_back(static_cast<uint8_t>(item.table));
}

}  // namespace tracesmith
