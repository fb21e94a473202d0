// SPDX-License-Identifier: Apache-2.0
// Converts packet times of a Perfetto trace from any clock to the trace's clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tracesmith::import {

/// Clock ids up to 63 and from 128 on are global; ids 64 to 127 belong to a sequence. All snapshots
/// of global clocks must be known before the first conversion. Snapshots of sequence clocks are
/// processed in packet order.
class PerfettoClocks {
 public:
  /// Each takes a ClockSnapshot. learn() reads its global clocks, in a first pass. follow() reads
  /// the clocks that belong to `sequence`.
  void learn(std::string_view snapshot);
  void follow(uint64_t sequence, std::string_view snapshot);

  /// The clock of times that name none, and the target of all conversions.
  uint32_t traceClock() const { return primary_; }
  /// nullopt: no snapshot relates that clock to the trace's. Between two snapshots the earlier one
  /// applies, as in Perfetto.
  std::optional<int64_t> toTrace(uint64_t sequence, uint32_t clock, uint64_t time);
  /// Trace time and Unix time (ns) of the same moment; nullopt if no snapshot has both.
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
    uint64_t last = 0;  // raw value of the last time
    uint64_t raw = 0;   // raw value at the snapshot
    bool incremental = false;
    uint64_t multiplier = 1;
    uint32_t other = 0;  // global clock that it is related to
    int64_t other_ns = 0;
  };

  uint32_t primary_ = 6;  // CLOCK_BOOTTIME
  bool any_primary_ = false;
  std::vector<std::vector<Reading>> snapshots_;
  std::map<uint32_t, uint64_t> multipliers_;
  /// For each clock the conversion steps to the trace's clock: pairs of readings, sorted by the
  /// first.
  std::map<uint32_t, std::vector<Pairs>> ways_;
  std::map<std::pair<uint64_t, uint32_t>, OwnClock> own_;
};

}  // namespace tracesmith::import
