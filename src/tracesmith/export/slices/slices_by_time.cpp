// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/slices_by_time.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tracesmith {

void SlicesByTime::find(const Trace& trace, const Selection& selection, const HostTracks& tracks) {
  std::vector<bool> asked(tracks.size(), false);
  for (const Moment& m : moments_) asked[m.track] = true;
  std::vector<HostSlice> slices;
  const auto take = [&](const HostSlice& slice) {
    if (asked[slice.track]) slices.push_back(slice);
  };
  HostSlices(trace, selection, tracks).forEach(take, [&](const HostSlice& slice, uint32_t) {
    take(slice);
  });
  // Slices of one track come in order, but tracks that contain only calls are interleaved.
  std::stable_sort(slices.begin(), slices.end(), [](const HostSlice& a, const HostSlice& b) {
    return std::tie(a.track, a.start_ns) < std::tie(b.track, b.start_ns);
  });
  std::vector<size_t> order(moments_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(moments_[a].track, moments_[a].time_ns) <
           std::tie(moments_[b].track, moments_[b].time_ns);
  });
  std::vector<const HostSlice*> open;  // open slices of the track, innermost last
  auto next = slices.begin();
  uint32_t track = 0;
  for (const size_t number : order) {
    Moment& m = moments_[number];
    if (m.track != track) open.clear();
    track = m.track;
    while (next != slices.end() && next->track < track) ++next;
    for (; next != slices.end() && next->track == track && next->start_ns <= m.time_ns; ++next) {
      open.push_back(&*next);
    }
    while (!open.empty() && open.back()->end_ns < m.time_ns) open.pop_back();
    if (open.empty()) continue;
    m.found = true;
    m.source = open.back()->source;
    m.row = open.back()->row;
  }
}

}  // namespace tracesmith
