// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/browse/timeline_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "tracesmith/analysis/kernel_names/kernel_name.hpp"
#include "tracesmith/export/text/terminal_timeline.hpp"

namespace tracesmith {
namespace {

constexpr size_t kLaneBlock = 128;

/// An empty item still takes its place, so that it can be seen and selected.
int64_t occupiedEnd(const DeviceSpan& s) { return std::max(s.end_ns, endOf(s.begin_ns, 1)); }

class TimelineRowMaker {
 public:
  TimelineRowMaker(const Trace& trace, const EventMatcher& matches, bool with_busy)
      : trace_(trace),
        matches_(matches),
        with_busy_(with_busy),
        names_(namesOf(trace)),
        families_(trace.strings.size() + 2) {}

  TimelineRows make() {
    addDevices();
    addProcesses();
    finish();
    return std::move(out_);
  }

 private:
  ItemKind kindOfItem(const DeviceSpan& span) {
    switch (span.table) {
      case TableId::kKernel:
        return familyOf(trace_.kernel.name[span.row]);
      case TableId::kCopy:
        return kindOf(KernelFamily::kCopy);
      case TableId::kFill:
        return kindOf(KernelFamily::kFill);
      case TableId::kSync:
        return ItemKind::kSync;
      case TableId::kRange:
        return ItemKind::kRange;
      default:
        return ItemKind::kHostCall;
    }
  }

  ItemKind familyOf(StringId name) {
    // Ids that no string has, in a damaged trace, are names without text.
    const size_t id = std::min(static_cast<size_t>(name), families_.size() - 1);
    if (!families_[id]) families_[id] = kindOf(readKernelName(trace_.text(name)).family);
    return *families_[id];
  }

  void heading(std::string label) {
    TimelineRow row;
    row.label = std::move(label);
    row.heading = true;
    row.group = out_.groups++;
    out_.rows.push_back(std::move(row));
  }

  void lanes(const std::string& label, std::vector<TableRows> tables, StreamId stream,
             bool on_device) {
    LaneItems all(trace_, std::move(tables));
    CoveredTime busy;
    if (on_device && with_busy_) {
      std::vector<Interval> work;
      work.reserve(all.size());
      for (const DeviceSpan& s : all) {
        if (s.table != TableId::kSync) work.push_back({s.begin_ns, s.end_ns});
      }
      busy = CoveredTime(std::move(work));
    }
    bool first = true;
    for (LaneItems& items : lanesOf(std::move(all))) {
      TimelineRow row;
      row.label = label;
      row.group = out_.groups - 1;
      row.first_lane = first;
      row.stream = stream;
      row.on_device = on_device;
      std::vector<ItemKind> kinds;
      kinds.reserve(items.size());
      for (const DeviceSpan& s : items) kinds.push_back(kindOfItem(s));
      row.lane = TimelineLane(std::move(items), std::move(kinds));
      if (first) row.busy = std::move(busy);
      first = false;
      out_.rows.push_back(std::move(row));
    }
  }

  void addDevices() {
    struct Stream {
      StreamId id{};
      DeviceId device{};
      std::vector<TableRows> tables;
    };
    std::vector<Stream> streams(trace_.stream.size() + 1);
    for (size_t i = 0; i < streams.size(); ++i) {
      streams[i].id = static_cast<StreamId>(i);
      streams[i].device = trace_.deviceOf(streams[i].id);
    }
    const auto add = [&](const auto& table) {
      // Counted first: memory that grows costs more than to count.
      std::vector<size_t> counts(streams.size());
      const auto forEachMatch = [&](const auto& f) {
        forEachTimed(trace_, table, [&](StreamId stream, uint32_t row) {
          if (matches_(table.kId, row)) f(static_cast<size_t>(stream), row);
        });
      };
      forEachMatch([&](size_t stream, uint32_t) { ++counts[stream]; });
      for (size_t i = 0; i < streams.size(); ++i) {
        if (counts[i] == 0) continue;
        streams[i].tables.push_back({table.kId, {}});
        streams[i].tables.back().rows.reserve(counts[i]);
      }
      forEachMatch(
          [&](size_t stream, uint32_t row) { streams[stream].tables.back().rows.push_back(row); });
    };
    add(trace_.kernel);
    add(trace_.copy);
    add(trace_.fill);
    add(trace_.sync);
    std::erase_if(streams, [](const Stream& s) { return s.tables.empty(); });
    std::stable_sort(streams.begin(), streams.end(),
                     [](const Stream& a, const Stream& b) { return a.device < b.device; });
    std::optional<DeviceId> last;
    for (Stream& s : streams) {
      if (last != s.device) heading(names_.device(s.device));
      last = s.device;
      lanes(names_.stream(s.id), std::move(s.tables), s.id, true);
    }
  }

