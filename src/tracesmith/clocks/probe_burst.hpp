// SPDX-License-Identifier: Apache-2.0
// What a burst of messages to and fro says about the offset of another host's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace tracesmith::clocks {

/// One question and its answer; ns, each in the clock of the host that took it. `there`: the other.
struct Exchange {
  int64_t sent = 0;
  int64_t received_there = 0;
  int64_t sent_there = 0;
  int64_t received = 0;
};

/// The offset (the other clock minus this one) at one moment of this clock, ns. It lies between
/// `low` and `high`, because no message arrives before it is sent: that needs no symmetry of the
/// network.
struct OffsetBound {
  int64_t at = 0;
  int64_t low = 0;
  int64_t high = 0;

  int64_t middle() const { return low + (high - low) / 2; }
  int64_t halfWidth() const { return (high - low + 1) / 2; }
};

/// Two clocks drift apart by no more than this, in parts per million. Crystals differ by some
/// hundred; a daemon that corrects a clock can make it 83,333 faster or slower (chrony's
/// maxslewrate).
constexpr int64_t kMostDriftPpm = 100'000;

/// Whether the times of an exchange fit together: no answer came before its question, and no time
/// is absurd.
bool isPossible(const Exchange& exchange);
/// How long a possible exchange took on its way, both ways together, ns.
int64_t tripOf(const Exchange& exchange);

/// The narrowest bound that the exchanges of a burst give together, at the middle of the quickest.
/// nullopt if none is possible, or if they contradict each other, as when a clock was set
/// meanwhile.
std::optional<OffsetBound> boundOf(std::span<const Exchange> burst);

}  // namespace tracesmith::clocks
