// SPDX-License-Identifier: Apache-2.0
// Cost of a decision of the stream scheduler: handing out an operation and taking its completion,
// with 10,000 streams and a million dependent operations. Limit: 1,000 ns.
#include <time.h>

#include <cstdio>

#include "tracesmith/replay/stream_scheduler.hpp"

namespace {

/// Processor time, so that other load on the machine does not count.
int64_t cpuNs() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

int main() {
  using namespace tracesmith;
  constexpr uint64_t kStreams = 10'000;
  for (const auto policy : {SchedulingPolicy::RoundRobin, SchedulingPolicy::Priority,
                            SchedulingPolicy::OriginalTiming}) {
    for (const uint64_t n : {uint64_t{100'000}, uint64_t{1'000'000}}) {
      StreamScheduler scheduler(policy);
      const int64_t begin = cpuNs();
      for (uint64_t id = 0; id < n; ++id) {
        StreamOperation op;
        op.operation_id = id;
        op.stream_id = static_cast<uint32_t>(id % kStreams);
        op.event.timestamp = id * 7919 % n;
        op.priority = static_cast<int64_t>(id * 104729 % 1000);
        if (id > 3 * kStreams) op.depends_on = {id - kStreams - 17, id - 2 * kStreams + 5};
        if (!scheduler.addOperation(std::move(op))) return 1;
      }
      const int64_t added = cpuNs();
      if (!scheduler.check()) return 1;
      const int64_t checked = cpuNs();
      while (const StreamOperation* op = scheduler.getNextOperation()) {
        if (!scheduler.markCompleted(op->operation_id)) return 1;
      }
      const int64_t end = cpuNs();
      if (!scheduler.allCompleted()) return 1;
      const auto each = [&](int64_t ns) {
        return static_cast<double>(ns) / static_cast<double>(n);
      };
      std::printf("%-15s %8llu operations  added in %4.0f ns each, checked %4.0f, decided %4.0f\n",
                  std::string(toString(policy)).c_str(), static_cast<unsigned long long>(n),
                  each(added - begin), each(checked - added), each(end - checked));
    }
  }
}
