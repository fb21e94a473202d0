// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/browse/lane_items.hpp"

#include <algorithm>

namespace tracesmith {

LaneItems::LaneItems(const Trace& trace, std::span<const DeviceSpan> items) {
  const auto add = [this](const auto& table) {
    static_assert(static_cast<size_t>(table.kId) < kMostTables);
    times_[static_cast<size_t>(table.kId)] = {table.start_ns.data(), table.duration_ns.data()};
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