  std::string processLabel(ProcessId id) const {
    if (id == ProcessId::kNone || indexOf(id) >= trace_.process.size()) return "unknown process";
    const uint32_t pid = trace_.process.pid[indexOf(id)];
    const std::string_view name = trace_.text(trace_.process.command_line[indexOf(id)]);
    if (pid == 0) return name.empty() ? "unknown process" : std::string(name);
    return name.empty() ? fmt::format("process {}", pid) : fmt::format("process {}: {}", pid, name);
  }

  std::string threadLabel(ThreadId id) const {
    if (id == ThreadId::kNone || indexOf(id) >= trace_.thread.size()) return "unknown thread";
    const std::string_view name = trace_.text(trace_.thread.name[indexOf(id)]);
    return name.empty() ? fmt::format("thread {}", trace_.thread.tid[indexOf(id)])
                        : std::string(name);
  }

  using HostLane = std::tuple<ProcessId, ThreadId, TableId>;

  /// Calls f(value of the row's lane in `lanes`, row) for calls or ranges that match.
  template <class Table, class Value, class F>
  void forEachHostRow(const Table& table, std::map<HostLane, Value>& lanes, F&& f) const {
    std::optional<HostLane> last;  // most rows are in the same lane as the row before
    Value* of_last = nullptr;
    for (size_t i = 0; i < table.size(); ++i) {
      const auto row = static_cast<uint32_t>(i);
      if (!matches_(table.kId, row)) continue;
      const HostLane lane(table.process_id[i], table.thread_id[i], table.kId);
      if (last != lane) of_last = &lanes[lane];
      last = lane;
      f(*of_last, row);
    }
  }

  void addProcesses() {
    // Counted first: memory that grows costs more than to count.
    std::map<HostLane, size_t> counts;
    const auto count = [](size_t& of_lane, uint32_t) { ++of_lane; };
    forEachHostRow(trace_.host_call, counts, count);
    forEachHostRow(trace_.range, counts, count);
    std::map<HostLane, std::vector<uint32_t>> threads;
    for (const auto& [key, size] : counts) threads[key].reserve(size);
    const auto add = [](std::vector<uint32_t>& of_lane, uint32_t row) { of_lane.push_back(row); };
    forEachHostRow(trace_.host_call, threads, add);
    forEachHostRow(trace_.range, threads, add);
    std::optional<ProcessId> last;
    for (auto& [key, rows] : threads) {
      const auto& [process, thread, table] = key;
      if (last != process) heading(processLabel(process));
      last = process;
      std::vector<TableRows> tables;
      tables.push_back({table, std::move(rows)});
      lanes(threadLabel(thread) + (table == TableId::kRange ? ": ranges" : ": calls"),
            std::move(tables), StreamId::kNone, false);
    }
  }

  void finish() {
    out_.zero_ns = names_.zero_ns;
    out_.begin_ns = INT64_MAX;
    out_.end_ns = INT64_MIN;
    TimelineLane::Times total{};
    for (const TimelineRow& row : out_.rows) {
      const LaneItems& items = row.lane.items();
      if (items.empty()) continue;
      out_.items += items.size();
      out_.begin_ns = std::min(out_.begin_ns, items.front().begin_ns);
      out_.end_ns = std::max(out_.end_ns, occupiedEnd(items.back()));
      if (!row.on_device) continue;
      const auto times = row.lane.timesWithin(INT64_MIN, INT64_MAX);
      for (size_t k = 0; k < kItemKinds; ++k) total[k] = endOf(total[k], times[k]);
    }
    if (out_.items == 0) out_.begin_ns = out_.end_ns = out_.zero_ns;
    if (out_.end_ns <= out_.begin_ns) out_.end_ns = endOf(out_.begin_ns, 1);
    for (size_t k = 0; k < kItemKinds; ++k) {
      if (total[k] > 0) out_.kinds.push_back(static_cast<ItemKind>(k));
    }
    std::stable_sort(out_.kinds.begin(), out_.kinds.end(), [&](ItemKind a, ItemKind b) {
      return total[static_cast<size_t>(a)] > total[static_cast<size_t>(b)];
    });
  }

