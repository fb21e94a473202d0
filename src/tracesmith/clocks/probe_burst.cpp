// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/clocks/probe_burst.hpp"

#include <algorithm>
#include <cstdlib>

namespace tracesmith::clocks {
namespace {

constexpr int64_t kMostNs = int64_t{1} << 61;  // so that differences of two fit

/// By how much the offset may change between two moments.
int64_t driftBetween(int64_t a, int64_t b) {
  const int64_t apart = std::abs(a - b);
  return apart / 1'000'000 * kMostDriftPpm + apart % 1'000'000 * kMostDriftPpm / 1'000'000 + 1;
}

OffsetBound boundAt(const Exchange& e, int64_t at) {
  return {at, e.sent_there - e.received - driftBetween(e.received, at),
          e.received_there - e.sent + driftBetween(e.sent, at)};
}

}  // namespace

bool isPossible(const Exchange& e) {
  for (const int64_t time : {e.sent, e.received_there, e.sent_there, e.received}) {
    if (time < -kMostNs || time > kMostNs) return false;
  }
  const int64_t here = e.received - e.sent, there = e.sent_there - e.received_there;
  return here >= 0 && there >= 0 && there <= here;
}

int64_t tripOf(const Exchange& e) {
  return (e.received - e.sent) - (e.sent_there - e.received_there);
}

std::optional<OffsetBound> boundOf(std::span<const Exchange> burst) {
  const Exchange* quickest = nullptr;
  for (const Exchange& e : burst) {
    if (isPossible(e) && (quickest == nullptr || tripOf(e) < tripOf(*quickest))) quickest = &e;
  }
  if (quickest == nullptr) return std::nullopt;
  OffsetBound bound =
      boundAt(*quickest, quickest->sent + (quickest->received - quickest->sent) / 2);
  for (const Exchange& e : burst) {
    if (!isPossible(e)) continue;
    const OffsetBound other = boundAt(e, bound.at);
    bound.low = std::max(bound.low, other.low);
    bound.high = std::min(bound.high, other.high);
  }
  if (bound.low > bound.high) return std::nullopt;
  return bound;
}

}  // namespace tracesmith::clocks
