// SPDX-License-Identifier: Apache-2.0
// Dependencies of a million operations, and the time for twice as many, which must be linear.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/state/operation_graph.hpp"

using namespace tracesmith;  // NOLINT: a program of two functions

namespace {

/// 8 streams, a host wait after every 50 launches, occasional events between streams.
Trace traceOf(size_t operations) {
  Trace trace;
  std::mt19937_64 random(3);
  trace.device.push({.id = idAt<DeviceId>(0)});
  for (size_t s = 0; s < 8; ++s) {
    trace.stream.push({.id = idAt<StreamId>(s), .device_id = idAt<DeviceId>(0)});
  }
  int64_t host = 0;
  int64_t ends[8] = {};
  for (size_t i = 0; i < operations; ++i) {
    const uint64_t id = i + 1;
    host += 2000;
    const size_t s = random() % 8;
    if (i % 50 == 49) {
      trace.sync.push({.start_ns = host,
                       .duration_ns = std::max<int64_t>(ends[s] - host, 1),
                       .kind = SyncKind::kStreamWait,
                       .thread_id = ThreadId{1},
                       .stream_id = idAt<StreamId>(s),
                       .correlation_id = id,
                       .flags = op_flags::kHostSide});
      host = std::max(host, ends[s]);
      continue;
    }
    trace.host_call.push({.start_ns = host,
                          .duration_ns = 1500,
                          .thread_id = ThreadId{1},
                          .correlation_id = id,
                          .kind = CallKind::kLaunch});
    const int64_t start = std::max(host + 5000, ends[s] + 800);
    const auto duration = static_cast<int64_t>(1000 + random() % 15000);
    ends[s] = start + duration;
    trace.kernel.push({.start_ns = start,
                       .duration_ns = duration,
                       .stream_id = idAt<StreamId>(s),
                       .correlation_id = id});
    if (i % 20 == 0 && i > 100) {
      trace.flow.push({.from_correlation_id = id - 1 - random() % 20,
                       .to_correlation_id = id,
                       .kind = FlowKind::kWait});
    }
  }
  return trace;
}

double measure(size_t operations) {
  const Trace trace = traceOf(operations);
  double best = 1e9;
  size_t dependencies = 0;
  for (int round = 0; round < 3; ++round) {
    const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
    const OperationGraph graph = OperationGraph::of(trace);
    const size_t ordered = graph.executionOrder().size();
    best = std::min(best, static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - from) / 1e9);
    dependencies = graph.dependencies.size();
    if (ordered != graph.operations.size()) std::abort();
  }
  std::printf("%zu operations, %zu dependencies, with their order: %.3f s\n", operations,
              dependencies, best);
  return best;
}

}  // namespace

int main() {
  const double one = measure(1'000'000);
  const double two = measure(2'000'000);
  std::printf("twice as many take %.2f times as long\n", two / one);
  return 0;
}
