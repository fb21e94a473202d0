// SPDX-License-Identifier: Apache-2.0
// Compares this host's clock (CLOCK_MONOTONIC) with that of others by messages over UDP.
//
// A question and its answer have the same size, so the server amplifies nothing. An answer counts
// only if it comes from the address that was asked and carries the random number of its question.
// Packets that are anything else cost their own sample at most.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracesmith/base/linux/clock_identity.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/clocks/arrival_times.hpp"
#include "tracesmith/clocks/probe_burst.hpp"

namespace tracesmith {

constexpr uint16_t kClockPort = 9713;
/// How long an answer may take before the next question: longer than around the world and back.
constexpr int64_t kClockPatienceNs = 400'000'000;

struct ClockServerCounts {
  uint64_t answered = 0;
  uint64_t foreign = 0;  ///< packets that are no questions
  uint64_t refused = 0;  ///< questions above the rate that one address may ask at
  uint64_t unsent = 0;   ///< answers that the system did not take
};

/// Answers questions about this host's clock.
class ClockServer {
 public:
  /// `address`: numeric, IPv4 or IPv6; "" for all addresses. Port 0: one that is free.
  static Result<ClockServer> open(const std::string& address, uint16_t port);
  ClockServer(ClockServer&& other) noexcept;
  ClockServer& operator=(ClockServer&&) = delete;
  ~ClockServer();

  uint16_t port() const { return port_; }
  /// Until `stop` is set, which a signal handler may do.
  Status serve(const std::atomic<bool>& stop);
  const ClockServerCounts& counts() const { return counts_; }

 private:
  ClockServer(int fd, uint16_t port) : fd_(fd), port_(port) {}

  int fd_ = -1;
  uint16_t port_ = 0;
  ClockServerCounts counts_;
};

struct ClockProbeCounts {
  uint64_t asked = 0;
  uint64_t answered = 0;
  uint64_t impossible = 0;  ///< of these, with times that contradict themselves
  uint64_t foreign = 0;     ///< packets that answer no question of the burst
  uint64_t bursts = 0;
  uint64_t without_bound =
      0;  ///< bursts without an answer that could be used, or whose answers contradict
  int64_t least_trip_ns = 0;  ///< the quickest question and answer, without the time there; 0: none
};

/// Asks one host about its clock.
class ClockProbe {
 public:
  /// `host`: "name", "name:port", "1.2.3.4:port", "[::1]:port".
  static Result<ClockProbe> open(const std::string& host);
  ClockProbe(ClockProbe&& other) noexcept;
  ClockProbe& operator=(ClockProbe&&) = delete;
  ~ClockProbe();

  const std::string& host() const { return host_; }
  /// Asks 16 times in a row: what comes first is slow, because nothing is warm yet. Waits
  /// `patience_ns` for an answer before it asks again, and takes one that comes later, within the
  /// burst. Appends the bound to bounds() if there is one. Ends early once `stop` is set, or when
  /// the first five questions have no answer. kIo if the host says that nobody listens there.
  Status burst(int64_t patience_ns, const std::atomic<bool>& stop);
  /// Of the host's clock minus this one, by time of this one.
  const std::vector<clocks::OffsetBound>& bounds() const { return bounds_; }
  const ClockProbeCounts& counts() const { return counts_; }
  /// The clock that the host answers with, by its last answer.
  const ClockIdentity& clock() const { return clock_; }

 private:
  ClockProbe(int fd, std::string host) : fd_(fd), host_(std::move(host)) {}
  Result<bool> takeAnswer(std::map<uint64_t, int64_t>& open_questions,
                          std::vector<clocks::Exchange>& exchanges);
  Status nobodyListens() const;

  int fd_ = -1;
  std::string host_;
  std::vector<clocks::OffsetBound> bounds_;
  ClockIdentity clock_;
  ArrivalTimes arrivals_;
  ClockProbeCounts counts_;
};

}  // namespace tracesmith
