// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <tracesmith/tracesmith.hpp>

#include "goals.hpp"

namespace ts = tracesmith;

namespace goals {
namespace {

/// Replays the recording of opencl_demo in a separate process.
ts::ReplayResult replayed(const Place& place, const ts::ReplayConfig& config) {
  ts::ReplayEngine engine;
  ts::ReplayResult result;
  if (auto loaded = engine.loadTrace(place.work + "/run.sbt"); !loaded) {
    result.errors.push_back(loaded.error().toString());
    return result;
  }
  return engine.replay(config);
}

std::string figure(const ts::ReplayResult& result) {
  if (!result.errors.empty()) return result.errors.front();
  return fmt::format("{} of {} calls executed, {} of {} read-backs equal",
                     result.operations_executed, result.operations_total, result.read_backs_equal,
                     result.read_backs);
}

Outcome whole(const Place& place) {
  const auto result = replayed(place, {});
  return judged(result.success && !result.simulated && result.operations_executed > 0,
                figure(result));
}

Outcome oneStream(const Place& place) {
  ts::ReplayEngine engine;
  if (auto loaded = engine.loadTrace(place.work + "/run.sbt"); !loaded)
    return judged(false, loaded.error().toString());
  std::set<uint32_t> streams;
  for (const auto& operation : engine.operations()) {
    if (operation.event.type == ts::EventType::KernelLaunch ||
        operation.event.type == ts::EventType::KernelComplete)
      streams.insert(operation.stream_id);
  }
  if (streams.empty()) return judged(false, "the recording has no stream with a kernel");
  ts::ReplayConfig config;
  config.mode = ts::ReplayMode::StreamSpecific;
  config.stream_id = *streams.begin();
  const auto result = engine.replay(config);
  return judged(result.success && !result.simulated && result.operations_executed > 0 &&
                    result.operations_skipped > 0,
                figure(result));
}

/// The number after `"name": ` in JSON; 0 if it is missing.
uint64_t numberIn(const std::string& json, const std::string& name) {
  const size_t at = json.find("\"" + name + "\": ");
  return at == std::string::npos ? 0 : std::strtoull(&json[at + name.size() + 4], nullptr, 10);
}

Outcome part(const Place& place) {
  const Run done =
      run(place, "tracesmith", "replay run.sbt --mode partial --range kernel:matrixMul --json");
  const Run all = run(place, "tracesmith", "replay run.sbt --json");
  const uint64_t executed = numberIn(done.output, "executed");
  const uint64_t launches = numberIn(done.output, "launches");
  const uint64_t of = numberIn(all.output, "launches");
  return judged(done.code == 0 && all.code == 0 && launches > 0 && launches < of,
                fmt::format("{} of {} launches, {} calls executed", launches, of, executed));
}

Outcome deterministic(const Place& place) {
  const auto result = replayed(place, {});
  return judged(
      result.deterministic && result.read_backs > 0 && result.read_backs == result.read_backs_equal,
      figure(result));
}

Outcome otherOrders(const Place& place) {
  const Run done = run(place, "tracesmith", "replay run.sbt --order random --runs 3 --seed 1");
  return judged(done.code == 0, "3 legal orders drawn at random, all with the recorded results");
}

Outcome emulated(const Place& place) {
  ts::ReplayConfig config;
  config.device = "simulated";
  config.validate_timing = true;
  const auto result = replayed(place, config);
  return judged(
      result.success && result.simulated && result.operations_executed == 0 &&
          result.order_violations + result.timing_violations == 0,
      fmt::format("{} operations on a virtual clock in {:.1f} ms; recorded {:.1f} ms",
                  result.operations_simulated, static_cast<double>(result.replay_duration) / 1e6,
                  static_cast<double>(result.original_duration) / 1e6));
}

/// The page of Studio with the trace in it, as plain files.
Outcome studio(const Place& place) {
  const Run done = run(place, "tracesmith", "studio run.sbt --static site");
  const bool page = std::filesystem::exists(place.work + "/site/index.html");
  return judged(done.code == 0 && page, page ? "a page with the trace" : done.output);
}

Outcome python() {
  FILE* pipe =
      popen("python3 -c 'import tracesmith; print(tracesmith.__version__)' 2>/dev/null", "r");
  char version[64] = {};
  const bool there = pipe != nullptr && fgets(version, sizeof(version), pipe) != nullptr;
  if (pipe != nullptr) pclose(pipe);
  if (!there) return notRun("python3 has no tracesmith here (pip install .)");
  const std::string text(version, std::string_view(version).find_last_not_of('\n') + 1);
  return judged(text == ts::getVersionString(), "version " + text);
}

}  // namespace

std::vector<Goal> replayGoals(const Place& place) {
  const char* four = "Phase 4: replay";
  const char* five = "Phase 5: release";
  return {
      {four, "all streams, on the device", [=] { return whole(place); }},
      {four, "one stream", [=] { return oneStream(place); }},
      {four, "a part", [=] { return part(place); }},
      {four, "the same results, byte by byte", [=] { return deterministic(place); }},
      {four, "the same results in other legal orders", [=] { return otherOrders(place); }},
      {four, "an emulator of the streams' schedule", [=] { return emulated(place); }},
      {five, "a binding for Python", [] { return python(); }},
      {five, "a binding for Rust", [] { return notRun("cargo tries it: script/test rust"); }},
      {five, "TraceSmith Studio", [=] { return studio(place); }},
      {five, "a Docker image, Homebrew", [] { return notRun("script/packages tries them"); }},
  };
}

}  // namespace goals