  const Trace& trace_;
  const EventMatcher& matches_;
  const bool with_busy_;
  TimelineNames names_;
  std::vector<std::optional<ItemKind>> families_;  // by StringId
  TimelineRows out_;
};

}  // namespace

std::string_view toString(ItemKind kind) {
  switch (kind) {
    case ItemKind::kSync:
      return "sync";
    case ItemKind::kHostCall:
      return "API call";
    case ItemKind::kRange:
      return "range";
    default:
      return toString(static_cast<KernelFamily>(kind));
  }
}

TimelineRows timelineRowsOf(const Trace& trace, const EventMatcher& matches, bool with_busy) {
  return TimelineRowMaker(trace, matches, with_busy).make();
}

TimelineLane::TimelineLane(LaneItems items, std::vector<ItemKind> kinds)
    : items_(std::move(items)), kinds_(std::move(kinds)) {
  Times sum{};
  blocks_.reserve(items_.size() / kLaneBlock + 1);
  for (size_t i = 0; i < items_.size(); ++i) {
    if (i % kLaneBlock == 0) blocks_.push_back(sum);
    const DeviceSpan item = items_[i];
    int64_t& of_kind = sum[static_cast<size_t>(kinds_[i])];
    of_kind = endOf(of_kind, lengthOf(item.begin_ns, item.end_ns));
  }
}

std::pair<size_t, size_t> TimelineLane::within(int64_t begin_ns, int64_t end_ns) const {
  const auto first = std::partition_point(items_.begin(), items_.end(), [&](const DeviceSpan& s) {
    return occupiedEnd(s) <= begin_ns;
  });
  const auto last = std::partition_point(first, items_.end(),
                                         [&](const DeviceSpan& s) { return s.begin_ns < end_ns; });
  return {static_cast<size_t>(first - items_.begin()), static_cast<size_t>(last - items_.begin())};
}

TimelineLane::Times TimelineLane::timesWithin(int64_t begin_ns, int64_t end_ns) const {
  Times out{};
  const auto [first, last] = within(begin_ns, end_ns);
  for (size_t i = first; i < last;) {
    // Whole blocks that are neither first nor last have no item that reaches over an edge.
    const size_t block = i / kLaneBlock;
    const size_t last_block = (last - 1) / kLaneBlock;
    if (i != first && i % kLaneBlock == 0 && block < last_block) {
      for (size_t k = 0; k < kItemKinds; ++k) {
        out[k] += blocks_[last_block][k] - blocks_[block][k];
      }
      i = last_block * kLaneBlock;
      continue;
    }
    const DeviceSpan item = items_[i];
    out[static_cast<size_t>(kinds_[i])] +=
        lengthOf(std::max(item.begin_ns, begin_ns), std::min(item.end_ns, end_ns));
    ++i;
  }
  return out;
}

std::vector<LaneItems> lanesOf(LaneItems items) {
  std::vector<LaneItems> lanes;
  bool overlap = false;
  for (size_t i = 0; i + 1 < items.size() && !overlap; ++i) {
    overlap = occupiedEnd(items[i]) > items[i + 1].begin_ns;
  }
  if (!overlap) {
    if (!items.empty()) lanes.push_back(std::move(items));
    return lanes;
  }
  using Taken = std::pair<int64_t, uint32_t>;  // until when, and the lane
  std::priority_queue<Taken, std::vector<Taken>, std::greater<>> taken;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free;
  std::vector<uint32_t> lane_of;
  std::vector<size_t> sizes;
  lane_of.reserve(items.size());
  for (const DeviceSpan& item : items) {
    for (; !taken.empty() && taken.top().first <= item.begin_ns; taken.pop()) {
      free.push(taken.top().second);
    }
    auto lane = static_cast<uint32_t>(sizes.size());
    if (free.empty()) {
      sizes.push_back(0);
    } else {
      lane = free.top();
      free.pop();
    }
    ++sizes[lane];
    lane_of.push_back(lane);
    taken.emplace(occupiedEnd(item), lane);
  }
  return items.parts(lane_of, sizes);
}

}  // namespace tracesmith
