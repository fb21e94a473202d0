// SPDX-License-Identifier: Apache-2.0
// Time is never naked: turns stamps of a clock into host time (CLOCK_MONOTONIC ns), with a bound on
// the error, from snapshots that pair the two.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

struct HostTime {
  int64_t ns = 0;
  int64_t error_ns = 0;  ///< the true host time lies within ns ± error_ns
};

/// The snapshots of one clock as a piecewise linear curve. Between two snapshots the time is
/// interpolated; outside them the nearest offset holds and the bound grows by kMaxDriftPpm.
class ClockCurve {
 public:
  /// Clocks of one machine are steered by at most 500 ppm (adjtimex) and drift less than that.
  static constexpr int64_t kMaxDriftPpm = 500;

  struct Snapshot {
    int64_t host_ns = 0;
    int64_t clock_value = 0;
    int64_t error_ns = 0;
  };

  ClockCurve() = default;
  /// ns_per_tick = numerator / denominator; 0 reads as 1.
  ClockCurve(std::vector<Snapshot> snapshots, uint64_t numerator, uint64_t denominator);

  bool empty() const { return snapshots_.empty(); }
  HostTime toHost(int64_t clock_value) const;
  /// A length in ticks as ns (by the tick rate alone).
  int64_t durationNs(int64_t ticks) const;

 private:
  std::vector<Snapshot> snapshots_;  // by clock_value
  uint64_t numerator_ = 1;
  uint64_t denominator_ = 1;
};

/// The curves of a trace's clock domains. Domain kNone is the host clock: exact.
class ClockMap {
 public:
  explicit ClockMap(const Trace& trace);
  HostTime toHost(ClockDomainId domain, int64_t clock_value) const;
  const ClockCurve& curve(ClockDomainId domain) const;

 private:
  std::vector<ClockCurve> curves_;
};

/// Converts every device-side row that has op_flags::kDeviceClock to host time in place and clears
/// the bit. Rows whose clock has no snapshot keep their stamp and the bit, and are counted.
/// Returns that count.
size_t convertToHostTime(Trace& trace);
/// The same of one table.
size_t convertToHostTime(Trace& trace, TableId table);

}  // namespace tracesmith
