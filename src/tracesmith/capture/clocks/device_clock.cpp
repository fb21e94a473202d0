// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/device_clock.hpp"

#include <time.h>

#include <algorithm>
#include <cstdlib>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

constexpr std::array<clockid_t, HostClocks::kKinds.size()> kClockIds = {
    CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_REALTIME};

// A host clock is accepted as the device's when its map misses a bracket by at most this: the map's
// own error and the drift since the last sample.
constexpr int64_t kSlackNs = 2'000;
constexpr int64_t kWindowNs = 1'000'000'000;

/// The most that a clock can have drifted in `distance_ns`.
int64_t driftWithin(int64_t distance_ns) {
  return std::abs(distance_ns) / 1'000'000 * ClockCurve::kMaxDriftPpm +
         std::abs(distance_ns) % 1'000'000 * ClockCurve::kMaxDriftPpm / 1'000'000 + 1;
}

}  // namespace

void HostClocks::sample(int64_t interval_ns) {
  if (!samples_.empty() && monotonicNs() - samples_.back().host_ns < interval_ns) return;
  // Keep the tightest of a few tries: one that was preempted would be off by a time slice.
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

size_t HostClocks::trim(size_t keep) {
  const size_t old = samples_.size() - std::min(samples_.size(), keep);
  samples_.erase(samples_.begin(), samples_.begin() + static_cast<ptrdiff_t>(old));
  return old;
}

HostTime HostClocks::toHost(size_t kind, int64_t value) const {
  if (samples_.empty()) return {value, INT64_MAX};
  auto after = std::lower_bound(samples_.begin(), samples_.end(), value,
                                [&](const Sample& s, int64_t v) { return s.value[kind] < v; });
  const Sample& near = after == samples_.end() ? samples_.back() : *after;
  const int64_t distance = value - near.value[kind];
  return {near.host_ns + distance, near.error_ns + driftWithin(distance)};
}

void DeviceClock::observe(int64_t host_begin_ns, int64_t host_end_ns, int64_t stamp,
                          const HostClocks& clocks) {
  // Limits within which times can be subtracted: a damaged record may contain any value.
  constexpr int64_t kFar = INT64_MAX / 4;
  if (stamp <= 0 || stamp > kFar || host_begin_ns < -kFar || host_end_ns > kFar) return;
  if (host_end_ns < host_begin_ns) return;
  ++observations_;
  for (size_t c = 0; c < kCandidates; ++c) {
    const HostTime t = c == kMonotonic ? HostTime{stamp, 0} : clocks.toHost(c - 1, stamp);
    const int64_t slack = kSlackNs + std::min(t.error_ns, kFar);
    last_host_[c] = t.ns;
    if (t.ns < host_begin_ns - slack || t.ns > host_end_ns + slack) ++misses_[c];
  }
  addToWindow(host_begin_ns, host_end_ns, stamp);
}

void DeviceClock::addToWindow(int64_t host_begin_ns, int64_t host_end_ns, int64_t stamp) {
  int64_t low = host_begin_ns - stamp;
  int64_t high = host_end_ns - stamp;
  if (!windows_.empty()) {
    Window& w = windows_.back();
    // Each bracket bounds the offset at its own stamp. To compare two at the later stamp, widen the
    // earlier one by the possible drift in between. Without that, the intersection could exclude
    // the true offset. Stamps of several threads may come in any order.
    const int64_t drift = driftWithin(stamp - w.stamp);
    Window met = w;
    if (stamp > w.stamp) {
      met.low -= drift;
      met.high += drift;
      met.stamp = stamp;
    } else {
      low -= drift;
      high += drift;
    }
    met.low = std::max(met.low, low);
    met.high = std::min(met.high, high);
    // A bracket that contradicts the window shows that the clock was set: start a new window.
    if (host_begin_ns - w.begin_ns < kWindowNs && met.low <= met.high) {
      w = met;
      return;
    }
  }
  windows_.push_back({host_begin_ns, host_begin_ns - stamp, host_end_ns - stamp, stamp});
}

HostTime DeviceClock::toHostByBrackets(int64_t stamp) const {
  // The last window has just begun, and may have few brackets.
  HostTime best{stamp, INT64_MAX};
  for (size_t i = windows_.size() < 2 ? 0 : windows_.size() - 2; i < windows_.size(); ++i) {
    const Window& w = windows_[i];
    const int64_t error = (w.high - w.low + 1) / 2 + driftWithin(stamp - w.stamp);
    if (error <= best.error_ns) best = {stamp + w.low + (w.high - w.low) / 2, error};
  }
  return best;
}

size_t DeviceClock::chosen() const {
  // Soon after boot CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW agree within a bracket. The raw clock
  // is then chosen, because its map has an error bound that can include the difference
  // (identityError). CLOCK_MONOTONIC is the time of the trace itself and counts as exact.
  constexpr std::array<size_t, kCandidates> kOrder = {1, kMonotonic, 2, 3};
  static_assert(HostClocks::kKinds[0] == ClockKind::kHostMonotonicRaw);
  for (size_t c : kOrder) {
    if (agreesWithBrackets(c)) return c;
  }
  return kCandidates;
}

bool DeviceClock::agreesWithBrackets(size_t candidate) const {
  // 1 % of the brackets may fail: a driver that queues from another thread can take stamps outside
  // the call.
  return misses_[candidate] * 100 <= observations_;
}

ClockKind DeviceClock::kind() const {
  const size_t c = chosen();
  if (c == kCandidates) return ClockKind::kBracketed;
  return c == kMonotonic ? ClockKind::kHostMonotonic : HostClocks::kKinds[c - 1];
}

int64_t DeviceClock::identityError() const {
  const size_t c = chosen();
  if (c == kCandidates) return 0;
  int64_t error = 0;
  for (size_t other = 0; other < kCandidates; ++other) {
    if (!agreesWithBrackets(other)) continue;
    error = std::max(error, std::abs(last_host_[other] - last_host_[c]));
  }
  return error;
}

std::vector<ClockCurve::Snapshot> DeviceClock::takeBracketSnapshots(bool finish) {
  return kind() == ClockKind::kBracketed ? takeSnapshots(finish)
                                         : std::vector<ClockCurve::Snapshot>{};
}

std::vector<ClockCurve::Snapshot> DeviceClock::takeSnapshots(bool finish) {
  std::vector<ClockCurve::Snapshot> out;
  const size_t end = finish || windows_.empty() ? windows_.size() : windows_.size() - 1;
  for (; given_ < end; ++given_) {
    const Window& w = windows_[given_];
    const int64_t offset = w.low + (w.high - w.low) / 2;
    out.push_back({w.stamp + offset, w.stamp, (w.high - w.low + 1) / 2});
  }
  return out;
}

}  // namespace tracesmith
