// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/host_slices.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tracesmith {
namespace {

/// Sorts parents before children: by track, then start, then longer slices first, then source and
/// row.
bool drawnBefore(const HostSlice& a, const HostSlice& b) {
  if (a.track != b.track) return a.track < b.track;
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
  if (a.source != b.source) return a.source < b.source;
  return a.row < b.row;
}

/// Key shared by a host wait and its call.
using CallKey = std::pair<ProcessId, uint64_t>;
struct CallKeyHash {
  size_t operator()(const CallKey& key) const {
    return static_cast<size_t>(
        (static_cast<uint64_t>(key.first) * 0x9e3779b97f4a7c15ull ^ key.second) *
        0xff51afd7ed558ccdull);
  }
};

}  // namespace

ProcessId HostTracks::process(const Trace& trace, uint32_t track) const {
  if (track < threads_) return trace.thread.process_id[track];
  if (track <= threads_ + processes_) return ProcessId(track - threads_);
  return trace.stream.process_id[track - threads_ - processes_ - 1];
}

CallPathId callPathOf(const Trace& trace, const HostSlice& slice) {
  switch (slice.source) {
    case SliceSource::kHostCall:
      return trace.host_call.call_path_id[slice.row];
    case SliceSource::kSync:
      return trace.sync.call_path_id[slice.row];
    case SliceSource::kRange:
    case SliceSource::kInstant:
      return trace.range.call_path_id[slice.row];
    case SliceSource::kBuild:
      break;
  }
  return CallPathId::kNone;
}

HostSlices::HostSlices(const Trace& trace, const Selection& selection, const HostTracks& tracks)
    : trace_(trace), selection_(selection), tracks_(tracks) {
  findSimpleTracks();
  collectOthers();
  const size_t calls = collected_.size();
  // Host calls are usually in order already; the few other slices are merged in.
  if (!std::is_sorted(collected_.begin(), collected_.end(), drawnBefore)) {
    std::sort(collected_.begin(), collected_.end(), drawnBefore);
  }
  collectBuilds();
  collectWaits();
  collectRanges();
  const auto middle = collected_.begin() + static_cast<ptrdiff_t>(calls);
  std::sort(middle, collected_.end(), drawnBefore);
  std::inplace_merge(collected_.begin(), middle, collected_.end(), drawnBefore);
}

void HostSlices::findSimpleTracks() {
  simple_.assign(tracks_.size(), true);
  const ProgramBuildTable& builds = trace_.program_build;
  for (size_t i = 0; i < builds.size(); ++i) {
    simple_[tracks_.of(builds.thread_id[i], builds.process_id[i])] = false;
  }
  const RangeTable& ranges = trace_.range;
  for (size_t i = 0; i < ranges.size(); ++i) {
    simple_[trackOfRange(i)] = false;
  }
  const SyncTable& syncs = trace_.sync;
  for (size_t i = 0; i < syncs.size(); ++i) {
    if (syncs.flags[i] & op_flags::kHostSide) {
      simple_[tracks_.of(syncs.thread_id[i], syncs.process_id[i])] = false;
    }
  }
  std::vector<int64_t> last_end(tracks_.size(), std::numeric_limits<int64_t>::min());
  const HostCallTable& calls = trace_.host_call;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!isCallSelected(i)) continue;
    const uint32_t track = tracks_.of(calls.thread_id[i], calls.process_id[i]);
    if (calls.start_ns[i] < last_end[track]) simple_[track] = false;
    last_end[track] = endOf(calls.start_ns[i], calls.duration_ns[i]);
  }
}

void HostSlices::collectOthers() {
  const HostCallTable& calls = trace_.host_call;
  for (size_t i = 0; i < calls.size(); ++i) {
    const uint32_t track = tracks_.of(calls.thread_id[i], calls.process_id[i]);
    if (simple_[track] || !isCallSelected(i)) continue;
    add(SliceSource::kHostCall, i, track, calls.start_ns[i],
        endOf(calls.start_ns[i], calls.duration_ns[i]));
  }
}

HostSlice& HostSlices::add(SliceSource source, size_t row, uint32_t track, int64_t start_ns,
                           int64_t end_ns) {
  HostSlice slice;
  slice.start_ns = start_ns;
  slice.end_ns = end_ns;
  slice.row = static_cast<uint32_t>(row);
  slice.track = track;
  slice.source = source;
  return collected_.emplace_back(slice);
}

void HostSlices::collectBuilds() {
  const ProgramBuildTable& builds = trace_.program_build;
  for (size_t i = 0; i < builds.size(); ++i) {
    if (!selection_.span(builds.start_ns[i], builds.duration_ns[i])) continue;
    add(SliceSource::kBuild, i, tracks_.of(builds.thread_id[i], builds.process_id[i]),
        builds.start_ns[i], endOf(builds.start_ns[i], builds.duration_ns[i]));
  }
}

/// Skips host waits whose call was also recorded, because they would be drawn twice.
void HostSlices::collectWaits() {
  const SyncTable& syncs = trace_.sync;
  if (syncs.empty()) return;
  std::unordered_set<CallKey, CallKeyHash> called;
  const HostCallTable& calls = trace_.host_call;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls.kind[i] == CallKind::kSync || calls.kind[i] == CallKind::kOther) {
      called.insert({calls.process_id[i], calls.correlation_id[i]});
    }
  }
  for (size_t i = 0; i < syncs.size(); ++i) {
    if (!(syncs.flags[i] & op_flags::kHostSide)) continue;
    if (!selection_.span(syncs.start_ns[i], syncs.duration_ns[i])) continue;
    if (!selection_.stream(syncs.stream_id[i])) continue;
    if (syncs.correlation_id[i] != 0 &&
        called.count({syncs.process_id[i], syncs.correlation_id[i]}) != 0) {
      continue;
    }
    add(SliceSource::kSync, i, tracks_.of(syncs.thread_id[i], syncs.process_id[i]),
        syncs.start_ns[i], endOf(syncs.start_ns[i], syncs.duration_ns[i]));
  }
}

