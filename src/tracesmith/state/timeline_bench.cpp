// SPDX-License-Identifier: Apache-2.0
// 10 M spans of 64 streams: from columns to a timeline, compared with sorting all edges with
// std::sort, the straightforward method.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/state/timeline_builder.hpp"

using namespace tracesmith;  // NOLINT: a program of one function

namespace {

double seconds(int64_t from) {
  return static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - from) / 1e9;
}

long residentMiB() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t spans = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const size_t streams = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 64;
  Trace trace;
  trace.device.push({.id = idAt<DeviceId>(0)});
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> gap(1 / 1500.0);
  std::vector<int64_t> durations(65536);
  for (int64_t& d : durations) d = static_cast<int64_t>(8000 * std::exp(normal(random))) + 1;
  trace.kernel.reserve(spans);
  for (size_t s = 0; s < streams; ++s) {
    trace.stream.push({.id = idAt<StreamId>(s), .device_id = idAt<DeviceId>(0)});
    int64_t t = static_cast<int64_t>(random() % 100000);
    for (size_t i = 0; i < spans / streams; ++i) {
      t += static_cast<int64_t>(gap(random));
      // Some start before their predecessor has ended.
      const int64_t start = i % 50 == 49 && t > 1000 ? t - 500 : t;
      const int64_t duration = durations[random() & 65535];
      trace.kernel.push({.start_ns = start,
                         .duration_ns = duration,
                         .name = StringId{1},
                         .stream_id = idAt<StreamId>(s),
                         .correlation_id = i + 1});
      t = std::max(t, start + duration);
    }
  }
  trace.strings.intern("kernel");
  const size_t n = trace.kernel.size();
  const long before = residentMiB();
  double best = 1e9;
  Timeline timeline;
  for (int round = 0; round < 3; ++round) {
    timeline = {};
    const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
    timeline = timelineOf(trace);
    best = std::min(best, seconds(from));
  }
  const long after = residentMiB();
  std::printf(
      "%zu spans of %zu streams: %.3f s, %.1f ns and %.1f B a span (peak, beside the trace)\n", n,
      streams, best, best / static_cast<double>(n) * 1e9,
      static_cast<double>(after - before) * 1048576 / static_cast<double>(n));
  std::printf("utilization %.4f, at most %u at once\n", timeline.gpu_utilization,
              timeline.max_concurrent_ops);
  if (n > 20'000'000) return 0;
  const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  std::vector<uint64_t> edges;
  edges.reserve(2 * n);
  for (size_t i = 0; i < n; ++i) {
    const auto start = static_cast<uint64_t>(trace.kernel.start_ns[i]);
    edges.push_back(start << 1 | 1);
    edges.push_back((start + static_cast<uint64_t>(trace.kernel.duration_ns[i])) << 1);
  }
  std::sort(edges.begin(), edges.end());
  uint32_t open = 0;
  uint32_t most = 0;
  int64_t busy = 0;
  uint64_t last = 0;
  for (const uint64_t e : edges) {
    if (open > 0) busy += static_cast<int64_t>((e >> 1) - last);
    last = e >> 1;
    open += (e & 1) != 0 ? 1 : -1u;
    most = std::max(most, open);
  }
  std::printf(
      "sorting all edges: %.3f s, the same: %s\n", seconds(from),
      most == timeline.max_concurrent_ops && busy == timeline.devices.at(0).busy_ns ? "yes" : "NO");
  return 0;
}
