// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/event_links.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tracesmith/export/slices/slices_by_time.hpp"
#include "tracesmith/model/event_appender.hpp"

namespace tracesmith {
namespace {

struct Key {
  ProcessId process;
  uint64_t correlation_id;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& k) const {
    return static_cast<size_t>(
        (static_cast<uint64_t>(k.process) * 0x9e3779b97f4a7c15ull ^ k.correlation_id) *
        0xff51afd7ed558ccdull);
  }
};
struct Slice {
  SliceSource source = SliceSource::kHostCall;
  uint32_t row = 0;
  bool found = false;
};

}  // namespace

/// One end of a flow: a work number, a host slice, or nothing.
struct Links::End {
  uint32_t work = 0;
  Slice slice;
};

void Links::join(const End& from, const End& to, StringId name) {
  if (from.work != 0 && to.work != 0) {
    pairs_.emplace_back(to.work, from.work);
  } else if (from.slice.found && to.slice.found) {
    ++arrows_;
    host_.push_back({from.slice.source, from.slice.row, LinkKind::kArrowOut, arrows_, name});
    host_.push_back({to.slice.source, to.slice.row, LinkKind::kArrowIn, arrows_, name});
  } else if (from.slice.found && to.work != 0) {
    host_.push_back({from.slice.source, from.slice.row, LinkKind::kSubmits, to.work});
  } else if (from.work != 0 && to.slice.found) {
    host_.push_back({to.slice.source, to.slice.row, LinkKind::kWaitedFor, from.work});
  } else {
    ++unresolved_;
  }
}

/// Rows created from TraceEvents with a FlowInfo have an attribute "id type is_start". The ends of
/// a flow have the same id and type.
void Links::addEventArrows(const Trace& trace, const Selection& selection, const DeviceWork& work) {
  const StringId key = trace.strings.find(event_attributes::kFlow);
  if (key == StringId::kNone) return;
  const AttributeTable& attributes = trace.attribute;
  const auto endOfRow = [&](TableId table, uint64_t row) {
    End end;
    forEachWorkTable(trace, [&](const auto& rows, WorkKind kind) {
      if (std::decay_t<decltype(rows)>::kId != table || row >= rows.size()) return;
      if (isWorkSelected(rows, row, selection)) {
        end.work = static_cast<uint32_t>(work.number(kind, row));
      } else if (kind == WorkKind::kSync && (rows.flags[row] & op_flags::kHostSide) != 0) {
        end.slice = {SliceSource::kSync, static_cast<uint32_t>(row), true};
      }
    });
    if (table == TableId::kHostCall && row < trace.host_call.size()) {
      end.slice = {SliceSource::kHostCall, static_cast<uint32_t>(row), true};
    }
    if (table == TableId::kRange && row < trace.range.size()) {
      const bool span =
          trace.range.kind[row] == RangeKind::kRange || trace.range.kind[row] == RangeKind::kBegin;
      end.slice = {span ? SliceSource::kRange : SliceSource::kInstant, static_cast<uint32_t>(row),
                   true};
    }
    return end;
  };
  std::map<std::pair<uint64_t, int>, std::pair<End, std::vector<End>>> arrows;
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (attributes.key[i] != key) continue;
    const std::string value(trace.text(attributes.value[i]));
    unsigned long long id = 0;
    int type = 0;
    int is_start = 0;
    if (std::sscanf(value.c_str(), "%llu %d %d", &id, &type, &is_start) != 3) continue;
    const End end = endOfRow(static_cast<TableId>(attributes.table[i]), attributes.row_number[i]);
    auto& [start, finishes] = arrows[{id, type}];
    if (is_start == 0) {
      finishes.push_back(end);
    } else if (start.work == 0 && !start.slice.found) {
      start = end;
    }
  }
  for (const auto& [id, ends] : arrows) {
    for (const End& finish : ends.second) join(ends.first, finish);
  }
}

