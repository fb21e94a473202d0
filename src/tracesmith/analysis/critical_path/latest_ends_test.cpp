// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/critical_path/latest_ends.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace tracesmith {
namespace {

using ::testing::ElementsAre;

/// The definition, applied to each pair of ops until nothing changes.
std::vector<int64_t> byDefinition(const DeviceOps& all, const std::vector<Deadline>& deadlines,
                                  const std::vector<EventWait>& event_waits, int64_t end_ns) {
  const Column<DeviceOp>& ops = all.ops;
  std::vector<int64_t> latest(ops.size(), end_ns);
  for (bool changed = true; changed;) {
    changed = false;
    const auto bound = [&](size_t op, int64_t by) {
      changed = changed || by < latest[op];
      latest[op] = std::min(latest[op], by);
    };
    const auto isWait = [&](size_t op) { return ops[op].table == TableId::kSync; };
    const auto latestBegin = [&](size_t op) {
      return latest[op] - (isWait(op) ? 0 : ops[op].end_ns - ops[op].begin_ns);
    };
    for (const StreamOps& s : all.streams) {
      for (size_t a = s.begin; a < s.end; ++a) {
        for (size_t b = isWait(a) ? s.begin : a + 1; b < s.end; ++b) {
          if (a != b && !isWait(b) && ops[a].end_ns <= ops[b].begin_ns) bound(a, latestBegin(b));
        }
      }
    }
    for (const EventWait& wait : event_waits) bound(wait.from, latestBegin(wait.to));
    for (const Deadline& d : deadlines) {
      if (d.op != DeviceOp::kNone) bound(d.op, d.by_ns);
      if (d.stream == DeviceOp::kNone) continue;
      for (size_t i = all.streams[d.stream].begin; i < all.streams[d.stream].end; ++i) {
        if (ops[i].end_ns <= d.by_ns) bound(i, d.by_ns);
      }
    }
  }
  return latest;
}

DeviceOps opsOf(const std::vector<std::vector<std::pair<int64_t, int64_t>>>& streams) {
  DeviceOps all;
  for (const auto& times : streams) {
    StreamOps s;
    s.begin = static_cast<uint32_t>(all.ops.size());
    for (const auto& [begin, end] : times) {
      DeviceOp op;
      op.begin_ns = begin;
      op.end_ns = end;
      op.table = TableId::kKernel;
      all.ops.push_back(op);
    }
    s.end = static_cast<uint32_t>(all.ops.size());
    all.streams.push_back(s);
  }
  return all;
}

TEST(LatestEnds, AnOpIsBoundByItsStreamAndByAnEventAlike) {
  // Ops 0 and 1 of a queue, and op 2, which waits for 0 and takes all remaining time.
  const DeviceOps ops = opsOf({{{0, 100}, {150, 200}}, {{110, 1'000}}});
  EXPECT_THAT(latestEnds(ops, OpOrders::of(ops), {}, {{0, 2}}, 1'000),
              ElementsAre(110, 1'000, 1'000));
  // Both wait, and the queue's op is the limit.
  EXPECT_THAT(latestEnds(ops, OpOrders::of(ops), {{.op = 1, .by_ns = 205}}, {{0, 2}}, 2'000),
              ElementsAre(155, 205, 2'000));
}

TEST(LatestEnds, AWaitForAllStreamsBoundsEach) {
  const DeviceOps ops = opsOf({{{0, 100}}, {{0, 200}, {300, 400}}});
  EXPECT_THAT(latestEnds(ops, OpOrders::of(ops),
                         {{.stream = 0, .by_ns = 200}, {.stream = 1, .by_ns = 200}}, {}, 5'000),
              ElementsAre(200, 200, 5'000));
}

TEST(LatestEnds, EqualTheDefinitionOnRandomGraphs) {
  std::mt19937 chance(24);
  const auto below = [&](uint32_t n) { return static_cast<int64_t>(chance() % n); };
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::vector<std::pair<int64_t, int64_t>>> streams(1 + chance() % 4);
    const uint32_t span = round % 2 == 0 ? 30 : 1'000;  // many ties, or few
    for (auto& times : streams) {
      for (size_t i = chance() % 8; i > 0; --i) {
        const int64_t begin = below(span);
        times.emplace_back(begin, begin + below(span / 3));
      }
      std::sort(times.begin(), times.end());
    }
    DeviceOps all = opsOf(streams);
    if (all.ops.empty()) continue;
    for (DeviceOp& op : all.ops) {
      if (chance() % 5 == 0) op.table = TableId::kSync;
    }
    const auto count = static_cast<uint32_t>(all.ops.size());
    std::vector<EventWait> waits;
    std::vector<Deadline> deadlines;
    for (uint32_t i = chance() % 12; i > 0; --i) {
      const auto from = static_cast<uint32_t>(chance() % count);
      const auto to = static_cast<uint32_t>(chance() % count);
      // By index, if both have no duration at the same time.
      const bool drawn = all.ops[to].table == TableId::kSync;
      const int64_t over = drawn ? all.ops[to].end_ns : all.ops[to].begin_ns;
      const bool later = all.ops[from].end_ns < over || (all.ops[from].end_ns == over && from < to);
      if (later && all.ops[from].table != TableId::kSync) waits.push_back({from, to});
    }
    for (uint32_t i = chance() % 3; i > 0; --i) {
      const auto op = static_cast<uint32_t>(chance() % count);
      deadlines.push_back({.op = op, .by_ns = all.ops[op].end_ns + below(20)});
      deadlines.push_back({.stream = static_cast<uint32_t>(chance() % all.streams.size()),
                           .by_ns = all.ops[op].end_ns});
    }
    ASSERT_EQ(latestEnds(all, OpOrders::of(all), deadlines, waits, 2 * span),
              byDefinition(all, deadlines, waits, 2 * span))
        << round;
  }
}

}  // namespace
}  // namespace tracesmith
