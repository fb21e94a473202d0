// SPDX-License-Identifier: Apache-2.0
// The clocks of a Perfetto trace: whatever clock a packet's time is in, what it is in the trace's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tracesmith::import {

/// Clocks up to 63 and from 128 on are the whole trace's, those between a sequence's own. All
/// snapshots of the former must be known before times are asked for; the latter go along with the
/// packets.
class PerfettoClocks {
 public:
  /// A ClockSnapshot; `sequence` has clocks of its own in it.
  void learn(std::string_view snapshot);
  void follow(uint64_t sequence, std::string_view snapshot);

  /// The clock that times without one are in, and that all are converted to.
  uint32_t traceClock() const { return primary_; }
  /// Nothing: no snapshot leads from that clock to the trace's. Between snapshots the one before
  /// counts, as in Perfetto.
  std::optional<int64_t> toTrace(uint64_t sequence, uint32_t clock, uint64_t time);
  /// Trace time and Unix time in ns of one moment, where some snapshot has both.
  std::optional<std::pair<int64_t, int64_t>> unixTime() const;

 private:
  struct Reading {
    uint32_t clock = 0;
    int64_t ns = 0;
    uint64_t raw = 0;
    bool incremental = false;
    uint64_t multiplier = 1;
  };
  static std::vector<Reading> read(std::string_view snapshot, uint32_t* primary);
  static bool ofSequence(uint32_t clock);
  std::optional<int64_t> between(uint32_t from, int64_t ns);

  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  struct OwnClock {
    uint64_t last = 0;  // raw
    uint64_t raw = 0;   // at the snapshot
    bool incremental = false;
    uint64_t multiplier = 1;
    uint32_t other = 0;  // clock that it is known by
    int64_t other_ns = 0;
  };

  uint32_t primary_ = 6;  // CLOCK_BOOTTIME
  bool any_primary_ = false;
  std::vector<std::vector<Reading>> snapshots_;
  std::map<uint32_t, uint64_t> multipliers_;
  /// For each clock the hops to the trace's: pairs of readings, by the first.
  std::map<uint32_t, std::vector<Pairs>> ways_;
  std::map<std::pair<uint64_t, uint32_t>, OwnClock> own_;
};

}  // namespace tracesmith::import
