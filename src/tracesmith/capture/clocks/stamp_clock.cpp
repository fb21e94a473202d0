// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/stamp_clock.hpp"

#include <algorithm>

#include "tracesmith/base/clock.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tracesmith {
namespace {

// Keep samples that are further apart than this; of closer ones keep only the newest.
constexpr int64_t kSpacingNs = 50'000'000;

}  // namespace

void StampClock::sample() {
#if defined(__x86_64__)
  Sample best;
  best.error_ns = INT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const int64_t before = monotonicNs();
    const auto counter = static_cast<int64_t>(__rdtsc());
    const int64_t after = monotonicNs();
    const Sample s{before + (after - before) / 2, counter, (after - before + 1) / 2};
    if (s.error_ns < best.error_ns) best = s;
  }
  const size_t n = samples_.size();
  const bool previous_is_close =
      n >= 2 && samples_[n - 1].host_ns - samples_[n - 2].host_ns < kSpacingNs;
  if (previous_is_close) samples_.pop_back();
  add(best);
#endif
}

void StampClock::add(const Sample& sample) {
  auto at = std::lower_bound(samples_.begin(), samples_.end(), sample.counter,
                             [](const Sample& s, int64_t counter) { return s.counter < counter; });
  // Reject a pair that would let time run backwards.
  if (at != samples_.begin() && std::prev(at)->host_ns >= sample.host_ns) return;
  if (at != samples_.end() && (at->host_ns <= sample.host_ns || at->counter == sample.counter)) {
    return;
  }
  samples_.insert(at, sample);
}

int64_t StampClock::toNs(arena::StampClockKind kind, int64_t stamp) const {
  if (kind == arena::StampClockKind::kMonotonicNs) return stamp;
  if (samples_.empty()) return 0;
  if (samples_.size() == 1) return samples_[0].host_ns;
  auto after =
      std::lower_bound(samples_.begin(), samples_.end(), stamp,
                       [](const Sample& s, int64_t counter) { return s.counter < counter; });
  if (after == samples_.begin()) ++after;
  if (after == samples_.end()) --after;
  const Sample& a = *std::prev(after);
  const Sample& b = *after;
  // Uses 128 bits: an overwritten record may contain any stamp.
  const __int128 scaled =
      (static_cast<__int128>(stamp) - a.counter) * (static_cast<__int128>(b.host_ns) - a.host_ns);
  const __int128 ns = a.host_ns + scaled / (static_cast<__int128>(b.counter) - a.counter);
  return static_cast<int64_t>(std::clamp<__int128>(ns, INT64_MIN, INT64_MAX));
}

}  // namespace tracesmith
