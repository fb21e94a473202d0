// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/timeline_spans.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

namespace tracesmith {

TimelineSpan TimelineSpans::operator[](size_t i) const {
  const Stream& stream = streamOf(i);
  return {.correlation_id = uint64_t{correlation_[i]} | uint64_t{correlation_high_[i]} << 32,
          .device_id = stream.device_id,
          .stream_id = stream.stream_id,
          .type = type(i),
          .name = std::string(name(i)),
          .start_time = static_cast<Timestamp>(startNs(i)),
          .end_time = static_cast<Timestamp>(endNs(i))};
}

const TimelineSpans::Stream& TimelineSpans::streamOf(size_t i) const {
  return *std::prev(std::upper_bound(streams_.begin(), streams_.end(), i,
                                     [](size_t at, const Stream& s) { return at < s.begin; }));
}

std::vector<uint32_t> TimelineSpans::lanes(const Stream& stream) const {
  std::vector<uint32_t> lanes(stream.end - stream.begin);
  std::vector<int64_t> lane_ends;
  // Lanes by the time at which they become free; among free ones the lowest is used.
  using Free = std::pair<int64_t, uint32_t>;
  std::priority_queue<Free, std::vector<Free>, std::greater<>> busy;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free;
  uint32_t used = 0;
  for (size_t i = stream.begin; i < stream.end; ++i) {
    while (!busy.empty() && busy.top().first <= startNs(i)) {
      free.push(busy.top().second);
      busy.pop();
    }
    uint32_t lane = used;
    if (free.empty()) {
      ++used;
    } else {
      lane = free.top();
      free.pop();
    }
    lanes[i - stream.begin] = lane;
    busy.emplace(endNs(i), lane);
  }
  return lanes;
}

void TimelineSpans::resize(size_t n) {
  start_.resize(n);
  duration_.resize(n);
  name_.resize(n);
  correlation_.resize(n);
  duration_high_.resize(n);
  correlation_high_.resize(n);
  type_.resize(n);
}

/// True if span a comes before span b of the same stream.
bool TimelineSpans::before(size_t a, size_t b) const {
  return start_[a] < start_[b] || (start_[a] == start_[b] && durationNs(a) < durationNs(b));
}

/// Streams are sorted or nearly sorted: moves the few late spans to their place.
bool TimelineSpans::sortByMoving(const Stream& stream) {
  // Number of moves after which sorting is cheaper.
  size_t left = (stream.end - stream.begin) / 4 + 64;
  for (size_t i = stream.begin + 1; i < stream.end; ++i) {
    for (size_t k = i; k > stream.begin && before(k, k - 1); --k) {
      if (left-- == 0) return false;
      std::swap(start_[k], start_[k - 1]);
      std::swap(duration_[k], duration_[k - 1]);
      std::swap(name_[k], name_[k - 1]);
      std::swap(correlation_[k], correlation_[k - 1]);
      std::swap(type_[k], type_[k - 1]);
      if (large_) std::swap(duration_high_[k], duration_high_[k - 1]);
      if (long_ids_) std::swap(correlation_high_[k], correlation_high_[k - 1]);
    }
  }
  return true;
}

void TimelineSpans::sortStream(const Stream& stream) {
  if (sortByMoving(stream)) return;
  std::vector<uint32_t> order(stream.end - stream.begin);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::make_tuple(start_[stream.begin + a], durationNs(stream.begin + a)) <
           std::make_tuple(start_[stream.begin + b], durationNs(stream.begin + b));
  });
  const auto apply = [&](auto& column) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    std::vector<T> moved(order.size());
    for (size_t i = 0; i < order.size(); ++i) moved[i] = column[stream.begin + order[i]];
    std::copy(moved.begin(), moved.end(), column.begin() + static_cast<ptrdiff_t>(stream.begin));
  };
  apply(start_);
  apply(duration_);
  apply(name_);
  apply(correlation_);
  if (large_) apply(duration_high_);
  if (long_ids_) apply(correlation_high_);
  apply(type_);
}

}  // namespace tracesmith
