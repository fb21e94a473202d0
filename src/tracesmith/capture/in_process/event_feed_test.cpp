// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/in_process/event_feed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "tracesmith/capture/in_process/synthetic_trace.hpp"

namespace tracesmith {
namespace {

/// The dictionaries of `trace`, plus the event rows for which keep(table, row) is true.
template <class Keep>
Trace partOf(const Trace& trace, Keep&& keep) {
  Trace part = trace;
  auto filter = [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    if constexpr (Table::kId > TableId::kLoss) {
      const Table all = table;
      table.resize(0);
      for (size_t i = 0; i < all.size(); ++i) {
        if (keep(Table::kId, i)) table.push(all.row(i));
      }
    }
  };
  forEachTable(part, filter);
  return part;
}

TEST(EventFeed, PartsGiveTheEventsOfTheWhole) {
  const Trace trace = simulateTrace({.duration_s = 0.02});
  std::vector<TraceEvent> whole = toEvents(trace);
  EventFeed feed;
  std::vector<TraceEvent> parts;
  auto add = [&](std::vector<TraceEvent> events) {
    for (TraceEvent& e : events) parts.push_back(std::move(e));
  };
  // As a collector delivers them: calls when they return, device work when it has ended.
  const TimeRange range = timeRange(trace);
  auto partOfRow = [&](TableId id, size_t row) {
    auto at = [&](const auto& t) { return t.start_ns[row] + t.duration_ns[row]; };
    const int64_t end = id == TableId::kHostCall ? at(trace.host_call)
                        : id == TableId::kKernel ? at(trace.kernel)
                        : id == TableId::kCopy   ? at(trace.copy)
                        : id == TableId::kFill   ? at(trace.fill)
                        : id == TableId::kSync   ? at(trace.sync)
                                                 : range.end_ns;
    return (end - range.begin_ns) * 7 / (range.duration() + 1);
  };
  size_t waited = 0;
  for (int64_t part = 0; part < 7; ++part) {
    add(feed.next(
        partOf(trace, [&](TableId id, size_t row) { return partOfRow(id, row) == part; })));
    waited += feed.waiting();
  }
  EXPECT_GT(waited, 0u);
  // Host calls whose work comes after the end of the trace.
  add(feed.flush(trace));
  auto order = [](const TraceEvent& a, const TraceEvent& b) {
    return std::tie(a.timestamp, a.type, a.correlation_id, a.name, a.duration) <
           std::tie(b.timestamp, b.type, b.correlation_id, b.name, b.duration);
  };
  std::sort(whole.begin(), whole.end(), order);
  std::sort(parts.begin(), parts.end(), order);
  ASSERT_EQ(parts.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(parts[i].type, whole[i].type);
    EXPECT_EQ(parts[i].timestamp, whole[i].timestamp);
    EXPECT_EQ(parts[i].name, whole[i].name);
    EXPECT_EQ(parts[i].correlation_id, whole[i].correlation_id);
    EXPECT_EQ(parts[i].metadata, whole[i].metadata);
  }
}

TEST(EventFeed, WhatNeverComesIsToldAtTheEnd) {
  const Trace trace = simulateTrace({.duration_s = 0.01});
  EventFeed feed;
  feed.next(partOf(trace, [](TableId id, size_t) { return id == TableId::kHostCall; }));
  const size_t waiting = feed.waiting();
  ASSERT_GT(waiting, 0u);
  size_t launches = 0;
  for (const TraceEvent& e : feed.flush(trace)) launches += e.type == EventType::KernelLaunch;
  EXPECT_GT(launches, 0u);
  EXPECT_EQ(feed.waiting(), 0u);
  EXPECT_TRUE(feed.flush(trace).empty()) << "and once only";
}

}  // namespace
}  // namespace tracesmith
