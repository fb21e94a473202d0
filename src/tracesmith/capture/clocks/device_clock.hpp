// SPDX-License-Identifier: Apache-2.0
// Which clock does a device stamp with, and how does it map to host time?
//
// No vendor call is needed: an enqueue's QUEUED stamp is taken inside the host call, so the offset
// between the clocks lies in [call start - queued, call end - queued]. First every clock of the
// host is tried: one that explains every bracket is it, and its own samples give the map, within
// tens of ns. When none does, the brackets themselves are intersected, second by second; the bound
// is half of what remains.
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
  /// For tests and for finishing another collector's session.
  void add(const Sample& sample);

  const std::vector<Sample>& samples() const { return samples_; }
  /// Host time of `value` of kKinds[kind].
  HostTime toHost(size_t kind, int64_t value) const;

 private:
  std::vector<Sample> samples_;
};

class DeviceClock {
 public:
  /// One bracket: the host took [host_begin_ns, host_end_ns] for the call in which the device's
  /// clock read `stamp`.
  void observe(int64_t host_begin_ns, int64_t host_end_ns, int64_t stamp, const HostClocks& clocks);

  /// What the brackets say by now. kHostMonotonic: stamps are host time already.
  ClockKind kind() const;
  bool observed() const { return observations_ > 0; }

  /// Snapshots of a bracketed clock that have not been given out yet; `finish` also gives the last,
  /// unfinished second. Empty unless the kind is kBracketed.
  std::vector<ClockCurve::Snapshot> takeBracketSnapshots(bool finish);
  /// Bound of a host clock's map: what other clocks would also explain adds to it.
  int64_t identityError() const;

 private:
  static constexpr size_t kMonotonic = 0;  // c > 0: HostClocks::kKinds[c - 1]
  static constexpr size_t kCandidates = HostClocks::kKinds.size() + 1;
  struct Window {
    int64_t begin_ns = 0;
    int64_t low = 0;    // at `stamp` the offset (host - device) was at least this
    int64_t high = 0;   // and at most this
    int64_t stamp = 0;  // the latest device time in the window
  };
  size_t chosen() const;  // kCandidates: none of them
  bool explainsBrackets(size_t candidate) const;
  void addToWindow(int64_t host_begin_ns, int64_t host_end_ns, int64_t stamp);

  uint64_t observations_ = 0;
  std::array<uint64_t, kCandidates> misses_{};
  std::array<int64_t, kCandidates> last_host_{};  // the last stamp under each candidate
  std::vector<Window> windows_;
  size_t given_ = 0;
};

}  // namespace tracesmith
