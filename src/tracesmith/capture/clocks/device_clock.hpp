// SPDX-License-Identifier: Apache-2.0
// Finds out which clock a device takes its time stamps from, and maps that clock to host time.
//
// No vendor call is needed: the QUEUED stamp of an enqueue is taken inside the host call. So the
// offset between the clocks lies in [call start - queued, call end - queued].
// - First each clock of the host is tried. If one explains every bracket, it is the device's clock,
//   and its own samples give the map, within tens of ns.
// - Otherwise the brackets are intersected, second by second. The bound is half of the
//   intersection's width.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tracesmith/model/clock_map.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith {

/// Samples the host's clocks against CLOCK_MONOTONIC while a session runs.
class HostClocks {
 public:
  static constexpr std::array kKinds = {ClockKind::kHostMonotonicRaw, ClockKind::kHostBoottime,
                                        ClockKind::kHostRealtime};
  struct Sample {
    int64_t host_ns = 0;
    std::array<int64_t, kKinds.size()> value{};
    int64_t error_ns = 0;
  };

  /// Takes a sample now if the last kept one is older than `interval_ns`.
  void sample(int64_t interval_ns = 100'000'000);
  /// For tests and for resuming another collector's session.
  void add(const Sample& sample);
  /// Forgets all but the newest `keep` samples; returns how many that were.
  size_t trim(size_t keep);

  const std::vector<Sample>& samples() const { return samples_; }
  /// Host time of the reading `value` of clock kKinds[kind].
  HostTime toHost(size_t kind, int64_t value) const;

 private:
  std::vector<Sample> samples_;
};

class DeviceClock {
 public:
  /// Adds one bracket: the host was inside the call from host_begin_ns to host_end_ns, and the
  /// device's clock read `stamp` during it.
  void observe(int64_t host_begin_ns, int64_t host_end_ns, int64_t stamp, const HostClocks& clocks);

  /// The clock that the brackets indicate so far. kHostMonotonic: stamps are host time already.
  ClockKind kind() const;
  bool observed() const { return observations_ > 0; }
  /// `stamp` in host time by the brackets so far, whatever clock they indicate. Without any the
  /// error is INT64_MAX.
  HostTime toHostByBrackets(int64_t stamp) const;

  /// Snapshots of a bracketed clock that have not been returned yet. `finish` adds the last,
  /// unfinished second. Empty unless the kind is kBracketed.
  std::vector<ClockCurve::Snapshot> takeBracketSnapshots(bool finish);
  /// The same, whatever clock the brackets indicate.
  std::vector<ClockCurve::Snapshot> takeSnapshots(bool finish);
  /// Error bound of a host clock's map; it includes the other clocks that would also explain the
  /// brackets.
  int64_t identityError() const;

 private:
  static constexpr size_t kMonotonic = 0;  // c > 0: HostClocks::kKinds[c - 1]
  static constexpr size_t kCandidates = HostClocks::kKinds.size() + 1;
  struct Window {
    int64_t begin_ns = 0;
    int64_t low = 0;    // lower bound of the offset (host - device) at `stamp`
    int64_t high = 0;   // upper bound of the offset
    int64_t stamp = 0;  // the latest device time in the window
  };
  size_t chosen() const;  // kCandidates: none
  bool agreesWithBrackets(size_t candidate) const;
  void addToWindow(int64_t host_begin_ns, int64_t host_end_ns, int64_t stamp);

  uint64_t observations_ = 0;
  std::array<uint64_t, kCandidates> misses_{};
  std::array<int64_t, kCandidates> last_host_{};  // of the last stamp under each candidate
  std::vector<Window> windows_;
  size_t given_ = 0;
};

}  // namespace tracesmith
