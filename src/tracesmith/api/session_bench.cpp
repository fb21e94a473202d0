// SPDX-License-Identifier: Apache-2.0
// The cost of a TracingSession for emitting threads, and the throughput of its drainer, also with
// other processes. For comparison, in the same run: the clock alone, and
// boost::lockfree::spsc_queue if its header is installed. bench/lttng.sh adds LTTng-UST.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "tracesmith/api/tracing_session.hpp"
#include "tracesmith/base/linux/clock_source.hpp"
#include "tracesmith/base/ring_buffer.hpp"

#if __has_include(<boost/lockfree/spsc_queue.hpp>)
#include <boost/lockfree/spsc_queue.hpp>
#define TS_BOOST 1
#endif

namespace tracesmith {
namespace {

constexpr int kBursts = 61;

volatile int64_t g_sink;

/// Median over bursts of the thread's CPU time per call. The pauses between bursts leave time for
/// the drainer; after the first few bursts every page of the ring has been touched.
void measure(
    const char* what, int calls, const std::function<void(int)>& burst,
    const std::function<void()>& between = [] { usleep(12'000); }) {
  std::vector<double> ns;
  for (int b = 0; b < kBursts; ++b) {
    const int64_t begin = clockNs(CLOCK_THREAD_CPUTIME_ID);
    burst(calls);
    const int64_t end = clockNs(CLOCK_THREAD_CPUTIME_ID);
    ns.push_back(static_cast<double>(end - begin) / calls);
    between();
  }
  std::sort(ns.begin() + kBursts / 4, ns.end());
  const auto first = ns.begin() + kBursts / 4;
  std::printf("%-58s %7.1f ns  (best %.1f)\n", what, *(first + (ns.end() - first) / 2), *first);
  std::fflush(stdout);
}

struct Record {
  int64_t begin, end;
  uint64_t name;
};

void emitting() {
  const bool counter = counterIsClockSource();
  const auto nothing = [] {};
  measure(
      "two time stamps alone", 20'000,
      [&](int n) {
        for (int i = 0; i < n; ++i) g_sink = stampNow(counter) - stampNow(counter);
      },
      nothing);
  measure(
      "two clock_gettime alone", 20'000,
      [&](int n) {
        for (int i = 0; i < n; ++i) g_sink = monotonicNs() - monotonicNs();
      },
      nothing);
  {
    RingBuffer<Record> ring(40'000, OverflowPolicy::DropNewest);
    std::vector<Record> out;
    measure(
        "RingBuffer::push of 24 bytes, two time stamps", 20'000,
        [&](int n) {
          for (int i = 0; i < n; ++i) {
            const int64_t begin = stampNow(counter);
            ring.push({begin, stampNow(counter), 5});
          }
        },
        [&] {
          out.clear();
          ring.popBatch(out, 100'000);
        });
  }
#ifdef TS_BOOST
  {
    auto queue = std::make_unique<boost::lockfree::spsc_queue<Record>>(40'000);
    std::vector<Record> out(40'000);
    measure(
        "boost::lockfree::spsc_queue push of 24 bytes, two stamps", 20'000,
        [&](int n) {
          for (int i = 0; i < n; ++i) {
            const int64_t begin = stampNow(counter);
            queue->push({begin, stampNow(counter), 5});
          }
        },
        [&] { queue->pop(out.data(), out.size()); });
  }
#else
  std::printf("boost::lockfree::spsc_queue: not here (libboost-dev)\n");
#endif
  TracingSession session;
  measure("TracingSession, not running: a span", 20'000, [&](int n) {
    for (int i = 0; i < n; ++i) const TracingSession::Span span(session, SpanName{1});
  });
  if (Status ok = session.start({}); !ok) {
    std::printf("cannot start a session: %s\n", ok.error().toString().c_str());
    return;
  }
  const SpanName name = session.spanName("a kernel with a name of usual length");
  const CounterTrack track = session.counterTrack("memory", "bytes");
  measure("TracingSession: a span with a handle, both stamps", 20'000, [&](int n) {
    for (int i = 0; i < n; ++i) const TracingSession::Span span(session, name);
  });
  measure("TracingSession: a marker", 20'000, [&](int n) {
    for (int i = 0; i < n; ++i) session.marker(name);
  });
  measure("TracingSession: a counter with a handle", 20'000, [&](int n) {
    for (int i = 0; i < n; ++i) session.counter(track, i);
  });
  measure("TracingSession: a counter by name", 20'000, [&](int n) {
    for (int i = 0; i < n; ++i) session.emitCounter("memory", i, "bytes");
  });
  TraceEvent event(EventType::Marker);
  event.name = "a kernel with a name of usual length";
  event.duration = 5;
  event.correlation_id = 77;
  measure("TracingSession: a TraceEvent with a name", 3'000, [&](int n) {
    for (int i = 0; i < n; ++i) session.emit(event);
  });
  event.metadata = {{"grid_dim", "256x256x1"}, {"phase", "forward"}};
  event.kernel_params = KernelParams{256, 256, 1, 32, 8, 1, 1024, 40};
  measure("TracingSession: the same with launch shape and metadata", 3'000, [&](int n) {
    for (int i = 0; i < n; ++i) session.emit(event);
  });
  session.stop();
  const auto s = session.getStatistics();
  std::printf("emitted %llu, dropped %llu\n",
              static_cast<unsigned long long>(s.events_emitted + s.counters_emitted),
              static_cast<unsigned long long>(s.events_dropped));
}

/// `producers` forked children emit `spans` each, at `per_second` (0: as fast as possible). This
/// process drains and encodes.
void acrossProcesses(int producers, uint64_t spans, double per_second) {
  TracingSession session;
  const OverflowPolicy policy =
      per_second == 0 ? OverflowPolicy::Block : OverflowPolicy::DropNewest;
  if (Status ok = session.start({.buffer_size_kb = 4096, .max_threads = 16, .overflow = policy});
      !ok) {
    std::printf("cannot start a session: %s\n", ok.error().toString().c_str());
    return;
  }
  const SpanName names[] = {session.spanName("first"), session.spanName("second"),
                            session.spanName("third"), session.spanName("fourth")};
  const int64_t begin = monotonicNs();
  const int64_t cpu_begin = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  std::vector<pid_t> children;
  for (int p = 0; p < producers; ++p) {
    const pid_t pid = fork();
    if (pid == 0) {
      const uint64_t chunk =
          per_second == 0 ? spans : static_cast<uint64_t>(per_second / 1000 * 2);  // 2 ms of them
      int64_t next = monotonicNs();
      for (uint64_t i = 0; i < spans;) {
        const uint64_t end = std::min(spans, i + chunk);
        for (; i < end; ++i) const TracingSession::Span span(session, names[i * 7 % 4]);
        next += 2'000'000;
        const int64_t left = next - monotonicNs();
        if (per_second != 0 && left > 0) usleep(static_cast<useconds_t>(left / 1000));
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) waitpid(pid, nullptr, 0);
  session.stop();
  const double wall = static_cast<double>(monotonicNs() - begin) / 1e9;
  const double cpu = static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin) / 1e9;
  const auto s = session.getStatistics();
  const double taken = static_cast<double>(s.events_emitted - s.events_dropped);
  char rate[40] = "as fast as they can";
  if (per_second != 0) std::snprintf(rate, sizeof rate, "at %.0f M/s", per_second / 1e6);
  std::printf(
      "%d process%s %-20s %6.2f M records/s drained and encoded; %llu of %llu dropped;\n"
      "    the drainer used %.0f %% of a core, %.1f ns a record (%.1f M/s by its own CPU time)\n",
      producers, producers == 1 ? "  " : "es", rate, taken / wall / 1e6,
      static_cast<unsigned long long>(s.events_dropped),
      static_cast<unsigned long long>(s.events_emitted), 100 * cpu / wall, cpu / taken * 1e9,
      taken / cpu / 1e6);
  std::fflush(stdout);
}

}  // namespace
}  // namespace tracesmith

int main() {
  tracesmith::emitting();
  for (int i = 0; i < 3; ++i) tracesmith::acrossProcesses(1, 30'000'000, 0);
  for (int i = 0; i < 3; ++i) tracesmith::acrossProcesses(2, 12'000'000, 4e6);
  return 0;
}
