// SPDX-License-Identifier: Apache-2.0
// Time and memory of tiles: 10 M items in 64 lanes.
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
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
constexpr double kBarServer = 0.3;  // of the memory of the columns, beside them

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

/// What Studio needs beside the columns of a file.
int runFile(const char* path) {
  const double empty = residentBytes();
  Result<TraceReader> reader = TraceReader::open(path);
  Result<Trace> read = reader ? reader->read() : tl::unexpected(reader.error());
  if (!read) {
    fmt::print(stderr, "{}\n", read.error().toString());
    return 1;
  }
  const double columns = residentBytes() - empty;
  const auto start = std::chrono::steady_clock::now();
  const StudioTrace trace({.path = path}, std::move(*read));
  trace.tiles().makeAll();
  const double seconds = secondsSince(start);
  const double beside = (residentBytes() - empty - columns) / columns;
  fmt::print(
      "{} items of a file: ready {:.2f} s after reading; {:.0f} MiB of columns, {:.1f} % beside "
      "them (bar: {:.0f} %)\n",
      trace.rows().items, seconds, columns / (1 << 20), 100 * beside, 100 * kBarServer);
  return beside <= kBarServer ? 0 : 1;
}

}  // namespace
}  // namespace tracesmith::studio

/// Usage: studio_bench [TRACE]
int main(int argc, char** argv) {
  return argc > 1 ? tracesmith::studio::runFile(argv[1]) : tracesmith::studio::run();
}
