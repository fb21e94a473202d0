// SPDX-License-Identifier: Apache-2.0
// Draws the timeline of a trace, and writes it for a viewer.
//   timeline_example TRACE [PERFETTO_FILE]     (default timeline_example.perfetto-trace)
// TRACE: what `tracesmith profile` or basic_example has written. Exits with 1 if anything failed.
#include <cstdio>
#include <map>
#include <string>
#include <tracesmith/tracesmith.hpp>

namespace ts = tracesmith;

namespace {

int fail(const std::string& why) {
  std::fprintf(stderr, "timeline_example: %s\n", why.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return fail("which trace? tracesmith profile -o run.sbt -- ./opencl_demo makes one");
  const std::string path = argc > 2 ? argv[2] : "timeline_example.perfetto-trace";
  ts::SBTReader reader(argv[1]);
  ts::TraceRecord record;
  if (!reader.readAll(record)) return fail(std::string(argv[1]) + ": cannot be read");

  ts::TimelineBuilder builder;
  builder.addEvents(record.events());
  const ts::Timeline timeline = builder.build();
  std::fputs(ts::TimelineViewer().render(timeline).c_str(), stdout);
  std::printf("kernels   %.1f %% of %.3f ms\n", 100 * timeline.gpu_utilization,
              static_cast<double>(timeline.total_duration) / 1e6);
  std::printf("at once   %u operations at most\n",
              static_cast<unsigned>(timeline.max_concurrent_ops));
  std::map<std::string, std::pair<size_t, ts::Timestamp>> kernels;
  for (const ts::TraceEvent& event : record.events()) {
    if (event.type != ts::EventType::KernelComplete) continue;
    auto& [count, ns] = kernels[event.name];
    ++count;
    ns += event.duration;
  }
  for (const auto& [name, sums] : kernels) {
    std::printf("kernel    %s: %zu launches, %.1f us\n", name.c_str(), sums.first,
                static_cast<double>(sums.second) / 1000);
  }

  ts::PerfettoExporter exporter;
  exporter.setEnableGPUTracks(true);
  exporter.setEnableFlowEvents(true);  // from launches to their work
  if (!exporter.exportToFile(record.events(), path)) return fail(path + ": was not written");
  std::printf("wrote     %s: open it at https://ui.perfetto.dev\n", path.c_str());
  return 0;
}
