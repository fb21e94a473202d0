// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/browse/lane_items.hpp"

#include <algorithm>
#include <tuple>
#include <type_traits>

namespace tracesmith {

LaneItems::LaneItems(const Trace& trace, std::vector<TableRows> tables) {
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
  std::erase_if(tables, [](const TableRows& of) { return of.rows.empty(); });
  for (TableRows& of : tables) {
    const Times& times = times_[static_cast<size_t>(of.table)];
    const auto earlier = [&times](uint32_t a, uint32_t b) {
      if (times.start_ns[a] != times.start_ns[b]) return times.start_ns[a] < times.start_ns[b];
      return times.duration_ns[a] > times.duration_ns[b];
    };
    // Usually it is sorted.
    if (!std::is_sorted(of.rows.begin(), of.rows.end(), earlier)) {
      std::stable_sort(of.rows.begin(), of.rows.end(), earlier);
    }
  }
  if (tables.size() == 1) {
    table_ = tables[0].table;
    rows_ = std::move(tables[0].rows);
  } else {
    mergeTables(tables);
  }
}

void LaneItems::mergeTables(const std::vector<TableRows>& tables) {
  struct Head {
    DeviceSpan item;
    size_t at = 0;
  };
  const auto itemOf = [this](const TableRows& of, size_t at) {
    const Times& times = times_[static_cast<size_t>(of.table)];
    const uint32_t row = of.rows[at];
    return DeviceSpan{times.start_ns[row], endOf(times.start_ns[row], times.duration_ns[row]),
                      of.table, row};
  };
  size_t left = 0;
  std::vector<Head> heads;
  for (const TableRows& of : tables) {
    left += of.rows.size();
    heads.push_back({itemOf(of, 0)});
  }
  rows_.reserve(left);
  tables_.reserve(left);
  for (; left > 0; --left) {
    size_t first = tables.size();
    for (size_t i = 0; i < tables.size(); ++i) {
      if (heads[i].at == tables[i].rows.size()) continue;
      if (first == tables.size() ||
          std::tie(heads[i].item.begin_ns, heads[first].item.end_ns) <
              std::tie(heads[first].item.begin_ns, heads[i].item.end_ns)) {
        first = i;
      }
    }
    Head& head = heads[first];
    rows_.push_back(head.item.row);
    tables_.push_back(static_cast<uint8_t>(head.item.table));
    if (++head.at < tables[first].rows.size()) head.item = itemOf(tables[first], head.at);
  }
}

std::vector<LaneItems> LaneItems::parts(std::span<const uint32_t> part_of,
                                        std::span<const size_t> sizes) const {
  std::vector<LaneItems> out(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    out[i].times_ = times_;
    out[i].table_ = table_;
    out[i].rows_.reserve(sizes[i]);
    if (!tables_.empty()) out[i].tables_.reserve(sizes[i]);
  }
  for (size_t i = 0; i < rows_.size(); ++i) {
    LaneItems& part = out[part_of[i]];
    part.rows_.push_back(rows_[i]);
    if (!tables_.empty()) part.tables_.push_back(tables_[i]);
  }
  return out;
}

}  // namespace tracesmith
