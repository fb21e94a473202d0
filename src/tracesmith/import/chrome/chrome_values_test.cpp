// SPDX-License-Identifier: Apache-2.0
// Tests of the values of Chrome's events: times, counters, flow ends.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tracesmith/import/common/importer_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::importText;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<RangeRow> rangesOf(const Trace& t) {
  std::vector<RangeRow> rows;
  for (size_t i = 0; i < t.range.size(); ++i) rows.push_back(t.range.row(i));
  return rows;
}

TEST(ChromeTimes, TimeAndLengthAreRoundedEachByItself) {
  // As Perfetto's trace_processor does: the end is the sum of the two rounded numbers.
  const auto got = importText(R"json([
 {"ph":"X","name":"doubles","pid":1,"tid":1,"ts":123.4560000001,"dur":0.1249999},
 {"ph":"X","name":"halves","pid":1,"tid":1,"ts":2000.0005,"dur":1.0005},
 {"ph":"X","name":"less","pid":1,"tid":1,"ts":3000.00049,"dur":1.00049},
 {"ph":"X","name":"text","pid":1,"tid":1,"ts":"4000.9996","dur":"0.9996"}])json");
  ASSERT_TRUE(got.ok) << got.error;
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const RangeRow& r : rangesOf(got.trace)) spans.emplace_back(r.start_ns, r.duration_ns);
  EXPECT_THAT(spans, ElementsAre(std::pair(123'456, 125), std::pair(2'000'001, 1'001),
                                 std::pair(3'000'000, 1'000), std::pair(4'001'000, 1'000)));
}

TEST(ChromeTimes, WhatOnlyBeginsWithANumberIsNone) {
  const auto got = importText(R"json([
 {"ph":"X","name":"whole","pid":1,"tid":1,"ts":"100","dur":"5"},
 {"ph":"X","name":"broken time","pid":1,"tid":1,"ts":"100a","dur":1},
 {"ph":"i","name":"broken instant","pid":1,"tid":1,"ts":"1,5","s":"t"},
 {"ph":"X","name":"broken length","pid":1,"tid":1,"ts":200,"dur":"5a"},
 {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":300,"dur":1,
  "args":{"device":0,"stream":7,"correlation":"12x"}},
 {"ph":"X","name":"too far","pid":1,"tid":1,"ts":99999999999999999999,"dur":1},
 {"ph":"b","name":"asynchronous","pid":1,"tid":1,"ts":1,"id":"7"}])json");
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.trace.range.size(), 2U);
  EXPECT_EQ(got.trace.kernel.correlation_id[0], 0U);
  EXPECT_EQ(got.counts.others, 4U);
  EXPECT_EQ(got.counts.rows + got.counts.others, got.counts.events);
  const std::string_view lost = got.trace.text(got.trace.loss.reason[0]);
  EXPECT_THAT(lost, HasSubstr("2 events have a time (\"ts\") that is not a number"));
  EXPECT_THAT(lost, HasSubstr("1 events have no end"));
  EXPECT_THAT(lost, HasSubstr("1 events have an impossible time"));
  EXPECT_THAT(lost, HasSubstr("1 events (asynchronous ones, objects, of an unknown phase"));
}

TEST(ChromeCounters, ValuesMayBeTexts) {
  const auto got = importText(R"json([
 {"ph":"C","name":"memory","pid":1,"ts":1,"args":{"used":"41.5","free":2,"state":"x","more":"1a"}},
 {"ph":"C","name":"memory","pid":1,"ts":2,"args":{"used":" 1e3\t","free":null,"on":true}},
 {"ph":"C","name":"nothing","pid":1,"ts":3,"args":{"a":"b"}}])json");
  ASSERT_TRUE(got.ok) << got.error;
  const Trace& t = got.trace;
  std::vector<std::pair<std::string, double>> values;
  for (size_t i = 0; i < t.counter.size(); ++i) {
    values.emplace_back(t.text(t.counter_track.name[indexOf(t.counter.track_id[i])]),
                        t.counter.value[i]);
  }
  EXPECT_THAT(values,
              UnorderedElementsAre(std::pair("memory used", 41.5), std::pair("memory free", 2.0),
                                   std::pair("memory used", 1000.0)));
  EXPECT_EQ(got.counts.rows, 2U);
  EXPECT_EQ(got.counts.others, 1U) << "a counter without any number is no row";
  EXPECT_THAT(t.text(t.loss.reason[0]),
              HasSubstr("5 counter values (\"C\") are not numbers: kept unchanged"));
}

TEST(ChromeArrows, ABindIdIsAnEndOfAnArrow) {
  const auto got = importText(R"json([
 {"ph":"X","name":"from","pid":1,"tid":1,"ts":1,"dur":1,"bind_id":"0x1f","flow_out":true},
 {"ph":"B","name":"through","pid":1,"tid":2,"ts":3,"bind_id":31,"flow_in":true,"flow_out":true},
 {"ph":"E","name":"through","pid":1,"tid":2,"ts":4},
 {"ph":"X","name":"to","pid":1,"tid":3,"ts":5,"dur":1,"bind_id":"1F","flow_in":true},
 {"ph":"X","name":"named","pid":1,"tid":3,"ts":7,"dur":1,"bind_id":"request","flow_out":true},
 {"ph":"X","name":"nowhere","pid":1,"tid":3,"ts":9,"dur":1,"bind_id":"0x1f","flow_in":false}
 ])json");
  ASSERT_TRUE(got.ok) << got.error;
  const Trace& t = got.trace;
  ASSERT_EQ(t.flow_event.size(), 4U);
  EXPECT_THAT(t.flow_event.end,
              ElementsAre(FlowEnd::kBegin, FlowEnd::kStep, FlowEnd::kEnd, FlowEnd::kBegin));
  EXPECT_THAT(t.flow_event.time_ns, ElementsAre(1000, 3000, 5000, 7000));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(t.flow_event.flow_id[i], 31U);
    EXPECT_EQ(t.flow_event.name[i], t.flow_event.name[0]) << "ends with one name are one arrow";
    EXPECT_EQ(t.thread.tid[indexOf(t.flow_event.thread_id[i])], i + 1);
  }
  EXPECT_NE(t.flow_event.flow_id[3], 31U);
  EXPECT_THAT(got.counts.notes, Contains(HasSubstr("1 events with a \"bind_id\" have neither")));
  EXPECT_EQ(got.counts.rows, got.counts.events) << "ends of arrows are not events by themselves";
}

}  // namespace
}  // namespace tracesmith::import
