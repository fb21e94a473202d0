// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/device_clock.hpp"

#include <time.h>

#include <algorithm>
#include <cstdlib>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

constexpr std::array<clockid_t, HostClocks::kKinds.size()> kClockIds = {
    CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_REALTIME};

// A host clock is taken for the device's when its map misses a bracket by no more than this: the
// map's own error and the drift since the last sample.
constexpr int64_t kSlackNs = 2'000;
constexpr int64_t kWindowNs = 1'000'000'000;

}  // namespace

void HostClocks::sample(int64_t interval_ns) {
  if (!samples_.empty() && monotonicNs() - samples_.back().host_ns < interval_ns) return;
  // The tightest of a few tries: a preempted one would be off by a time slice.
  Sample best;
  best.error_ns = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    Sample s;
    const int64_t before = monotonicNs();
    for (size_t k = 0; k < kClockIds.size(); ++k) s.value[k] = clockNs(kClockIds[k]);
    const int64_t after = monotonicNs();
    s.host_ns = before + (after - before) / 2;
    s.error_ns = (after - before + 1) / 2;
    if (s.error_ns < best.error_ns) best = s;
  }
  samples_.push_back(best);
}

void HostClocks::add(const Sample& sample) { samples_.push_back(sample); }

HostTime HostClocks::toHost(size_t kind, int64_t value) const {
  if (samples_.empty()) return {value, INT64_MAX};
  auto after = std::lower_bound(samples_.begin(), samples_.end(), value,
                                [&](const Sample& s, int64_t v) { return s.value[kind] < v; });
  const Sample& near = after == samples_.end() ? samples_.back() : *after;
  const int64_t distance = value - near.value[kind];
  return {near.host_ns + distance,
          near.error_ns + std::abs(distance) / 1'000'000 * ClockCurve::kMaxDriftPpm};
}

void DeviceClock::observe(int64_t host_begin_ns, int64_t host_end_ns, int64_t stamp,
                          const HostClocks& clocks) {
  // Bounds within which times can be subtracted: a damaged record may hold anything.
  constexpr int64_t kFar = INT64_MAX / 4;
  if (stamp <= 0 || stamp > kFar || host_begin_ns < -kFar || host_end_ns > kFar) return;
  if (host_end_ns < host_begin_ns) return;
  ++observations_;
  for (size_t c = 0; c < kCandidates; ++c) {
    const HostTime t = c == 0 ? HostTime{stamp, 0} : clocks.toHost(c - 1, stamp);
    const int64_t slack = kSlackNs + std::min(t.error_ns, kFar);
    last_host_[c] = t.ns;
    if (t.ns < host_begin_ns - slack || t.ns > host_end_ns + slack) ++misses_[c];
  }
  addToWindow(host_begin_ns, host_end_ns, stamp);
}

void DeviceClock::addToWindow(int64_t host_begin_ns, int64_t host_end_ns, int64_t stamp) {
  const int64_t low = host_begin_ns - stamp;
  const int64_t high = host_end_ns - stamp;
  if (!windows_.empty()) {
    Window& w = windows_.back();
    const bool agrees = std::max(w.low, low) <= std::min(w.high, high);
    // A bracket that contradicts the window shows drift within it: a new window begins.
    if (host_begin_ns - w.begin_ns < kWindowNs && agrees) {
      w.low = std::max(w.low, low);
      w.high = std::min(w.high, high);
      w.stamp = stamp;
      return;
    }
  }
  windows_.push_back({host_begin_ns, low, high, stamp});
}

ClockKind DeviceClock::kind() const {
  // A hundredth of the brackets may fail: a call's stamps can be cut by a driver that queues from
  // another thread.
  for (size_t c = 0; c < kCandidates; ++c) {
    if (misses_[c] * 100 <= observations_) {
      return c == 0 ? ClockKind::kHostMonotonic : HostClocks::kKinds[c - 1];
    }
  }
  return ClockKind::kBracketed;
}

int64_t DeviceClock::identityError() const {
  int64_t error = 0;
  const ClockKind chosen = kind();
  size_t chosen_index = 0;
  for (size_t c = 1; c < kCandidates; ++c) {
    if (HostClocks::kKinds[c - 1] == chosen) chosen_index = c;
  }
  for (size_t c = 0; c < kCandidates; ++c) {
    if (c != chosen_index && misses_[c] * 100 <= observations_) {
      error = std::max(error, std::abs(last_host_[c] - last_host_[chosen_index]));
    }
  }
  return error;
}

std::vector<ClockCurve::Snapshot> DeviceClock::takeBracketSnapshots(bool finish) {
  std::vector<ClockCurve::Snapshot> out;
  if (kind() != ClockKind::kBracketed) return out;
  const size_t end = finish || windows_.empty() ? windows_.size() : windows_.size() - 1;
  for (; given_ < end; ++given_) {
    const Window& w = windows_[given_];
    const int64_t offset = w.low + (w.high - w.low) / 2;
    out.push_back({w.stamp + offset, w.stamp, (w.high - w.low + 1) / 2});
  }
  return out;
}

}  // namespace tracesmith