void HostSlices::collectRanges() {
  const RangeTable& ranges = trace_.range;
  std::vector<uint32_t> halves;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const RangeKind kind = ranges.kind[i];
    if (kind == RangeKind::kBegin || kind == RangeKind::kEnd) {
      halves.push_back(static_cast<uint32_t>(i));
      continue;
    }
    if (!selection_.stream(ranges.stream_id[i])) continue;
    const int64_t start_ns = ranges.start_ns[i];
    if (kind == RangeKind::kInstant) {
      if (selection_.instant(start_ns)) {
        add(SliceSource::kInstant, i, trackOfRange(i), start_ns, start_ns);
      }
    } else if (selection_.span(start_ns, ranges.duration_ns[i])) {
      add(SliceSource::kRange, i, trackOfRange(i), start_ns,
          endOf(start_ns, ranges.duration_ns[i]));
    }
  }
  pairHalves(halves);
}

/// Pairs start and end rows per track, innermost first. An end belongs to the nearest open start
/// with its name, or to the innermost one if it has no name.
void HostSlices::pairHalves(std::vector<uint32_t>& halves) {
  if (halves.empty()) return;
  const RangeTable& ranges = trace_.range;
  std::stable_sort(halves.begin(), halves.end(), [&](uint32_t a, uint32_t b) {
    const uint32_t ta = trackOfRange(a);
    const uint32_t tb = trackOfRange(b);
    return ta != tb ? ta < tb : ranges.start_ns[a] < ranges.start_ns[b];
  });
  const int64_t trace_end = timeRange(trace_).end_ns;
  std::vector<uint32_t> open;  // ranges started on this track; kClosed if they have ended
  std::unordered_map<StringId, std::vector<size_t>> open_by_name;  // indices into `open`
  constexpr uint32_t kClosed = std::numeric_limits<uint32_t>::max();
  for (size_t h = 0; h < halves.size(); ++h) {
    const uint32_t i = halves[h];
    while (!open.empty() && open.back() == kClosed) open.pop_back();
    if (ranges.kind[i] == RangeKind::kBegin) {
      open_by_name[ranges.name[i]].push_back(open.size());
      open.push_back(i);
    } else {
      const StringId name = ranges.name[i] != StringId::kNone || open.empty()
                                ? ranges.name[i]
                                : ranges.name[open.back()];
      std::vector<size_t>& places = open_by_name[name];
      if (!places.empty()) {
        const size_t at = places.back();
        places.pop_back();
        addPaired(open[at], ranges.start_ns[i], false);
        open[at] = kClosed;
      } else if (selection_.instant(ranges.start_ns[i]) && selection_.stream(ranges.stream_id[i])) {
        add(SliceSource::kInstant, i, trackOfRange(i), ranges.start_ns[i], ranges.start_ns[i])
            .stray_end = true;
      }
    }
    if (h + 1 == halves.size() || trackOfRange(halves[h + 1]) != trackOfRange(i)) {
      for (const uint32_t begin : open) {
        if (begin != kClosed) addPaired(begin, trace_end, true);
      }
      open.clear();
      open_by_name.clear();
    }
  }
}

/// `begin`: row of a range start.
void HostSlices::addPaired(uint32_t begin, int64_t end_ns, bool unfinished) {
  const RangeTable& ranges = trace_.range;
  if (!selection_.stream(ranges.stream_id[begin])) return;
  const int64_t start_ns = ranges.start_ns[begin];
  end_ns = std::max(start_ns, end_ns);
  if (!selection_.instant(start_ns) &&
      (start_ns >= selection_.toNs() || end_ns <= selection_.fromNs())) {
    return;
  }
  add(SliceSource::kRange, begin, trackOfRange(begin), start_ns, end_ns).unfinished = unfinished;
}

void HostSlices::assignLanes(const std::function<void(const HostSlice&, uint32_t)>& emit) const {
  std::vector<std::vector<int64_t>> lanes;  // per lane: ends of its open slices, outermost first
  uint32_t track = std::numeric_limits<uint32_t>::max();
  size_t step = 0;
  for (const HostSlice& slice : collected_) {
    if (isCancelledAt(step++)) return;
    if (slice.track != track) {
      track = slice.track;
      lanes.clear();
    }
    uint32_t lane = 0;
    for (;; ++lane) {
      if (lane == lanes.size()) lanes.emplace_back();
      std::vector<int64_t>& open = lanes[lane];
      while (!open.empty() && open.back() <= slice.start_ns) open.pop_back();
      if (open.empty() || open.back() >= slice.end_ns) {
        open.push_back(slice.end_ns);
        emit(slice, lane);
        break;
      }
      if (lane + 1 == kMaxLanes) {
        HostSlice shorter = slice;
        shorter.true_end_ns = slice.end_ns;
        shorter.end_ns = open.back();
        shorter.cut = true;
        open.push_back(shorter.end_ns);
        emit(shorter, lane);
        break;
      }
    }
  }
}

}  // namespace tracesmith
