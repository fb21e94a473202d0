// SPDX-License-Identifier: Apache-2.0
// Tests which slice an end ("E") belongs to. The expected rows are those that Perfetto's
// trace_processor (v58) produces, except for unmatched ends, which give no rows there.
#include "tracesmith/import/chrome/chrome_slices.hpp"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

#include "tracesmith/import/common/importer_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::importText;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

struct Event {
  char phase;
  std::string name, category;  // "": not given
  int64_t time_us;
};

std::string asJson(const std::vector<Event>& events) {
  std::string text = "[";
  for (const Event& e : events) {
    text += std::string(text.size() > 1 ? "," : "") + R"({"ph":")" + e.phase +
            R"(","pid":1,"tid":2,"ts":)" + std::to_string(e.time_us);
    if (!e.name.empty()) text += R"(,"name":")" + e.name + '"';
    if (!e.category.empty()) text += R"(,"cat":")" + e.category + '"';
    text += "}";
  }
  return text + "]";
}

/// "name start+length", "name start…" for a slice without end, "name …end" for an unmatched end; in
/// µs.
std::vector<std::string> slicesOf(const Trace& t) {
  std::vector<std::string> all;
  for (size_t i = 0; i < t.range.size(); ++i) {
    const RangeRow r = t.range.row(i);
    const std::string at = std::to_string(r.start_ns / 1000);
    all.push_back(std::string(t.text(r.name)) + " " +
                  (r.kind == RangeKind::kBegin ? at + "…"
                   : r.kind == RangeKind::kEnd ? "…" + at
                                               : at + "+" + std::to_string(r.duration_ns / 1000)));
  }
  return all;
}

struct Case {
  std::string title;
  std::vector<Event> events;
  std::vector<std::string> slices;
};

TEST(ChromeSlices, AnEndBelongsToTheInnermostOpenSliceOfItsName) {
  const std::vector<Case> cases = {
      {"no open slice has the name",
       {{'B', "a", "", 0}, {'E', "x", "", 3}, {'E', "a", "", 5}},
       {"a 0+5", "x …3"}},
      {"no open slice has the category",
       {{'B', "a", "c", 0}, {'E', "a", "d", 3}, {'E', "a", "c", 5}},
       {"a 0+5", "a …3"}},
      {"the slice has no category", {{'B', "a", "", 0}, {'E', "a", "c", 3}}, {"a 0…", "a …3"}},
      {"the end says no name",
       {{'B', "a", "", 0}, {'B', "b", "", 1}, {'E', "", "", 3}, {'E', "", "", 5}},
       {"a 0+5", "b 1+2"}},
      {"the end says the category alone",
       {{'B', "a", "c", 0}, {'B', "b", "d", 1}, {'E', "", "c", 3}, {'E', "b", "", 3}},
       {"a 0+3", "b 1+2"}},
      {"the slice has no name",
       {{'B', "", "", 0}, {'E', "a", "", 3}, {'E', "", "", 5}},
       {" 0+5", "a …3"}},
      {"of two with one name the inner one",
       {{'B', "a", "", 0}, {'B', "a", "", 1}, {'E', "a", "", 3}},
       {"a 0…", "a 1+2"}},
      {"slices that cross: the inner one ends with the outer one",
       {{'B', "a", "", 0}, {'B', "b", "", 1}, {'E', "a", "", 10}, {'E', "b", "", 20}},
       {"a 0+10", "b 1+9", "b …20"}},
      {"both end at once",
       {{'B', "a", "", 0}, {'B', "b", "", 1}, {'E', "a", "", 10}, {'E', "b", "", 10}},
       {"a 0+10", "b 1+9"}},
      {"what follows cuts what is still open",
       {{'B', "a", "", 0},
        {'B', "b", "", 1},
        {'B', "c", "", 2},
        {'E', "a", "", 10},
        {'B', "d", "", 12},
        {'E', "d", "", 15}},
       {"a 0+10", "b 1+9", "c 2+8", "d 12+3"}},
      {"nothing follows",
       {{'B', "a", "", 0}, {'B', "b", "", 1}, {'E', "a", "", 10}},
       {"a 0+10", "b 1…"}},
      {"an outer one goes on",
       {{'B', "o", "", 0},
        {'B', "a", "", 1},
        {'B', "b", "", 2},
        {'E', "a", "", 5},
        {'B', "c", "", 7},
        {'E', "c", "", 8},
        {'E', "o", "", 9}},
       {"o 0+9", "a 1+4", "b 2+3", "c 7+1"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.title);
    const auto got = importText(asJson(c.events));
    ASSERT_TRUE(got.ok) << got.error;
    EXPECT_THAT(slicesOf(got.trace), UnorderedElementsAreArray(c.slices));
  }
}

TEST(ChromeSlices, WhatDoesNotFitIsCounted) {
  const auto got = importText(asJson({{'B', "a", "", 0},
                                      {'B', "b", "", 1},
                                      {'E', "x", "", 2},
                                      {'E', "a", "", 10},
                                      {'E', "b", "", 20}}));
  const std::string_view lost = got.trace.text(got.trace.loss.reason[0]);
  EXPECT_THAT(lost, HasSubstr("2 ends (\"E\") match the name and category of no open slice"));
  EXPECT_THAT(lost, HasSubstr("1 slices (\"B\") end early, with the slice around them"));
}

TEST(ChromeSlices, CutSlicesKeepTheirTables) {
  const auto got = importText(R"json([
 {"ph":"B","name":"step","cat":"kernel","pid":0,"tid":7,"ts":0,"args":{"device":0,"stream":7}},
 {"ph":"B","name":"gemm","cat":"kernel","pid":0,"tid":7,"ts":2,"args":{"device":0,"stream":7}},
 {"ph":"E","name":"step","pid":0,"tid":7,"ts":5},
 {"ph":"B","name":"gemm","cat":"kernel","pid":0,"tid":7,"ts":6,"args":{"device":0,"stream":7}},
 {"ph":"E","name":"gemm","pid":0,"tid":7,"ts":7}])json");
  ASSERT_TRUE(got.ok) << got.error;
  ASSERT_EQ(got.trace.kernel.size(), 3U);
  int64_t sum = 0;
  for (const int64_t ns : got.trace.kernel.duration_ns) sum += ns;
  EXPECT_EQ(sum, 5000 + 3000 + 1000);
}

/// Nested slices with any names, whose ends identify the innermost slice fully or not at all.
TEST(ChromeSlices, NestedSlicesOfAnyNamesFindTheirEnds) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    OpenSlices slices;
    std::vector<std::pair<int64_t, OpenSlices::Label>> open;
    for (int64_t now = 0; now < 200; ++now) {
      if (open.empty() || random() % 2 == 0) {
        const OpenSlices::Label label = {StringId{static_cast<uint32_t>(1 + random() % 3)},
                                         StringId{static_cast<uint32_t>(random() % 2)}};
        slices.open(ThreadId{1}, RangeRow{.start_ns = now}, label);
        open.emplace_back(now, label);
        continue;
      }
      // An end that identifies the innermost slice fully or partly.
      const OpenSlices::Label full = open.back().second;
      const OpenSlices::Label label = {random() % 2 == 0 ? full.name : StringId::kNone,
                                       random() % 2 == 0 ? full.category : StringId::kNone};
      const auto row = slices.close(ThreadId{1}, label, now);
      ASSERT_TRUE(row);
      EXPECT_EQ(std::get<RangeRow>(*row).start_ns, open.back().first);
      open.pop_back();
    }
    EXPECT_EQ(slices.cutShort(), 0U);
  }
}

}  // namespace
}  // namespace tracesmith::import
