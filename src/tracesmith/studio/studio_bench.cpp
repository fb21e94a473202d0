// SPDX-License-Identifier: Apache-2.0
// Time and memory of tiles: 10 M items in 64 lanes.
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"
#include "tracesmith/studio/studio_trace.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kItems = 10'000'000;
constexpr size_t kLanes = 64;
constexpr double kBarBuildS = 0.25;
constexpr double kBarMemory = 0.15;
constexpr double kBarTilesMs = 1;
constexpr double kBarOpenBytes = 4e9;  // of a trace of 100 million events
constexpr double kBarServer = 0.3;     // of the memory of the columns, beside them

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Trace manyKernels() {
  std::mt19937 random(1);
  test::SampleTrace s;
  const DeviceId device = s.device("GPU");
  const ProcessId process = s.process(1, "p");
  std::vector<StringId> names;
  for (int i = 0; i < 200; ++i) names.push_back(s.text("kernel_" + std::to_string(i)));
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const StreamId stream = s.stream(device, process);
    int64_t at = 0;
    for (size_t i = 0; i < kItems / kLanes; ++i) {
      at += random() % 3'000;
      if (random() % 20'000 == 0) at += 5'000'000;
      const int64_t duration = 500 + random() % 20'000;
      s.trace.kernel.push({.start_ns = at,
                           .duration_ns = duration,
                           .name = names[random() % names.size()],
                           .process_id = process,
                           .stream_id = stream});
      at += duration;
    }
  }
  return std::move(s.trace);
}

int run() {
  const Trace trace = manyKernels();
  const TimelineRows rows = timelineRowsOf(trace, *EventMatcher::of(trace, {}));
  const ItemNames names(trace);
  const TileSet tiles(rows, names);
  auto start = std::chrono::steady_clock::now();
  tiles.makeAll();
  const double build_s = secondsSince(start);
  const double memory =
      static_cast<double>(tiles.bytes()) / static_cast<double>(kItems * sizeof(DeviceSpan));

  // A picture of 2,000 pixels of all lanes: the whole range.
  const int64_t length = rows.end_ns - rows.zero_ns;
  int level = 0;
  while (length >> level > 2'000) ++level;
  std::vector<TileKey> keys;
  for (uint32_t lane = 0; lane < rows.rows.size(); ++lane) {
    for (uint64_t index = 0; index * kTileCells <= static_cast<uint64_t>(length >> level);
         ++index) {
      keys.push_back({lane, level, index});
    }
  }
  double best_ms = 1e9;
  size_t bytes = 0;
  for (int i = 0; i < 20; ++i) {
    start = std::chrono::steady_clock::now();
    bytes = tiles.bytesOf(keys).size();
    best_ms = std::min(best_ms, 1e3 * secondsSince(start));
  }
  fmt::print(
      "{} items in {} lanes: tiles made in {:.3f} s (bar: {}), {:.1f} % of the items' memory (bar: "
      "{:.0f} %)\n",
      kItems, kLanes, build_s, kBarBuildS, 100 * memory, 100 * kBarMemory);
  fmt::print("{} tiles of the whole range, {} bytes: {:.2f} ms (bar: {})\n", keys.size(), bytes,
             best_ms, kBarTilesMs);
  return build_s <= kBarBuildS && memory <= kBarMemory && best_ms <= kBarTilesMs ? 0 : 1;
}

/// Memory of this process in bytes, without what is only kept for later use.
double residentBytes() {
  malloc_trim(0);
  std::ifstream in("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  in >> all >> resident;
  return static_cast<double>(resident * 4096);
}

/// The most memory that this process had since resetPeak().
double peakBytes() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return 1024 * std::strtod(line.c_str() + 6, nullptr);
  }
  return 0;
}
void resetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

template <class T>
T valueOr(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().toString());
  std::exit(1);
}

/// How much memory it takes to open a file, and how much beside the columns when all have been
/// read.
int runFile(const char* path) {
  const double empty = residentBytes();
  double columns = 0;
  {
    TraceReader reader = valueOr(TraceReader::open(path));
    const Trace whole = valueOr(reader.read());
    columns = residentBytes() - empty;
  }
  resetPeak();
  const double before = residentBytes();
  auto start = std::chrono::steady_clock::now();
  TraceTables tables = valueOr(TraceTables::open(valueOr(TraceReader::open(path))));
  if (const Status read = readTimeline(tables); !read) {
    fmt::print(stderr, "{}\n", read.error().toString());
    return 1;
  }
  const double read_s = secondsSince(start);
  const StudioTrace trace({.path = path}, std::move(tables));
  trace.tiles().makeAll();
  const double open_s = secondsSince(start);
  const double peak = peakBytes() - before;
  start = std::chrono::steady_clock::now();
  if (const Status rest = trace.readRest(); !rest) {
    fmt::print(stderr, "{}\n", rest.error().toString());
    return 1;
  }
  const double rest_s = secondsSince(start);
  const double beside = (residentBytes() - before - columns) / columns;
  fmt::print(
      "{} items of a file: ready after {:.2f} s, {:.2f} of them to read what the timeline shows, "
      "with "
      "at most {:.0f} MiB (bar: {:.0f}); all columns {:.2f} s later: {:.0f} MiB, and {:.1f} % "
      "beside them (bar: {:.0f} %)\n",
      trace.rows().items, open_s, read_s, peak / (1 << 20), kBarOpenBytes / (1 << 20), rest_s,
      columns / (1 << 20), 100 * beside, 100 * kBarServer);
  return beside <= kBarServer && peak <= kBarOpenBytes ? 0 : 1;
}

}  // namespace
}  // namespace tracesmith::studio

/// Usage: studio_bench [TRACE]
int main(int argc, char** argv) {
  return argc > 1 ? tracesmith::studio::runFile(argv[1]) : tracesmith::studio::run();
}
