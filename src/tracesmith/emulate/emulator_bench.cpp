// SPDX-License-Identifier: Apache-2.0
// A million operations on 8 streams, launched by two threads that wait occasionally: time to build
// the graph, to emulate it, and to change it; also for twice as many.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/emulate/emulator.hpp"
#include "tracesmith/emulate/what_if.hpp"

using namespace tracesmith;  // NOLINT: a program of three functions

namespace {

Trace traceOf(size_t operations) {
  Trace trace;
  std::mt19937_64 random(3);
  trace.process.push({.id = idAt<ProcessId>(0), .pid = 1});
  trace.device.push({.id = idAt<DeviceId>(0)});
  for (size_t s = 0; s < 8; ++s) {
    trace.stream.push({.id = idAt<StreamId>(s),
                       .process_id = idAt<ProcessId>(0),
                       .device_id = idAt<DeviceId>(0)});
  }
  std::vector<StringId> names;
  for (int i = 0; i < 100; ++i)
    names.push_back(trace.strings.intern("kernel " + std::to_string(i)));
  const StringId launch = trace.strings.intern("cudaLaunchKernel");
  const StringId sync = trace.strings.intern("cudaStreamSynchronize");
  int64_t host[2] = {0, 500};
  int64_t ends[8] = {};
  for (size_t i = 0; i < operations; ++i) {
    const uint64_t id = i + 1;
    const size_t t = i % 2;
    const size_t s = random() % 4 * 2 + t;
    host[t] += 3000;
    if (i % 50 >= 48) {
      const int64_t end = std::max(host[t] + 1000, ends[s] + 3000);
      trace.host_call.push({.start_ns = host[t],
                            .duration_ns = end - host[t],
                            .name = sync,
                            .process_id = idAt<ProcessId>(0),
                            .thread_id = idAt<ThreadId>(t),
                            .stream_id = idAt<StreamId>(s),
                            .correlation_id = id,
                            .kind = CallKind::kSync});
      host[t] = end;
      continue;
    }
    trace.host_call.push({.start_ns = host[t],
                          .duration_ns = 2000,
                          .name = launch,
                          .process_id = idAt<ProcessId>(0),
                          .thread_id = idAt<ThreadId>(t),
                          .correlation_id = id,
                          .kind = CallKind::kLaunch});
    const int64_t start = std::max(host[t] + 6000, ends[s] + 900);
    const auto duration = static_cast<int64_t>(1000 + random() % 15000);
    ends[s] = start + duration;
    trace.kernel.push({.start_ns = start,
                       .duration_ns = duration,
                       .name = names[random() % names.size()],
                       .process_id = idAt<ProcessId>(0),
                       .stream_id = idAt<StreamId>(s),
                       .correlation_id = id});
  }
  return trace;
}

template <class F>
double seconds(F&& f) {
  const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  f();
  return static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - from) / 1e9;
}

template <class T>
T orDie(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().toString().c_str());
  std::exit(1);
}

double measure(size_t operations) {
  const Trace trace = traceOf(operations);
  EmulatorGraph graph;
  Emulation times;
  const double made = seconds([&] { graph = orDie(emulatorGraph(trace)); });
  const double run = seconds([&] { times = orDie(emulate(graph)); });
  WhatIf change;
  change.scale.push_back(orDie(WhatIf::parseScale("kernel=kernel 1:0.5")));
  change.streams = 16;
  double after = 0;
  const double changing = seconds([&] {
    std::vector<WhatIfEffect> effects;
    const EmulatorGraph other = orDie(changed(trace, graph, change, effects));
    after = static_cast<double>(orDie(emulate(other)).makespan());
  });
  std::printf(
      "%zu operations and calls, %zu edges: graph %.2f s, emulation %.2f s, change and emulation "
      "%.2f s; makespan %+.2f %% of the recorded, changed %.2f of it\n",
      operations, graph.edges.size(), made, run, changing,
      100 * (static_cast<double>(times.makespan()) /
                 static_cast<double>(graph.end_ns - graph.begin_ns) -
             1),
      after / static_cast<double>(times.makespan()));
  return made + run;
}

}  // namespace

int main() {
  const double one = measure(1'000'000);
  const double two = measure(2'000'000);
  std::printf("twice as many take %.2f times as long\n", two / one);
  return 0;
}
