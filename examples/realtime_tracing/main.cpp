// SPDX-License-Identifier: Apache-2.0
// A program that records itself and is observed while it runs: threads emit events and counters,
// and the main thread prints what has been recorded so far.
//   realtime_tracing [MILLISECONDS] [FILE]     (default 1000 realtime_tracing.perfetto-trace)
// Exits with 1 if something failed, or if events are missing that were not counted as dropped.
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <tracesmith/tracesmith.hpp>
#include <vector>

namespace {

using std::chrono::milliseconds;

int fail(const std::string& why) {
  std::fprintf(stderr, "realtime_tracing: %s\n", why.c_str());
  return 1;
}

/// Sums numbers in steps, and records each step.
void work(tracesmith::TracingSession& session, const std::atomic<bool>& stop, int number) {
  const auto step = session.spanName("sum");
  const std::string counter = "sum of thread " + std::to_string(number);
  double sum = 0;
  for (int i = 0; !stop; ++i) {
    {
      const tracesmith::TracingSession::Span span(session, step);
      for (int k = 1; k <= 20'000; ++k) sum += 1.0 / (k + i);
    }
    if (i % 50 == 0) session.emitCounter(counter, sum);
    if (i % 100 == 0) {
      // An event with all the data that a TraceEvent can have; a span costs far less.
      tracesmith::TraceEvent event(tracesmith::EventType::Marker);
      event.name = "a hundred steps";
      event.metadata["thread"] = std::to_string(number);
      session.emit(event);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int duration_ms = argc > 1 ? std::atoi(argv[1]) : 1000;
  const std::string path = argc > 2 ? argv[2] : "realtime_tracing.perfetto-trace";
  if (duration_ms < 1) return fail("usage: realtime_tracing [MILLISECONDS] [FILE]");

  tracesmith::TracingSession session;
  tracesmith::TracingConfig config;
  config.buffer_size_kb = 8192;
  config.flush_interval_ms = 50;
  if (auto started = session.start(config); !started) return fail(started.error().toString());

  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&, i] { work(session, stop, i); });
  const auto begin = std::chrono::steady_clock::now();
  for (int shown = 1; shown <= 4; ++shown) {
    std::this_thread::sleep_until(begin + milliseconds(duration_ms) * shown / 4);
    const auto now = session.getStatistics();
    std::printf("%6.0f ms  %8" PRIu64 " events, %" PRIu64 " counter values, %" PRIu64 " dropped\n",
                now.duration_ms(), now.events_emitted, now.counters_emitted, now.events_dropped);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  if (auto stopped = session.stop(); !stopped) return fail(stopped.error().toString());
  if (auto written = session.exportToFile(path); !written) return fail(written.error().toString());

  const auto all = session.getStatistics();
  const size_t kept = session.getEvents().size() + session.getCounters().size();
  std::printf("%.0f events a second; %s: open it at https://ui.perfetto.dev\n",
              static_cast<double>(all.events_emitted) / all.duration_ms() * 1000, path.c_str());
  if (kept + all.events_dropped != all.events_emitted + all.counters_emitted)
    return fail(std::to_string(kept) + " events and counter values are in the trace, too few");
  return 0;
}
