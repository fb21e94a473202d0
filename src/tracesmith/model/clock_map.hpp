// SPDX-License-Identifier: Apache-2.0
// Converts clock readings to host time (CLOCK_MONOTONIC, in ns) with a bound on the error, using
// snapshots that pair a reading of the clock with host time.
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
/// interpolated. Outside them the nearest offset applies, and the error bound grows by
/// kMaxDriftPpm.
class ClockCurve {
 public:
  /// A machine's clocks are adjusted by at most 500 ppm (adjtimex) and drift less than that.
  static constexpr int64_t kMaxDriftPpm = 500;

  struct Snapshot {
    int64_t host_ns = 0;
    int64_t clock_value = 0;
    int64_t error_ns = 0;
  };

  ClockCurve() = default;
  /// ns_per_tick = numerator / denominator; 0 is treated as 1.
  ClockCurve(std::vector<Snapshot> snapshots, uint64_t numerator, uint64_t denominator);

  bool empty() const { return snapshots_.empty(); }
  HostTime toHost(int64_t clock_value) const;
  /// A duration in ticks as ns, by the tick rate alone.
  int64_t durationNs(int64_t ticks) const;

 private:
  std::vector<Snapshot> snapshots_;  // sorted by clock_value
  uint64_t numerator_ = 1;
  uint64_t denominator_ = 1;
};

/// The curves of a trace's clock domains. Domain kNone is the host clock, which is exact.
class ClockMap {
 public:
  explicit ClockMap(const Trace& trace);
  HostTime toHost(ClockDomainId domain, int64_t clock_value) const;
  const ClockCurve& curve(ClockDomainId domain) const;

 private:
  std::vector<ClockCurve> curves_;
};

/// Converts rows of device work that are not in the trace that has their clocks.
class HostTimeConverter {
 public:
  /// `tables` has streams, devices and clocks, and must outlive this.
  explicit HostTimeConverter(const Trace& tables) : tables_(tables), clocks_(tables) {}
  /// As convertToHostTime(); `table` is of kernels, copies, fills or syncs. Several threads may
  /// call it.
  template <class Table>
  size_t convert(Table& table) const;

 private:
  const Trace& tables_;
  ClockMap clocks_;
};

/// Converts every device-side row that has op_flags::kDeviceClock to host time, in place, and
/// clears the bit, and those of `comm_work` that have a clock. Rows whose clock has no snapshot
/// keep their time stamp and the bit. Returns the number of such rows.
size_t convertToHostTime(Trace& trace);
/// The same for one table.
size_t convertToHostTime(Trace& trace, TableId table);

}  // namespace tracesmith