/// The ends of a flow have the same category, name and id, and each has a time on a thread. An end
/// belongs to the innermost slice around that time. A flow from a call to work that it launched is
/// skipped, because correlation ids already express it more precisely.
void Links::addDrawnArrows(const Trace& trace, const Selection& selection, const DeviceWork& work) {
  const FlowEventTable& ends = trace.flow_event;
  if (ends.empty()) return;
  const HostTracks tracks(trace);
  SlicesByTime slices;
  std::vector<size_t> order;  // rows grouped by flow, in time order
  for (size_t i = 0; i < ends.size(); ++i) {
    slices.add(tracks.of(ends.thread_id[i], ends.process_id[i]), ends.time_ns[i]);
    if (selection.instant(ends.time_ns[i])) order.push_back(i);
  }
  slices.find(trace, selection, tracks);
  const auto arrowOf = [&](size_t i) {
    return std::tie(ends.category[i], ends.name[i], ends.flow_id[i]);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    // With clocks of several devices, an end may have an earlier time than its start.
    return arrowOf(a) != arrowOf(b) ? arrowOf(a) < arrowOf(b)
                                    : std::tie(ends.time_ns[a], ends.end[a], a) <
                                          std::tie(ends.time_ns[b], ends.end[b], b);
  });
  const auto endAt = [&](size_t row) {
    const SlicesByTime::Moment& m = slices.at(row);
    return End{.work = 0, .slice = {m.source, m.row, m.found}};
  };
  const auto launches = [&](const End& from) {
    const HostCallTable& calls = trace.host_call;
    return from.slice.found && from.slice.source == SliceSource::kHostCall &&
           work.first(calls.process_id[from.slice.row], calls.correlation_id[from.slice.row]) != 0;
  };
  constexpr size_t kNowhere = ~size_t{0};
  size_t from = kNowhere;
  size_t early = kNowhere;  // an end that came before its start
  bool used = false;        // an end followed `from`
  const auto connect = [&](size_t begin, size_t end) {
    const End a = endAt(begin);
    const End b = endAt(end);
    if (b.slice.found || !launches(a)) join(a, b, ends.name[begin]);
  };
  const auto leave = [&] {
    if (from != kNowhere && !used && !launches(endAt(from))) ++unresolved_;
    if (early != kNowhere) ++unresolved_;
    from = early = kNowhere;
  };
  for (size_t at = 0; at < order.size(); ++at) {
    const size_t row = order[at];
    if (at == 0 || arrowOf(order[at - 1]) != arrowOf(row)) leave();
    if (ends.end[row] == FlowEnd::kBegin) {
      const size_t waiting = early;
      early = kNowhere;
      leave();
      from = row;
      used = waiting != kNowhere;
      if (used) connect(row, waiting);
    } else if (from == kNowhere) {
      if (early != kNowhere) ++unresolved_;
      early = row;
    } else {
      connect(from, row);
      used = true;
      if (ends.end[row] == FlowEnd::kStep) from = row;
    }
  }
  leave();
}

namespace {

ProcessId targetProcess(const FlowTable& flows, size_t i) {
  return flows.to_process_id[i] == ProcessId::kNone ? flows.process_id[i] : flows.to_process_id[i];
}

/// Waits are between device commands. The program drew all other kinds between host slices.
bool prefersDevice(const FlowTable& flows, size_t i) { return flows.kind[i] == FlowKind::kWait; }

/// Finds host slices by the correlation ids that flows refer to; the first slice for each id.
class FlowSlices {
 public:
  FlowSlices(const Trace& trace, const DeviceWork& work) : work_(work) {
    const FlowTable& flows = trace.flow;
    for (size_t i = 0; i < flows.size(); ++i) {
      want({flows.process_id[i], flows.from_correlation_id[i]}, prefersDevice(flows, i));
      want({targetProcess(flows, i), flows.to_correlation_id[i]}, prefersDevice(flows, i));
    }
    if (slices_.empty()) return;
    const RangeTable& ranges = trace.range;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges.kind[i] == RangeKind::kEnd) continue;
      offer({ranges.process_id[i], ranges.correlation_id[i]},
            ranges.kind[i] == RangeKind::kInstant ? SliceSource::kInstant : SliceSource::kRange, i);
    }
    const HostCallTable& calls = trace.host_call;
    for (size_t i = 0; i < calls.size(); ++i) {
      offer({calls.process_id[i], calls.correlation_id[i]}, SliceSource::kHostCall, i);
    }
  }
  /// Returns a slice marked as not found if there is none.
  Slice find(const Key& key) const {
    const auto it = slices_.find(key);
    return it == slices_.end() ? Slice{} : it->second;
  }

 private:
  void want(const Key& key, bool device_first) {
    if (key.correlation_id == 0) return;
    if (!device_first || work_.first(key.process, key.correlation_id) == 0)
      slices_.emplace(key, Slice{});
  }
  void offer(const Key& key, SliceSource source, size_t row) {
    const auto it = slices_.find(key);
    if (it == slices_.end() || it->second.found) return;
    it->second = {source, static_cast<uint32_t>(row), true};
  }

  const DeviceWork& work_;
  std::unordered_map<Key, Slice, KeyHash> slices_;
};

}  // namespace

