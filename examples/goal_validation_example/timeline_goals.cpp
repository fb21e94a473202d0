// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tracesmith/model/clock_map.hpp>
#include <tracesmith/tracesmith.hpp>

#include "goals.hpp"

namespace ts = tracesmith;

namespace goals {
namespace {

ts::Result<ts::Trace> traceOf(const Place& place, const char* name = "run.sbt") {
  auto reader = ts::TraceReader::open(place.work + "/" + name);
  if (!reader) return tl::unexpected(reader.error());
  return reader->read();
}

Outcome states(const Place& place) {
  const Run recorded =
      run(place, "tracesmith",
          "profile -q -o waits.sbt -- '" + place.bin + "/goal_validation_example' --two-queues");
  if (recorded.code != 0) return judged(false, recorded.output);
  auto trace = traceOf(place, "waits.sbt");
  if (!trace) return judged(false, trace.error().toString());
  ts::GPUStateMachine machine;
  machine.processTrace(std::move(*trace));
  std::set<ts::GPUState> seen;
  size_t transitions = 0;
  bool in_time = true;
  for (const auto& history : machine.exportHistory()) {
    ts::Timestamp last = 0;
    for (const auto& step : history.transitions) {
      seen.insert({step.from, step.to});
      in_time = in_time && step.when >= last;
      last = step.when;
      ++transitions;
    }
  }
  std::string names;
  for (ts::GPUState state : seen) names += fmt::format(" {}", ts::toString(state));
  return judged(seen.size() == ts::kGpuStates && in_time,
                fmt::format("{} transitions; states:{}", transitions, names));
}

Outcome streams(const Place& place) {
  auto trace = traceOf(place);
  if (!trace) return judged(false, trace.error().toString());
  const ts::Timeline timeline = ts::timelineOf(*trace);
  const size_t streams = ts::streamsOf(timeline).size();
  return judged(streams >= 2 && timeline.spans.size() > 0,
                fmt::format("{} streams, {} pieces of work, at most {} at once", streams,
                            timeline.spans.size(), timeline.max_concurrent_ops));
}

Outcome clocks(const Place& place) {
  const Run info = run(place, "tracesmith", "info run.sbt");
  const size_t at = info.output.find("error bound");
  if (at == std::string::npos) return judged(false, "the trace names no bound");
  // The first clock's line: name, snapshots, bound.
  const size_t bound = info.output.find("±", at);
  if (bound == std::string::npos) return judged(false, "the trace names no bound");
  return judged(true, "device times are host times " +
                          info.output.substr(bound, info.output.find("  ", bound) - bound));
}

Outcome pictures(const Place& place) {
  const Run view = run(place, "tracesmith", "view --timeline run.sbt");
  const Run perfetto = run(place, "tracesmith", "export -f perfetto -o run.pftrace run.sbt");
  std::error_code ec;
  const auto bytes = std::filesystem::file_size(place.work + "/run.pftrace", ec);
  return judged(view.code == 0 && view.output.find("stream 1") != std::string::npos &&
                    perfetto.code == 0 && !ec && bytes > 0,
                fmt::format("{} bytes for Perfetto, {} lines in the terminal", ec ? 0 : bytes,
                            std::count(view.output.begin(), view.output.end(), '\n')));
}

}  // namespace

std::vector<Goal> timelineGoals(const Place& place) {
  const char* three = "Phase 3: states and timeline";
  return {
      {three, "idle, pending, running, waiting, finished", [=] { return states(place); }},
      {three, "streams side by side", [=] { return streams(place); }},
      {three, "device times on the host's clock, with a bound", [=] { return clocks(place); }},
      {three, "a timeline to look at, in the terminal and Perfetto",
       [=] { return pictures(place); }},
      {three, "times of several machines", [] { return absent("a trace is of one machine"); }},
  };
}

}  // namespace goals
