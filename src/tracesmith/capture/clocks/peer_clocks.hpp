// SPDX-License-Identifier: Apache-2.0
// Compares this host's clock with that of other hosts, and with UTC, while something is recorded,
// on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tracesmith/capture/clocks/clock_probe.hpp"

namespace tracesmith {

constexpr int64_t kBetweenBurstsNs = 500'000'000;

/// The offset of another clock at one moment.
struct PeerOffset {
  std::string peer;      ///< a host, as it was asked for; or the daemon that knows UTC
  std::string clock_id;  ///< ClockIdentity::text(), or kUtcClock
  clocks::OffsetBound bound;
};

class PeerClocks {
 public:
  /// Starts to ask each host, twice a second, and this host's time daemon, if one has the time,
  /// once a second. Fails if a host cannot be found, or does not answer the first burst: who starts
  /// a recording wants to know that now. nullptr: there is nothing to ask.
  static Result<std::unique_ptr<PeerClocks>> start(const std::vector<std::string>& hosts);
  ~PeerClocks();
  PeerClocks(const PeerClocks&) = delete;
  PeerClocks& operator=(const PeerClocks&) = delete;

  /// What came since the last call. [any thread]
  std::vector<PeerOffset> takeNew();
  /// Asks each host once more, and ends. After that takeNew() gives the rest.
  void finish();
  /// What went wrong, as sentences, once finished: hosts that were silent for a part.
  std::vector<std::string> problems() const;

 private:
  PeerClocks() = default;
  void run();
  void askAll(const std::atomic<bool>& stop);
  /// Those that answered the last time.
  void askLast();
  void take(size_t host);
  /// Whether it gave the time.
  bool askDaemon();

  std::vector<ClockProbe> probes_;
  std::vector<size_t> taken_;  // bounds of each probe that are in new_ or were taken
  std::vector<std::string> ended_;
  std::vector<bool> is_silent_;  // gave no bound when it was asked last
  bool has_daemon_ = false;
  std::thread thread_;
  std::mutex mutex_;  // of what is below, but for `never_`
  std::condition_variable wake_;
  std::atomic<bool> stop_{false};
  std::vector<PeerOffset> new_;
  std::atomic<bool> never_{false};
};

}  // namespace tracesmith
