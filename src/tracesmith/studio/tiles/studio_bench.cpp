// SPDX-License-Identifier: Apache-2.0
// Time and memory of tiles: 10 M items in 64 lanes.
#include <fmt/format.h>

#include <chrono>
#include <random>

#include "tracesmith/state/sample_trace_test_util.hpp"
#include "tracesmith/studio/tiles/tile_set.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kItems = 10'000'000;
constexpr size_t kLanes = 64;
constexpr double kBarBuildS = 0.25;
constexpr double kBarMemory = 0.15;
constexpr double kBarTilesMs = 1;

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

}  // namespace
}  // namespace tracesmith::studio

int main() { return tracesmith::studio::run(); }
