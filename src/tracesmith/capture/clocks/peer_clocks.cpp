// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/clocks/peer_clocks.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "tracesmith/capture/clocks/time_daemon.hpp"
#include "tracesmith/capture/processes/signal_free_thread.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kBriefPatienceNs = 100'000'000;  // the end of a recording waits for this

}  // namespace

Result<std::unique_ptr<PeerClocks>> PeerClocks::start(const std::vector<std::string>& hosts) {
  std::unique_ptr<PeerClocks> clocks(new PeerClocks);
  for (const std::string& host : hosts) {
    TS_TRY(ClockProbe probe, ClockProbe::open(host));
    TS_CHECK_OK(probe.burst(kClockPatienceNs, clocks->never_));
    if (probe.bounds().empty()) {
      return fail(ErrorCode::kNotFound,
                  "gives no answer about its clock: run 'tracesmith clock serve' there", host);
    }
    clocks->probes_.push_back(std::move(probe));
  }
  clocks->taken_.resize(hosts.size());
  clocks->ended_.resize(hosts.size());
  clocks->is_silent_.resize(hosts.size());
  for (size_t i = 0; i < hosts.size(); ++i) clocks->take(i);
  clocks->has_daemon_ = clocks->askDaemon();
  if (hosts.empty() && !clocks->has_daemon_) return std::unique_ptr<PeerClocks>();
  TS_TRY(clocks->thread_, startSignalFreeThread([raw = clocks.get()] { raw->run(); }));
  return clocks;
}

PeerClocks::~PeerClocks() { finish(); }

void PeerClocks::askAll(const std::atomic<bool>& stop) {
  for (size_t i = 0; i < probes_.size() && !stop; ++i) {
    ClockProbe& probe = probes_[i];
    const size_t before = probe.bounds().size();
    // One that was silent is asked again, but keeps the others waiting no longer.
    const Status asked = probe.burst(is_silent_[i] ? kBriefPatienceNs : kClockPatienceNs, stop);
    if (!stop) {
      ended_[i] = asked ? "" : asked.error().message;
      is_silent_[i] = probe.bounds().size() == before;
    }
    take(i);
  }
}

void PeerClocks::askLast() {
  for (size_t i = 0; i < probes_.size(); ++i) {
    if (is_silent_[i]) continue;
    const Status asked = probes_[i].burst(kBriefPatienceNs, never_);
    ended_[i] = asked ? "" : asked.error().message;
    take(i);
  }
}

void PeerClocks::take(size_t host) {
  const ClockProbe& probe = probes_[host];
  const std::vector<clocks::OffsetBound>& bounds = probe.bounds();
  const std::lock_guard lock(mutex_);
  for (size_t& taken = taken_[host]; taken < bounds.size(); ++taken) {
    new_.push_back({probe.host(), probe.clock().text(), bounds[taken]});
  }
}

bool PeerClocks::askDaemon() {
  const Result<DaemonTime> time = askTimeDaemon();
  if (!time) return false;
  const std::lock_guard lock(mutex_);
  new_.push_back({time->daemon, std::string(kUtcClock), time->utc});
  return true;
}

void PeerClocks::run() {
  uint64_t round = 0;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::nanoseconds(kBetweenBurstsNs),
                         [&] { return stop_.load(); })) {
    lock.unlock();
    askAll(stop_);
    if (has_daemon_ && ++round % 2 == 0) askDaemon();
    lock.lock();
  }
  lock.unlock();
  askLast();
  if (has_daemon_) askDaemon();
}

std::vector<PeerOffset> PeerClocks::takeNew() {
  const std::lock_guard lock(mutex_);
  return std::exchange(new_, {});
}

void PeerClocks::finish() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::vector<std::string> PeerClocks::problems() const {
  std::vector<std::string> problems;
  for (size_t i = 0; i < probes_.size(); ++i) {
    const ClockProbe& probe = probes_[i];
    const ClockProbeCounts& counts = probe.counts();
    if (!ended_[i].empty()) {
      problems.push_back(
          fmt::format("the clock of {} is not known at the end: it {}", probe.host(), ended_[i]));
    } else if (counts.without_bound > 0) {
      problems.push_back(fmt::format("{} of {} times {} gave no usable answer about its clock",
                                     counts.without_bound, counts.bursts, probe.host()));
    }
  }
  return problems;
}

}  // namespace tracesmith
