// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/counter_series.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tracesmith {

void forEachCounterValue(const Trace& trace, const Selection& selection,
                         const std::function<void(CounterTrackId, int64_t, double)>& f) {
  const CounterTable& table = trace.counter;
  const size_t tracks = trace.counter_track.size();
  const auto trackOf = [&](size_t i) {
    const auto t = static_cast<size_t>(table.track_id[i]);
    return t <= tracks ? t : 0;
  };
  // A counting sort by track keeps the order that the rows of a track have, usually that of time.
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

uint64_t forEachMemoryValue(const Trace& trace, const Selection& selection,
                            const std::function<void(ProcessId, ContextId, int64_t, uint64_t)>& f) {
  const MemoryEventTable& table = trace.memory_event;
  std::vector<size_t> rows(table.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  const auto earlier = [&](size_t a, size_t b) { return table.time_ns[a] < table.time_ns[b]; };
  if (!std::is_sorted(rows.begin(), rows.end(), earlier)) {
    std::stable_sort(rows.begin(), rows.end(), earlier);
  }

  using Pool = std::pair<ProcessId, ContextId>;
  struct Block {
    Pool pool;
    uint64_t bytes = 0;
  };
  std::map<Pool, uint64_t> sums;  // unsigned: absurd sizes wrap and come back
  // Handles mean something only within their process.
  std::unordered_map<ProcessId, std::unordered_map<uint64_t, Block>> blocks;
  uint64_t unmatched = 0;

  bool begun = selection.allTimes();
  const auto begin = [&] {
    if (begun) return;
    begun = true;
    for (const auto& [pool, sum] : sums) f(pool.first, pool.second, selection.fromNs(), sum);
  };
  for (size_t i : rows) {
    const int64_t ns = table.time_ns[i];
    if (ns >= selection.toNs() && !selection.allTimes()) break;
    if (ns >= selection.fromNs()) begin();
    Pool pool{table.process_id[i], table.context_id[i]};
    auto& own = blocks[pool.first];
    if (table.kind[i] == MemoryKind::kAlloc) {
      own[table.address[i]] = {pool, table.bytes[i]};
      sums[pool] += table.bytes[i];
    } else if (table.kind[i] == MemoryKind::kFree) {
      const auto it = own.find(table.address[i]);
      if (it == own.end()) {
        ++unmatched;  // allocated before the recording began
        continue;
      }
      pool = it->second.pool;
      sums[pool] -= it->second.bytes;
      own.erase(it);
    } else {
      continue;
    }
    if (begun) f(pool.first, pool.second, ns, sums[pool]);
  }
  begin();
  return unmatched;
}

}  // namespace tracesmith
