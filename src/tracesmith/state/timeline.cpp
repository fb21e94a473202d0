// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/timeline.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tracesmith {

std::vector<StreamTimeline> deviceTimelines(const Trace& trace) {
  std::vector<StreamTimeline> by_stream(trace.stream.size() + 1);
  for (size_t i = 0; i < by_stream.size(); ++i) {
    by_stream[i].stream = static_cast<StreamId>(i);
    by_stream[i].device = trace.deviceOf(by_stream[i].stream);
  }
  // Counted first: memory that grows costs more than to count.
  std::vector<size_t> counts(by_stream.size());
  const auto count = [&](const auto& table) {
    forEachTimed(trace, table,
                 [&](StreamId stream, uint32_t) { ++counts[static_cast<size_t>(stream)]; });
  };
  const auto add = [&](const auto& table) {
    forEachTimed(trace, table, [&](StreamId stream, uint32_t row) {
      by_stream[static_cast<size_t>(stream)].spans.push_back(
          {table.start_ns[row], endOf(table.start_ns[row], table.duration_ns[row]), table.kId,
           row});
    });
  };
  const auto forAll = [&](const auto& f) {
    f(trace.kernel);
    f(trace.copy);
    f(trace.fill);
    f(trace.sync);
  };
  forAll(count);
  for (size_t i = 0; i < by_stream.size(); ++i) by_stream[i].spans.reserve(counts[i]);
  forAll(add);
  std::erase_if(by_stream, [](const StreamTimeline& s) { return s.spans.empty(); });
  for (StreamTimeline& s : by_stream) {
    auto earlier = [](const DeviceSpan& a, const DeviceSpan& b) {
      return std::tie(a.begin_ns, a.end_ns) < std::tie(b.begin_ns, b.end_ns);
    };
    if (!std::is_sorted(s.spans.begin(), s.spans.end(), earlier)) {
      std::sort(s.spans.begin(), s.spans.end(), earlier);
    }
  }
  std::stable_sort(
      by_stream.begin(), by_stream.end(),
      [](const StreamTimeline& a, const StreamTimeline& b) { return a.device < b.device; });
  return by_stream;
}

std::vector<Interval> unionOf(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end_ns <= i.begin_ns; });
  return mergedOf(std::move(intervals));
}

std::vector<Interval> mergedOf(std::vector<Interval> intervals) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), earlier)) {
    std::sort(intervals.begin(), intervals.end(), earlier);
  }
  size_t kept = 0;
  int64_t last = 0;  // end so far
  for (const Interval& i : intervals) {
    const bool first = kept == 0;
    if (first || i.begin_ns > last) {
      intervals[kept++] = i;
    } else {
      intervals[kept - 1].end_ns = std::max(intervals[kept - 1].end_ns, i.end_ns);
    }
    last = first ? i.end_ns : std::max(last, i.end_ns);
  }
  intervals.resize(kept);
  return intervals;
}

int64_t totalNs(std::span<const Interval> disjoint) {
  int64_t total = 0;
  for (const Interval& i : disjoint) total = endOf(total, lengthOf(i.begin_ns, i.end_ns));
  return total;
}

Concurrency concurrencyOf(std::span<const Interval> intervals) {
  struct Edge {
    int64_t at_ns;
    int32_t change;
  };
  std::vector<Edge> edges;
  edges.reserve(2 * intervals.size());
  for (const Interval& i : intervals) {
    if (i.end_ns <= i.begin_ns) continue;
    edges.push_back({i.begin_ns, 1});
    edges.push_back({i.end_ns, -1});
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.at_ns < b.at_ns; });
  Concurrency out;
  int64_t open = 0;
  __int128 area = 0;
  for (size_t i = 0; i < edges.size();) {
    const int64_t at = edges[i].at_ns;
    // Half-open: spans that end here and spans that start here never overlap, so apply all changes
    // together.
    for (; i < edges.size() && edges[i].at_ns == at; ++i) open += edges[i].change;
    const auto count = static_cast<uint32_t>(open);
    if (!out.steps.empty() && out.steps.back().count == count) continue;
    out.steps.push_back({at, count});
    out.most = std::max(out.most, count);
  }
  for (size_t i = 0; i + 1 < out.steps.size(); ++i) {
    const int64_t length = lengthOf(out.steps[i].begin_ns, out.steps[i + 1].begin_ns);
    if (out.steps[i].count > 0) out.busy_ns = endOf(out.busy_ns, length);
    area += static_cast<__int128>(length) * out.steps[i].count;
  }
  if (out.busy_ns > 0) {
    out.mean_when_busy = static_cast<double>(area) / static_cast<double>(out.busy_ns);
  }
  return out;
}

}  // namespace tracesmith