void Links::addFlows(const Trace& trace, const DeviceWork& work) {
  const FlowTable& flows = trace.flow;
  const FlowSlices slices(trace, work);
  const auto find = [&](const Key& key, bool device_first, bool last) {
    End end;
    if (!device_first) {
      end.slice = slices.find(key);
      if (end.slice.found) return end;
    }
    end.work = work.first(key.process, key.correlation_id);
    while (last && end.work != 0 && work.next(end.work) != 0) end.work = work.next(end.work);
    if (end.work == 0 && device_first) end.slice = slices.find(key);
    return end;
  };
  for (size_t i = 0; i < flows.size(); ++i) {
    const Key from_key{flows.process_id[i], flows.from_correlation_id[i]};
    const Key to_key{targetProcess(flows, i), flows.to_correlation_id[i]};
    // This is the launch itself.
    if (flows.kind[i] == FlowKind::kAsyncCpuGpu && from_key == to_key) continue;
    // If several commands have the same id, the wait is for the last one, and the first one waits.
    const End from = find(from_key, prefersDevice(flows, i), true);
    const bool device_target = prefersDevice(flows, i) || flows.kind[i] == FlowKind::kAsyncCpuGpu;
    const End to = find(to_key, device_target, false);
    join(from, to);
  }
}

/// Sorts the links for waits() and ofSlice(). `works`: the highest work number.
void Links::sortIn(uint64_t works) {
  std::stable_sort(host_.begin(), host_.end(), [](const HostLink& a, const HostLink& b) {
    return std::tie(a.source, a.row) < std::tie(b.source, b.row);
  });
  if (pairs_.empty()) return;
  offsets_.assign(works + 1, 0);
  for (const auto& [to, from] : pairs_) ++offsets_[to + 1];
  for (size_t n = 1; n < offsets_.size(); ++n) offsets_[n] += offsets_[n - 1];
  froms_.resize(pairs_.size());
  std::vector<uint32_t> at(offsets_.begin(), offsets_.end() - 1);
  for (const auto& [to, from] : pairs_) froms_[at[to]++] = from;
  pairs_ = {};
}

Links::Links(const Trace& trace, const Selection& selection, const DeviceWork& work) {
  addEventArrows(trace, selection, work);
  addDrawnArrows(trace, selection, work);
  addFlows(trace, work);
  sortIn(work.number(WorkKind::kSync, trace.sync.size()));
}

std::span<const Links::HostLink> Links::ofSlice(SliceSource source, uint32_t row) const {
  if (host_.empty()) return {};
  const auto before = [](const HostLink& a, const std::pair<SliceSource, uint32_t>& b) {
    return std::tie(a.source, a.row) < std::tie(b.first, b.second);
  };
  const auto first = std::lower_bound(host_.begin(), host_.end(), std::pair(source, row), before);
  auto last = first;
  while (last != host_.end() && last->source == source && last->row == row) ++last;
  return {host_.data() + (first - host_.begin()), static_cast<size_t>(last - first)};
}

}  // namespace tracesmith
