// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/browse/timeline_details.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tracesmith/analysis/timing/time_breakdown.hpp"
#include "tracesmith/base/human_units.hpp"

namespace tracesmith {
namespace {

std::string timeText(int64_t ns, int64_t zero_ns, const TerminalStyle& style) {
  return formatDuration(lengthOf(zero_ns, ns), style.micro());
}

/// "1.23 ms (1234567 ns)": for reading, and as SQL has it.
std::string exactDuration(int64_t ns, const TerminalStyle& style) {
  return fmt::format("{} ({} ns)", formatDuration(ns, style.micro()), ns);
}

/// Calls f(table) with the table of an item.
template <class F>
void withTable(const Trace& trace, TableId table, F&& f) {
  switch (table) {
    case TableId::kKernel:
      return f(trace.kernel);
    case TableId::kCopy:
      return f(trace.copy);
    case TableId::kFill:
      return f(trace.fill);
    case TableId::kSync:
      return f(trace.sync);
    case TableId::kRange:
      return f(trace.range);
    default:
      return f(trace.host_call);
  }
}

std::string shapeText(const LaunchShapeTable& shapes, size_t i) {
  const auto triple = [](uint64_t x, uint64_t y, uint64_t z) {
    return fmt::format("{} x {} x {}", x, y, z);
  };
  std::string out = triple(shapes.global_x[i], shapes.global_y[i], shapes.global_z[i]);
  if (shapes.local_x[i] != 0) {
    out += " in groups of " + triple(shapes.local_x[i], shapes.local_y[i], shapes.local_z[i]);
  }
  return out;
}

std::string reasonText(IdleReason reason) {
  switch (reason) {
    case IdleReason::kHostWait:
      return "host wait: launched only after the gap had started";
    case IdleReason::kKernelWait:
      return "kernel wait: launched in time, and the gap is short";
    case IdleReason::kOther:
      return "other: launched in time but waited, or launch unknown";
  }
  return {};
}

}  // namespace

TimelineDetails::TimelineDetails(const Trace& trace) : trace_(trace), labels_(trace) {}

template <class Table>
uint32_t TimelineDetails::launchOf(const Table& table, size_t row) const {
  if (table.correlation_id[row] == 0) return LaunchIndex::kNone;
  const auto [known, fresh] = launches_.try_emplace(Table::kId);
  if (fresh) known->second = LaunchIndex(trace_).launchesOf(table);
  return known->second[row];
}

std::string_view TimelineDetails::shortName(const DeviceSpan& item) const {
  const std::string_view name = eventName(trace_, item.table, item.row);
  return item.table == TableId::kKernel ? labels_.label(name) : name;
}

std::vector<TimelineDetail> TimelineDetails::of(const TimelineBrowser& browser,
                                                const TerminalStyle& style) const {
  if (!browser.selection()) return {};
  const TimelineSelection& selected = *browser.selection();
  const TimelineRows& rows = browser.rows();
  if (selected.is_gap) return ofGap(rows, selected.row, browser.selectedInterval(), style);
  return ofItem(rows.rows[selected.row].lane.items()[selected.index], rows.zero_ns, style);
}

std::vector<TimelineDetail> TimelineDetails::ofItem(const DeviceSpan& item, int64_t zero_ns,
                                                    const TerminalStyle& style) const {
  std::vector<TimelineDetail> out;
  withTable(trace_, item.table, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    const size_t row = item.row;
    out.push_back({table.kName, printable(eventName(trace_, item.table, row))});
    out.push_back({"start", fmt::format("{} after the trace's start (start_ns {})",
                                        timeText(item.begin_ns, zero_ns, style), item.begin_ns)});
    out.push_back({"duration", exactDuration(table.duration_ns[row], style)});
    if (table.correlation_id[row] != 0) {
      out.push_back({"correlation_id", std::to_string(table.correlation_id[row])});
    }
    if constexpr (Table::kId == TableId::kKernel) {
      const auto shape = static_cast<size_t>(table.shape_id[row]);
      if (shape != 0 && shape <= trace_.launch_shape.size()) {
        out.push_back({"shape", shapeText(trace_.launch_shape, shape - 1)});
      }
    }
    if constexpr (Table::kId == TableId::kCopy || Table::kId == TableId::kFill) {
      std::string bytes = formatBytes(table.bytes[row]);
      if (table.duration_ns[row] > 0) {
        bytes += fmt::format(", {}", formatBandwidth(static_cast<double>(table.bytes[row]) * 1e9 /
                                                     static_cast<double>(table.duration_ns[row])));
      }
      out.push_back({"bytes", bytes});
    }
    if constexpr (Table::kId != TableId::kRange && Table::kId != TableId::kHostCall) {
      if (const uint32_t call = launchOf(table, row); call != LaunchIndex::kNone) {
        const int64_t called = trace_.host_call.start_ns[call];
        out.push_back(
            {"launched by", fmt::format("{}, {} before it started",
                                        printable(trace_.text(trace_.host_call.name[call])),
                                        formatDuration(item.begin_ns - called, style.micro()))});
      }
    }
    if constexpr (Table::kId == TableId::kRange) {
      const std::string_view category = trace_.text(table.category[row]);
      if (!category.empty()) out.push_back({"category", printable(category)});
    }
    if constexpr (Table::kId == TableId::kHostCall) {
      if (table.result[row] != 0) out.push_back({"result", std::to_string(table.result[row])});
    }
  });
  return out;
}

std::vector<TimelineDetail> TimelineDetails::ofGap(const TimelineRows& rows, size_t row,
                                                   Interval gap, const TerminalStyle& style) const {
  const int64_t length = lengthOf(gap.begin_ns, gap.end_ns);
  std::vector<TimelineDetail> out;
  out.push_back({"gap", fmt::format("{} in which the stream was idle",
                                    formatDuration(length, style.micro()))});
  out.push_back({"start", fmt::format("{} after the trace's start",
                                      timeText(gap.begin_ns, rows.zero_ns, style))});
  out.push_back({"duration", exactDuration(length, style)});
  // The operation that ends the gap may be in any lane of the stream.
  std::optional<DeviceSpan> next;
  for (size_t r = row; r < rows.rows.size() && (r == row || !rows.rows[r].first_lane); ++r) {
    if (rows.rows[r].heading) break;
    const auto& items = rows.rows[r].lane.items();
    auto at = std::partition_point(items.begin(), items.end(),
                                   [&](const DeviceSpan& s) { return s.begin_ns < gap.end_ns; });
    for (; at != items.end() && !next; ++at) {
      const DeviceSpan item = *at;
      if (item.begin_ns != gap.end_ns) break;
      if (item.table != TableId::kSync && item.end_ns > item.begin_ns) next = item;
    }
  }
  if (!next) return out;
  std::optional<int64_t> launched;
  withTable(trace_, next->table, [&](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (Table::kId == TableId::kRange || Table::kId == TableId::kHostCall) {
      return;
    } else if (const uint32_t call = launchOf(table, next->row); call != LaunchIndex::kNone) {
      launched = trace_.host_call.start_ns[call];
    }
  });
  out.push_back({"reason", reasonText(idleReasonOf(gap.begin_ns, length, launched))});
  out.push_back({"next", printable(shortName(*next))});
  if (launched) {
    out.push_back(
        {"launched", fmt::format("{} {} the gap's start",
                                 formatDuration(*launched > gap.begin_ns ? *launched - gap.begin_ns
                                                                         : gap.begin_ns - *launched,
                                                style.micro()),
                                 *launched > gap.begin_ns ? "after" : "before")});
  }
  return out;
}

}  // namespace tracesmith
