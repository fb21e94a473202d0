// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/browse/timeline_browser.hpp"

#include <gmock/gmock.h>

#include <random>
#include <tuple>

#include "tracesmith/export/browse/timeline_screen.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"
#include "tracesmith/state/timeline_picture.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TimelineRows rowsOf(const Trace& trace) {
  return timelineRowsOf(trace, *EventMatcher::of(trace, {}));
}

std::string textOf(const std::vector<ScreenLine>& lines) {
  std::string out;
  for (const ScreenLine& line : lines) {
    for (const ScreenPiece& piece : line) out += piece.text;
    out += '\n';
  }
  return out;
}

TEST(TimelineLane, TimesOfAnyWindowAreTheSumOverItsItems) {
  std::mt19937 random(7);
  Trace trace;  // items of two tables
  std::vector<DeviceSpan> items;
  std::vector<ItemKind> kinds;
  int64_t at = 0;
  for (int i = 0; i < 1000; ++i) {
    at += static_cast<int64_t>(random() % 5);
    const int64_t end = at + static_cast<int64_t>(random() % 7);
    if (random() % 2 == 0) {
      items.push_back({at, end, TableId::kKernel, static_cast<uint32_t>(trace.kernel.size())});
      trace.kernel.push({.start_ns = at, .duration_ns = end - at});
    } else {
      items.push_back({at, end, TableId::kSync, static_cast<uint32_t>(trace.sync.size())});
      trace.sync.push({.start_ns = at, .duration_ns = end - at});
    }
    kinds.push_back(static_cast<ItemKind>(random() % kItemKinds));
    at = std::max(end, at + 1);
  }
  TableRows kernels{TableId::kKernel, {}}, syncs{TableId::kSync, {}};
  for (const DeviceSpan& item : items) {
    (item.table == TableId::kKernel ? kernels : syncs).rows.push_back(item.row);
  }
  const TimelineLane lane(LaneItems(trace, {syncs, kernels}), kinds);
  for (size_t i = 0; i < items.size(); ++i) {
    const DeviceSpan item = lane.items()[i];
    ASSERT_EQ(std::tie(item.begin_ns, item.end_ns, item.table, item.row),
              std::tie(items[i].begin_ns, items[i].end_ns, items[i].table, items[i].row));
  }
  for (int i = 0; i < 2000; ++i) {
    const auto begin = static_cast<int64_t>(random() % static_cast<uint32_t>(at));
    const int64_t end = begin + 1 + static_cast<int64_t>(random() % 3000);
    TimelineLane::Times expected{};
    for (size_t k = 0; k < items.size(); ++k) {
      expected[static_cast<size_t>(kinds[k])] +=
          lengthOf(std::max(begin, items[k].begin_ns), std::min(end, items[k].end_ns));
    }
    ASSERT_EQ(lane.timesWithin(begin, end), expected) << begin << " to " << end;
  }
}

TEST(TimelineLane, OverlappingItemsGetLanesOfTheirOwn) {
  Trace trace;
  for (const auto& [begin, end] :
       {std::pair{3, 5}, {2, 4}, {10, 12}, {0, 10}, {4, 6}}) {  // not in the order of their starts
    trace.kernel.push({.start_ns = begin, .duration_ns = end - begin});
  }
  const auto lanes = lanesOf(LaneItems(trace, {{TableId::kKernel, {0, 1, 2, 3, 4}}}));
  ASSERT_THAT(lanes, SizeIs(3));
  EXPECT_THAT(lanes[0], SizeIs(2));
  EXPECT_THAT(lanes[1], SizeIs(2));
  EXPECT_THAT(lanes[2], SizeIs(1));
}

TEST(TimelineBrowser, AStreamIsAsBusyAsInThePictureOfTheTimeline) {
  const test::SampleTrace program = test::sampleProgram();
  const Trace& trace = program.trace;
  const TimelineRows rows = rowsOf(trace);
  const TimelinePicture picture =
      pictureOf(deviceTimelines(trace), {.from_ns = rows.begin_ns, .to_ns = rows.end_ns});
  size_t compared = 0;
  for (const DevicePicture& device : picture.devices) {
    for (const StreamPicture& stream : device.streams) {
      for (const TimelineRow& row : rows.rows) {
        if (row.heading || !row.first_lane || row.stream != stream.stream || !row.on_device)
          continue;
        const auto busy = static_cast<double>(row.busy.within(rows.begin_ns, rows.end_ns));
        EXPECT_NEAR(busy / static_cast<double>(rows.end_ns - rows.begin_ns), stream.busy, 1e-9);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 0U);
}

TEST(TimelineBrowser, CommandsStayWithinTheTraceAndDrawAnySize) {
  const test::SampleTrace program = test::sampleProgram();
  const Trace& trace = program.trace;
  TimelineBrowser browser(trace, rowsOf(trace));
  const TimelineDetails details(trace);
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    const ScreenSize size{1 + static_cast<int>(random() % 40),
                          1 + static_cast<int>(random() % 120)};
    const ScreenLayout layout = layoutFor(size);
    browser.resize(layout.rows, layout.cells);
    browser.apply(static_cast<BrowserCommand>(
        random() % (static_cast<uint32_t>(BrowserCommand::kUnselect) + 1)));
    browser.click(random() % 45, random() % 125);
    browser.zoomAt(random() % 125, random() % 3 != 0);
    ASSERT_GE(browser.beginNs(), browser.rows().begin_ns);
    ASSERT_LE(browser.endNs(), browser.rows().end_ns);
    ASSERT_LT(browser.beginNs(), browser.endNs());
    const auto lines = drawTimelineScreen(browser, details, size, {}, "t", "");
    ASSERT_THAT(lines, SizeIs(static_cast<size_t>(size.lines)));
  }
}

TEST(TimelineBrowser, ASearchWithoutResultSaysSo) {
  const test::SampleTrace program = test::sampleProgram();
  const Trace& trace = program.trace;
  TimelineBrowser browser(trace, rowsOf(trace));
  browser.resize(10, 40);
  browser.search("no such kernel");
  EXPECT_THAT(browser.message(), HasSubstr("no event has"));
  EXPECT_FALSE(browser.selection());
  const auto lines = drawTimelineScreen(browser, TimelineDetails(trace), {24, 80}, {}, "t.sbt", "");
  EXPECT_THAT(textOf(lines), HasSubstr("Nothing is selected"));
}

}  // namespace
}  // namespace tracesmith
