// SPDX-License-Identifier: Apache-2.0
// Counters that only grow. A value is given when it has changed, but not too often.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tracesmith/capture/system/perf_events.hpp"
#include "tracesmith/capture/system/system_events.hpp"

namespace tracesmith {

/// Numbers of tracks.
class CounterTracks {
 public:
  explicit CounterTracks(SystemEvents& out) : out_(out) {}
  uint32_t add(SystemEvents::Track track) {
    out_.tracks.push_back(std::move(track));
    return tracks_++;
  }
  void give(uint32_t track, int64_t time_ns, double value) {
    out_.counters.push_back({.time_ns = time_ns, .track = track, .value = value});
  }

 private:
  SystemEvents& out_;
  uint32_t tracks_ = 0;
};

/// What threads have counted, from their samples.
class ThreadCounters {
 public:
  ThreadCounters(CounterTracks& tracks, std::vector<PerfCounter> counters)
      : tracks_(tracks), counters_(std::move(counters)) {}

  void take(uint32_t process, const PerfPlace& place, const PerfSample& sample);
  /// Gives what it has counted since its last value.
  void endThread(uint32_t process, uint32_t tid);
  void finish();
  /// A thread runs on another processor than before.
  void takeMigration(uint32_t process, uint32_t tid, int64_t time_ns);

 private:
  static constexpr uint32_t kNoTrack = UINT32_MAX;
  using Values = std::array<uint64_t, kMostPerfCounters>;
  struct Thread {
    std::unordered_map<uint32_t, Values> of_cpu;  // each processor counts by itself
    Values sum{}, given{};
    std::array<uint32_t, kMostPerfCounters> track{};
    int64_t time_ns = 0, given_ns = 0;
  };
  void give(uint32_t process, uint32_t tid, Thread& thread);

  CounterTracks& tracks_;
  std::vector<PerfCounter> counters_;
  std::map<std::pair<uint32_t, uint32_t>, Thread> threads_;  // process, tid
  struct Migrations {
    uint32_t track = 0;
    uint64_t times = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Migrations> migrations_;  // process, tid
};

}  // namespace tracesmith
