// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/counter_tracks.hpp"

#include <utility>

namespace tracesmith {
namespace {

constexpr int64_t kLeastBetweenNs = 10'000'000;

}  // namespace

void ThreadCounters::take(uint32_t process, const PerfPlace& place, const PerfSample& sample) {
  if (sample.counter_count != counters_.size() || counters_.empty()) return;
  const auto [it, is_new] = threads_.try_emplace({process, place.tid});
  Thread& thread = it->second;
  if (is_new) {
    thread.track.fill(kNoTrack);
    thread.given_ns = place.time_ns;
  }
  Values& before = thread.of_cpu[place.cpu];
  for (size_t i = 0; i < counters_.size(); ++i) {
    // Another program that the thread executes goes on with its counters.
    if (sample.counters[i] > before[i]) thread.sum[i] += sample.counters[i] - before[i];
  }
  before = sample.counters;
  thread.time_ns = place.time_ns;
  if (place.time_ns - thread.given_ns >= kLeastBetweenNs) give(process, place.tid, thread);
}

void ThreadCounters::give(uint32_t process, uint32_t tid, Thread& thread) {
  for (size_t i = 0; i < counters_.size(); ++i) {
    if (thread.sum[i] == thread.given[i]) continue;
    if (thread.track[i] == kNoTrack) {
      thread.track[i] = tracks_.add(
          {.process = process, .tid = tid, .name = counters_[i].name, .unit = counters_[i].unit});
    }
    tracks_.give(thread.track[i], thread.time_ns, static_cast<double>(thread.sum[i]));
  }
  thread.given = thread.sum;
  thread.given_ns = thread.time_ns;
}

void ThreadCounters::takeMigration(uint32_t process, uint32_t tid, int64_t time_ns) {
  const auto [it, is_new] = migrations_.try_emplace({process, tid});
  Migrations& of_thread = it->second;
  if (is_new) {
    of_thread.track =
        tracks_.add({.process = process, .tid = tid, .name = "migrations", .unit = "migrations"});
  }
  tracks_.give(of_thread.track, time_ns, static_cast<double>(++of_thread.times));
}

void ThreadCounters::endThread(uint32_t process, uint32_t tid) {
  migrations_.erase({process, tid});
  const auto found = threads_.find({process, tid});
  if (found == threads_.end()) return;
  give(process, tid, found->second);
  threads_.erase(found);
}

void ThreadCounters::finish() {
  for (auto& [thread, counted] : threads_) give(thread.first, thread.second, counted);
  threads_.clear();
}

}  // namespace tracesmith
