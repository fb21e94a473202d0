// SPDX-License-Identifier: Apache-2.0
// A project outside the tree: writes a trace with the installed library and reads it back.
#include <cstdio>
#include <tracesmith/tracesmith.hpp>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<tracesmith::TraceEvent> events(2);
  events[0].type = tracesmith::EventType::KernelLaunch;
  events[1].type = tracesmith::EventType::KernelComplete;
  for (auto& event : events) event.name = "vectorAdd";
  events[1].duration = 1500;

  tracesmith::SBTWriter writer(argv[1]);
  if (!writer.isOpen() || !writer.writeEvents(events) || !writer.finalize()) return 1;

  tracesmith::SBTReader reader(argv[1]);
  tracesmith::TraceRecord record;
  if (!reader.isValid() || !reader.readAll(record)) return 1;
  std::printf("read back %zu events\n", record.events().size());

  tracesmith::TimelineBuilder builder;
  builder.addEvents(record.events());
  std::fputs(tracesmith::TimelineViewer().renderStats(builder.build()).c_str(), stdout);

  // There is no recording beside it: it is timed, and not called executed.
  tracesmith::ReplayEngine engine;
  if (!engine.loadTrace(argv[1])) return 1;
  const tracesmith::ReplayResult replay = engine.replay();
  std::fputs(replay.summary().c_str(), stdout);
  if (!replay.success || !replay.simulated || replay.deterministic) return 1;

  const auto profiler = tracesmith::createProfiler(tracesmith::PlatformType::Simulation);
  return profiler->initialize() && profiler->startCapture() && profiler->stopCapture() ? 0 : 1;
}
