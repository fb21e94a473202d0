// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/counter_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tracesmith/model/live_memory.hpp"

namespace tracesmith {

std::string threadOfCounter(const Trace& trace, CounterTrackId track) {
  const ThreadId thread = trace.counter_track.thread_id[indexOf(track)];
  if (thread == ThreadId::kNone || indexOf(thread) >= trace.thread.size()) return {};
  return fmt::format(" of thread {}", trace.thread.tid[indexOf(thread)]);
}

void forEachCounterValue(const Trace& trace, const Selection& selection,
                         const std::function<void(CounterTrackId, int64_t, double)>& f) {
  const CounterTable& table = trace.counter;
  const size_t tracks = trace.counter_track.size();
  const auto trackOf = [&](size_t i) {
    const auto t = static_cast<size_t>(table.track_id[i]);
    return t <= tracks ? t : 0;
  };
  // A counting sort by track is stable: rows of a track keep their order, which usually is time
  // order.
  std::vector<size_t> offset(tracks + 2, 0);
  for (size_t i = 0; i < table.size(); ++i) ++offset[trackOf(i) + 1];
  for (size_t t = 1; t < offset.size(); ++t) offset[t] += offset[t - 1];
  std::vector<size_t> rows(table.size());
  std::vector<size_t> at(offset.begin(), offset.end() - 1);
  for (size_t i = 0; i < table.size(); ++i) rows[at[trackOf(i)]++] = i;

  const auto earlier = [&](size_t a, size_t b) { return table.time_ns[a] < table.time_ns[b]; };
  for (size_t t = 0; t <= tracks; ++t) {
    const auto first = rows.begin() + static_cast<ptrdiff_t>(offset[t]);
    const auto last = rows.begin() + static_cast<ptrdiff_t>(offset[t + 1]);
    if (!std::is_sorted(first, last, earlier)) std::stable_sort(first, last, earlier);
    const auto id = static_cast<CounterTrackId>(t);
    auto it = first;
    if (!selection.allTimes()) {
      while (it != last && table.time_ns[*it] < selection.fromNs()) ++it;
      if (it != first) f(id, selection.fromNs(), table.value[*(it - 1)]);
    }
    for (; it != last && selection.instant(table.time_ns[*it]); ++it) {
      f(id, table.time_ns[*it], table.value[*it]);
    }
  }
}

std::string memoryPoolName(const Trace& trace, const MemoryPool& pool) {
  std::string name = pool.on_host ? "Allocated host memory" : "Allocated device memory";
  const auto context = static_cast<size_t>(pool.context);
  if (context != 0 && context <= trace.context.size()) {
    name += ", context #" + std::to_string(trace.context.ordinal[context - 1]);
  }
  return name;
}

uint64_t forEachMemoryValue(const Trace& trace, const Selection& selection,
                            const std::function<void(const MemoryPool&, int64_t, uint64_t)>& f) {
  const MemoryEventTable& table = trace.memory_event;
  std::map<MemoryPool, uint64_t> sums;  // unsigned: absurd sizes wrap around, and frees undo that
  std::vector<DeviceId> place(table.size());
  const auto poolOf = [&](uint32_t row) {
    return MemoryPool{table.process_id[row], table.context_id[row], place[row] == DeviceId::kNone};
  };
  uint64_t unmatched = 0;
  bool begun = selection.allTimes();
  const auto begin = [&] {
    if (begun) return;
    begun = true;
    for (const auto& [pool, sum] : sums) f(pool, selection.fromNs(), sum);
  };
  for (const MemoryChange& change : memoryChanges(trace)) {
    const int64_t ns = table.time_ns[change.row];
    if (ns >= selection.toNs() && !selection.allTimes()) break;
    if (ns >= selection.fromNs()) begin();
    if (!change.known) {
      ++unmatched;  // allocated before the recording began
      continue;
    }
    place[change.row] = change.device;
    const bool adds = table.kind[change.row] == MemoryKind::kAlloc;
    const MemoryPool pool = poolOf(adds ? change.row : change.taken_row);
    if (change.takes) {
      const MemoryPool from = poolOf(change.taken_row);
      sums[from] -= change.taken;
      if (begun && from != pool) f(from, ns, sums[from]);
    }
    sums[pool] += change.added;
    if (begun) f(pool, ns, sums[pool]);
  }
  begin();
  return unmatched;
}

}  // namespace tracesmith
