// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/tiles/tile_pyramid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith::studio {
namespace {

constexpr int64_t kZeroNs = 1'000;

LaneItems kernelsOf(const Trace& trace) {
  TableRows kernels{TableId::kKernel, {}};
  for (uint32_t i = 0; i < trace.kernel.size(); ++i) kernels.rows.push_back(i);
  return LaneItems(trace, {std::move(kernels)});
}

/// Kernels "0" to "4" in bursts, so that cells of a level have from none to thousands of items.
struct Lane {
  explicit Lane(int items, unsigned seed) {
    std::mt19937 random(seed);
    test::SampleTrace s;
    const StreamId stream = s.stream(s.device("GPU"), s.process(1, "p"));
    int64_t at = kZeroNs + static_cast<int64_t>(random() % 5'000);
    for (int i = 0; i < items; ++i) {
      at += static_cast<int64_t>(random() % 4);
      if (random() % 50 == 0) at += static_cast<int64_t>(random() % 100'000);
      int64_t duration = static_cast<int64_t>(random() % 9);  // 0: an empty item
      if (random() % 100 == 0) duration = static_cast<int64_t>(random() % 50'000);
      s.kernel(std::to_string(random() % 5), stream, at, duration, 1);
      at += std::max<int64_t>(duration, 1);
    }
    trace = std::move(s.trace);
    std::vector<ItemKind> kinds;
    for (uint32_t i = 0; i < trace.kernel.size(); ++i) {
      kinds.push_back(static_cast<ItemKind>(i % kItemKinds));
    }
    lane = TimelineLane(kernelsOf(trace), std::move(kinds));
  }
  Trace trace;
  TimelineLane lane;
};

/// Compares cells with what the items say, one by one.
void expectCells(const Lane& of, int level, uint64_t first, std::span<const TileCell> cells) {
  for (size_t c = 0; c < cells.size(); ++c) {
    const auto begin = kZeroNs + static_cast<int64_t>((first + c) << level);
    const auto end = kZeroNs + static_cast<int64_t>((first + c + 1) << level);
    const auto [from, to] = of.lane.within(begin, end);
    int64_t busy = 0;
    uint32_t starts = 0;
    for (size_t i = from; i < to; ++i) {
      const DeviceSpan item = of.lane.items()[i];
      busy += lengthOf(std::max(begin, item.begin_ns), std::min(end, item.end_ns));
      starts += item.begin_ns >= begin ? 1 : 0;
    }
    const TileCell& cell = cells[c];
    ASSERT_EQ(cell.starts, starts) << "level " << level << ", cell " << first + c;
    const double part = std::ldexp(static_cast<double>(busy), -level);
    ASSERT_NEAR(cell.busy / 65535.0, part, 1.01 / 65535) << "level " << level;
    ASSERT_EQ(cell.busy > 0, busy > 0);
    ASSERT_EQ(cell.item == TileCell::kNoItem, from == to);
    if (from == to) continue;
    ASSERT_GE(cell.item, from);
    ASSERT_LT(cell.item, to);
    ASSERT_EQ(cell.kind, static_cast<uint16_t>(of.lane.kind(cell.item)));
    ASSERT_EQ(of.trace.text(StringId{cell.name}), of.trace.text(of.trace.kernel.name[cell.item]));
  }
}

TEST(TilePyramid, EveryLevelSaysWhatTheItemsSay) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Lane of(static_cast<int>(1 + seed * 97), seed);
    const ItemNames names(of.trace);
    const TilePyramid pyramid(of.lane, names, kZeroNs);
    const uint64_t length = static_cast<uint64_t>(of.lane.items().back().end_ns - kZeroNs) + 1;
    for (int level = 0; level < 30; ++level) {
      std::vector<TileCell> cells(std::min<uint64_t>((length >> level) + 3, 600));
      const uint64_t first = level < 8 ? (length >> level) / 3 : 0;
      pyramid.cells(level, first, cells);
      expectCells(of, level, first, cells);
    }
  }
}

TEST(TilePyramid, TheItemOfACellTakesTheMostOfIt) {
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("GPU"), s.process(1, "p"));
  s.kernel("short", stream, 0, 10, 1);
  s.kernel("long", stream, 10, 900, 1);
  s.kernel("last", stream, 910, 100, 1);
  const TimelineLane lane(kernelsOf(s.trace), std::vector<ItemKind>(3, ItemKind{}));
  const ItemNames names(s.trace);
  const TilePyramid pyramid(lane, names, 0);
  for (const int level : {10, 20, kHighestLevel}) {
    TileCell cell;
    pyramid.cells(level, 0, {&cell, 1});
    EXPECT_EQ(cell.item, 1U) << "level " << level;
    EXPECT_EQ(cell.starts, 3U);
  }
}

TEST(TilePyramid, AnEmptyLaneHasNothing) {
  const Trace trace;
  const TimelineLane lane;
  const ItemNames names(trace);
  const TilePyramid pyramid(lane, names, 0);
  std::vector<TileCell> cells(3, TileCell{.busy = 1});
  for (const int level : {0, 30, kHighestLevel}) {
    pyramid.cells(level, 0, cells);
    EXPECT_EQ(cells, std::vector<TileCell>(3));
  }
}

TEST(TilePyramid, TakesTimesUpToTheEndOfTime) {
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("GPU"), s.process(1, "p"));
  s.kernel("first", stream, 0, 10, 1);
  s.kernel("last", stream, INT64_MAX - 5, 5, 1);
  const TimelineLane lane(kernelsOf(s.trace), {ItemKind{}, ItemKind{}});
  const ItemNames names(s.trace);
  const TilePyramid pyramid(lane, names, 0);
  std::vector<TileCell> cells(4);
  pyramid.cells(kHighestLevel, 0, cells);
  EXPECT_EQ(cells[0].starts, 1U);
  EXPECT_EQ(cells[1].starts, 1U);
}

}  // namespace
}  // namespace tracesmith::studio
