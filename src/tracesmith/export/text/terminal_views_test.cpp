// SPDX-License-Identifier: Apache-2.0
// Tests of terminal output: units, tables, the event list, statistics and the timeline.
#include <gmock/gmock.h>

#include <sstream>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/text/terminal_events.hpp"
#include "tracesmith/export/text/terminal_stats.hpp"
#include "tracesmith/export/text/terminal_timeline.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::sampleProgram;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

struct Shown {
  std::string text;
  size_t beyond = 0;
};

Shown list(const Trace& trace, const EventFilter& filter, size_t limit = SIZE_MAX,
           ListFormat format = ListFormat::kText, const TerminalStyle& style = {}) {
  const Result<EventMatcher> matches = EventMatcher::of(trace, filter);
  Shown shown;
  Output out = Output::toString(&shown.text);
  shown.beyond = listEvents(trace, *matches, limit, format, false, style, out);
  EXPECT_TRUE(out.finish());
  return shown;
}

TEST(HumanUnits, HaveThreeDigitsAndNeverAThousandOfAUnit) {
  EXPECT_EQ(formatDuration(0), "0 ns");
  EXPECT_EQ(formatDuration(999), "999 ns");
  EXPECT_EQ(formatDuration(1000), "1.00 µs");
  EXPECT_EQ(formatDuration(999'499), "999 µs");
  EXPECT_EQ(formatDuration(999'600), "1.00 ms");
  EXPECT_EQ(formatDuration(45'600'000), "45.6 ms");
  EXPECT_EQ(formatDuration(1'500, "us"), "1.50 us");
  EXPECT_EQ(formatDuration(-1'500), "-1.50 µs");
  EXPECT_EQ(formatDuration(125'000'000'000), "2 min 5 s");
  EXPECT_EQ(formatDuration(3'720'000'000'000), "1 h 2 min");
  EXPECT_EQ(formatOffset(5'000'000'000'123), "+5000.000000123 s");
  EXPECT_EQ(formatOffset(-1), "-0.000000001 s");
  EXPECT_EQ(formatOffset(INT64_MIN), "-9223372036.854775808 s");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1024), "1.00 KiB");
  EXPECT_EQ(formatBytes(UINT64_MAX), "16.0 EiB");
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatCount(1'234'567), "1,234,567");
  EXPECT_EQ(formatPercent(0.1234), "12.3 %");
  EXPECT_EQ(formatBandwidth(12.3e9), "12.3 GB/s");
}

TEST(TerminalTable, AlignsByWhatIsSeenAndShrinksOnlyWhatMayShrink) {
  TextTable table({{"name", TextTable::Align::kLeft, true}, {"n", TextTable::Align::kRight}});
  table.add({"ä", "1"});
  table.add({"日本", "22"});
  table.add({"a_name_that_is_far_too_long_for_it", "333"});
  EXPECT_EQ(linesOf(table.render({}))[1], "ä" + std::string(35, ' ') + "  1");
  for (const std::string& line : linesOf(table.render({.width = 20}))) {
    EXPECT_LE(displayWidth(line), 20) << line;
  }
  EXPECT_THAT(linesOf(table.render({.width = 20}))[3], HasSubstr("…"));
  EXPECT_THAT(linesOf(table.render({.width = 20, .utf8 = false}))[3], HasSubstr("..."));
}

TEST(TerminalTable, NumbersThatCanBeSparedGoBeforeNamesGetShort) {
  using A = TextTable::Align;
  TextTable table({{.header = "name", .may_shrink = true, .from_middle = true},
                   {"mean", A::kRight},
                   {.header = "p50", .align = A::kRight, .spare = 1},
                   {.header = "p99", .align = A::kRight, .spare = 2}});
  table.add({"void split_embedding_backward_kernel<float, 4>", "12.5 ms", "10.5 ms", "99.5 ms"});
  EXPECT_EQ(linesOf(table.render({}))[0].find("p99"), linesOf(table.render({}))[0].size() - 3);
  std::vector<std::string> left_out;
  const std::string narrow = table.render({.width = 50}, "", &left_out);
  EXPECT_EQ(linesOf(narrow)[1], "void split_embedding_…<float, 4>  12.5 ms  10.5 ms");
  EXPECT_EQ(left_out, std::vector<std::string>{"p99"});
  EXPECT_EQ(linesOf(table.render({.width = 26}))[1], "void split_…t, 4>  12.5 ms");
}

TEST(TerminalTable, TextsAreCutInTheMiddle) {
  EXPECT_EQ(cutMiddle("abcdefghij", 10, {}), "abcdefghij");
  EXPECT_EQ(cutMiddle("abcdefghij", 5, {}), "abc…j");
  EXPECT_EQ(cutMiddle("日本語日本語", 7, {}), "日本…語");
  EXPECT_EQ(cutMiddle("abcdefghij", 2, {}), "a…");
  for (int width = 0; width < 12; ++width) {
    EXPECT_LE(displayWidth(cutMiddle("a日b本c語d", width, {})), width);
    EXPECT_LE(displayWidth(cutMiddle("\xff\xfe\xe6\x97", width, {.utf8 = false})), width);
  }
}

TEST(TerminalTable, ANameCanNotDriveTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc"), "a?[2Jb c");
  EXPECT_EQ(printable("\xff\xfe"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(printable("\xc2\x9b"), "?");  // the one-byte form of ESC [
}

TEST(TerminalEvents, FiltersByTypeStreamNameAndTime) {
  const Trace trace = std::move(sampleProgram().trace);
  EXPECT_THAT(linesOf(list(trace, {}).text), SizeIs(1 + 11));
  EXPECT_THAT(linesOf(list(trace, {.tables = {TableId::kKernel}}).text), SizeIs(1 + 3));
  EXPECT_THAT(linesOf(list(trace, {.streams = {static_cast<StreamId>(2)}}).text), SizeIs(1 + 4));
  EXPECT_THAT(linesOf(list(trace, {.name_regex = "^sax"}).text), SizeIs(1 + 2));
  EXPECT_THAT(linesOf(list(trace, {.tables = {TableId::kKernel}, .from_ns = 1'700'000}).text),
              SizeIs(1 + 1));
  const Shown cut = list(trace, {}, 4);
  EXPECT_THAT(linesOf(cut.text), SizeIs(1 + 4));
  EXPECT_EQ(cut.beyond, 7u);
}

TEST(TerminalEvents, NoRegularExpressionTakesForever) {
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("GPU"));
  s.kernel(std::string(200, 'a'), stream, 0, 10);
  s.kernel(std::string(200, 'a') + "b", stream, 10, 10);
  EXPECT_THAT(linesOf(list(s.trace, {.name_regex = "^(a+)+b$"}).text), SizeIs(1 + 1));
  EXPECT_THAT(list(s.trace, {.name_regex = "(a|aa)*\\d"}).text, HasSubstr("no events"));
  EXPECT_FALSE(EventMatcher::of(s.trace, {.name_regex = "(a+)\\1"})) << "a back reference";
}

TEST(TerminalEvents, ARegularExpressionThatIsNoneIsRefused) {
  const Trace trace = std::move(sampleProgram().trace);
  const Result<EventMatcher> matches = EventMatcher::of(trace, {.name_regex = "(saxpy"});
  ASSERT_FALSE(matches);
  EXPECT_EQ(matches.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(matches.error().message, HasSubstr("(saxpy"));
}

TEST(TerminalEvents, ANameOfAMegabyteIsSearchedWithoutHarm) {
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("gpu"));
  s.kernel(std::string(1 << 20, 'a'), stream, 0, 1);
  EXPECT_THAT(linesOf(list(s.trace, {.name_regex = "(a|b)*c"}, 10, ListFormat::kCsv).text),
              SizeIs(1));
}

TEST(TerminalStats, AreThoseOfTheEventsThatPass) {
  const Trace trace = std::move(sampleProgram().trace);
  const Result<EventMatcher> all = EventMatcher::of(trace, {});
  std::string text;
  Output out = Output::toString(&text);
  showStats(trace, *all, 100, ListFormat::kCsv, false, {}, out);
  ASSERT_TRUE(out.finish());
  EXPECT_THAT(text, HasSubstr("kernel,saxpy,2,700000,0.875,350000,200000,500000,500000,200000,"
                              "500000,0,0\n"));
  EXPECT_THAT(text, HasSubstr("kernel,relu,1,100000,0.125,100000,100000,100000,100000,100000,"
                              "100000,0,1\n"));
  EXPECT_THAT(text, HasSubstr("memory,device_to_host,1,400000,"));
  const Result<EventMatcher> late = EventMatcher::of(trace, {.from_ns = 1'800'000});
  text.clear();
  Output second = Output::toString(&text);
  showStats(trace, *late, 100, ListFormat::kCsv, false, {}, second);
  ASSERT_TRUE(second.finish());
  EXPECT_THAT(text, HasSubstr("kernel,saxpy,1,200000,1,"));
  EXPECT_THAT(text, Not(HasSubstr("relu")));
}

TEST(TerminalTimeline, DrawsTheSharesOfItsColumns) {
  const Trace trace = std::move(sampleProgram().trace);
  // 14 columns of 100 us.
  const TimelinePicture picture = pictureOf(deviceTimelines(trace), {.cells = 14});
  const std::vector<std::string> lines =
      linesOf(timelineText(picture, namesOf(trace), {.width = 48}));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("1.40 ms with 5 operations"), HasSubstr("╵1 ms"),
                                 "device 0: Test GPU 3000", "  0       │  █████ ██    │  64.3 %",
                                 "   mem    │██            │", "  copies  │     █        │  35.7 %",
                                 "   mem    │          ████│", "  at once │1111121·111111│",
                                 "  busy    │███████ ██████│  92.9 %", HasSubstr("height")));
  EXPECT_THAT(timelineText(pictureOf({}, {}), namesOf(trace), {}), HasSubstr("no device work"));
}

TEST(TerminalTimeline, StreamsAreCalledByTheirNumbersAndNeverByIds) {
  test::SampleTrace s;
  const DeviceId device = s.device("device 0");
  const ProcessId first = s.process(41, "a");
  const ProcessId second = s.process(42, "b");
  s.kernel("k", s.stream(device, first), 0, 10);
  s.kernel("k", s.stream(device, second), 0, 10);
  s.kernel("k", s.stream(device, first), 0, 10);
  s.kernel("k", s.stream(device, second, "a name of the program's own"), 0, 10);
  s.trace.stream.ordinal[0] = s.trace.stream.ordinal[1] = 7;  // in two processes
  s.trace.stream.ordinal[2] = 20;
  const TimelinePicture picture = pictureOf(deviceTimelines(s.trace), {.cells = 10});
  const std::string text = timelineText(picture, namesOf(s.trace), {});
  EXPECT_THAT(linesOf(text)[2], "device 0");
  EXPECT_THAT(text, HasSubstr("  stream 7 (pid 41)     │"));
  EXPECT_THAT(text, HasSubstr("  stream 7 (pid 42)     │"));
  EXPECT_THAT(text, HasSubstr("  stream 20             │"));
  EXPECT_THAT(text, HasSubstr("  a name of the "));
  EXPECT_THAT(text, Not(HasSubstr("(id")));
  const std::string events = list(s.trace, {}).text;
  EXPECT_THAT(events, HasSubstr("  stream 7 (pid 42) "));
  EXPECT_THAT(events, Not(HasSubstr("(id")));
}

TEST(TerminalTimeline, ItsAxisBeginsAtZeroAndEnds) {
  for (const double length : {5e3, 3e6, 9e10}) {
    test::SampleTrace s;
    s.kernel("k", s.stream(s.device("gpu")), 1'000, static_cast<int64_t>(length));
    const TimelinePicture picture = pictureOf(deviceTimelines(s.trace), {.cells = 60});
    const std::string axis = linesOf(timelineText(picture, namesOf(s.trace), {}))[1];
    EXPECT_THAT(axis, HasSubstr("╵0"));
    EXPECT_THAT(axis, Not(HasSubstr("-0")));
  }
  // So far from the start that one step of the axis is below the resolution of a double.
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("gpu"));
  s.kernel("k", stream, 0, 1);
  s.kernel("k", stream, int64_t{1} << 60, 200);
  const TimelinePicture picture =
      pictureOf(deviceTimelines(s.trace), {.from_ns = int64_t{1} << 60, .cells = 2000});
  EXPECT_THAT(timelineText(picture, namesOf(s.trace), {.width = 2034}), HasSubstr("200 ns with 1"));
}

TEST(TerminalTimeline, OnlyWhatIsFullLooksFullAndNothingLooksEmpty) {
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("gpu"));
  s.kernel("a", stream, 0, 1);
  s.kernel("b", stream, 1000, 999);
  s.kernel("c", stream, 2000, 1000);
  const TimelinePicture picture = pictureOf(deviceTimelines(s.trace), {.cells = 3});
  EXPECT_THAT(timelineText(picture, namesOf(s.trace), {.width = 40}), HasSubstr("│▁▇█│"));
  EXPECT_THAT(timelineText(picture, namesOf(s.trace), {.width = 40, .utf8 = false}),
              HasSubstr("|.%#|"));
}

TEST(TerminalTimeline, NeverWiderThanItsTerminal) {
  const Trace trace = std::move(sampleProgram().trace);
  for (int width = 20; width <= 130; ++width) {
    const TimelinePicture picture =
        pictureOf(deviceTimelines(trace), {.cells = timelineCells(width)});
    for (const bool utf8 : {true, false}) {
      const TerminalStyle style{.width = width, .utf8 = utf8};
      for (const std::string& line : linesOf(timelineText(picture, namesOf(trace), style))) {
        EXPECT_LE(displayWidth(line), width) << line;
      }
    }
  }
}

}  // namespace
}  // namespace tracesmith
