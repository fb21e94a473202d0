// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/xray/xray_trace.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/import/common/source_test_util.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/import/xray/xray_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::TempFile;
using test::XRayLogBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct ImportedXray {
  ImportReport report;
  Trace trace;
};

ImportedXray importedXray(const std::string& log) {
  const TempFile file;
  file.write(asBytes(log));
  const TempFile output;
  Result<ImportReport> report = importTrace(file.path(), output.path());
  EXPECT_TRUE(report) << report.error().toString();
  if (!report) return {};
  auto reader = TraceReader::open(output.path());
  EXPECT_TRUE(reader);
  return {*report, reader->read().value()};
}

TEST(XRayTrace, CallsAreNestedRanges) {
  XRayLogBuilder log(3, XRayMode::kBasic);
  log.basic(3, 1, 1000).basicArgument(1, 5).basic(0, 2, 1100).basic(1, 2, 1150).basic(2, 1, 1300);
  const ImportedXray got = importedXray(log.string());
  EXPECT_EQ(got.report.format, "LLVM XRay log");
  EXPECT_EQ(got.report.counts.events, 4U);
  EXPECT_EQ(got.report.counts.rows, 4U);
  ASSERT_EQ(got.trace.range.size(), 2U);
  const RangeRow inner = got.trace.range.row(0);
  EXPECT_EQ(got.trace.text(inner.name), "function #2");
  EXPECT_EQ(inner.start_ns, 1100);
  EXPECT_EQ(inner.duration_ns, 50);
  EXPECT_EQ(inner.kind, RangeKind::kRange);
  const RangeRow outer = got.trace.range.row(1);
  EXPECT_EQ(outer.start_ns, 1000);
  EXPECT_EQ(outer.duration_ns, 300);
  EXPECT_EQ(got.trace.text(outer.category), "XRay function");
  ASSERT_EQ(got.trace.thread.size(), 1U);
  EXPECT_EQ(got.trace.thread.tid[0], 7U);
  EXPECT_EQ(got.trace.process.pid[0], 6U);
}

TEST(XRayTrace, TheFrequencyIsThatOfTheLog) {
  XRayLogBuilder log(3, XRayMode::kBasic, 2'500'000'000);
  log.basic(0, 1, 5'000'000'000).basic(1, 1, 5'000'001'000);
  const ImportedXray got = importedXray(log.string());
  ASSERT_EQ(got.trace.range.size(), 1U);
  EXPECT_EQ(got.trace.range.start_ns[0], 2'000'000'000);
  EXPECT_EQ(got.trace.range.duration_ns[0], 400);
  EXPECT_EQ(got.trace.metadataValue("xray.cycle_frequency"), "2500000000");
  EXPECT_THAT(got.report.counts.damage, IsEmpty());
}

TEST(XRayTrace, AnUnknownFrequencyIsSaid) {
  XRayLogBuilder log(3, XRayMode::kBasic, 0);
  log.basic(0, 1, 5000).basic(1, 1, 6000);
  const ImportedXray got = importedXray(log.string());
  EXPECT_EQ(got.trace.range.duration_ns[0], 1000);
  EXPECT_THAT(std::string(got.trace.metadataValue("xray.cycle_frequency")), HasSubstr("unknown"));
  EXPECT_THAT(got.report.counts.notes[0], HasSubstr("does not give the length of a tick"));
}

TEST(XRayTrace, TicksBecomeNsExactly) {
  EXPECT_EQ(ticksToNs(3, 2'000'000'000), 2);  // 1.5, rounded to nearest
  EXPECT_EQ(ticksToNs(~uint64_t{0}, 10'000'000'000), 1'844'674'407'370'955'162);
  EXPECT_EQ(ticksToNs(~uint64_t{0}, 1), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ticksToNs(1'795'187'451'481'824'608, 1'000'000'000), 1'795'187'451'481'824'608);
}

TEST(XRayTrace, WhatIsNotMatchedIsCounted) {
  XRayLogBuilder log(3, XRayMode::kBasic);
  log.basic(1, 9, 50)    // never entered
      .basic(0, 1, 100)  // open at the end of the log
      .basic(0, 2, 200)
      .basic(0, 3, 250)  // its exit is missing
      .basic(1, 2, 300)
      .basic(0, 4, 900, 8)
      .basic(1, 4, 1000, 8);
  const ImportedXray got = importedXray(log.string());
  EXPECT_EQ(got.report.counts.events, 7U);
  ASSERT_EQ(got.trace.range.size(), 5U);
  EXPECT_EQ(got.trace.range.kind[0], RangeKind::kEnd);
  std::map<std::string, int64_t> lengths;
  for (size_t i = 0; i < got.trace.range.size(); ++i) {
    lengths[std::string(got.trace.text(got.trace.range.name[i]))] = got.trace.range.duration_ns[i];
  }
  EXPECT_EQ(lengths["function #3"], 50);  // ends with its caller
  EXPECT_EQ(lengths["function #2"], 100);
  EXPECT_EQ(lengths["function #1"], 900);  // ends at the last time
  const std::string reason(got.trace.text(got.trace.loss.reason[0]));
  EXPECT_THAT(reason, HasSubstr("1 exits of functions that were not entered"));
  EXPECT_THAT(reason, HasSubstr("1 functions whose exit is missing"));
  EXPECT_THAT(reason, HasSubstr("1 functions still running"));
}

TEST(XRayTrace, ACounterThatRunsBackwardsMakesNoLength) {
  XRayLogBuilder log(3, XRayMode::kBasic);
  log.basic(0, 1, 500).basic(1, 1, 400).basic(0, 2, ~uint64_t{0}).basic(1, 2, ~uint64_t{0});
  const ImportedXray got = importedXray(log.string());
  ASSERT_EQ(got.trace.range.size(), 1U);
  EXPECT_EQ(got.trace.range.duration_ns[0], 0);
  EXPECT_EQ(got.report.counts.others, 2U);  // the times of the other call are impossible
  EXPECT_THAT(got.report.counts.notes[0], HasSubstr("1 events end before they start"));
  EXPECT_THAT(got.report.counts.notes[1], HasSubstr("1 events have an impossible time"));
}

TEST(XRayTrace, AFrequencyThatCanNotBeMakesNoTimes) {
  XRayLogBuilder log(3, XRayMode::kBasic, 1);
  log.basic(0, 1, 5'000'000'000'000).basic(1, 1, 5'000'000'001'000);
  const ImportedXray got = importedXray(log.string());
  EXPECT_EQ(got.trace.range.size(), 0U);
  EXPECT_EQ(got.report.counts.rows, 0U);
  EXPECT_EQ(got.report.counts.others, 2U);
  EXPECT_THAT(std::string(got.trace.text(got.trace.loss.reason[0])),
              HasSubstr("1 events have an impossible time"));
}

TEST(XRayTrace, EventsOfTheProgramAreInstants) {
  XRayLogBuilder log(5, XRayMode::kFdr);
  log.metadata(7, uint64_t{64 + 32 + 5 + 2})
      .metadata(0, int32_t{11})
      .metadata(4, uint64_t{12}, uint32_t{34})
      .metadata(9, int32_t{10})
      .metadata(2, uint16_t{3}, uint64_t{1000})
      .metadata(5, int32_t{5}, int32_t{10})
      .text("hello")
      .metadata(8, int32_t{2}, int32_t{20}, uint16_t{9})
      .text(std::string_view("\0\x01", 2));
  const ImportedXray got = importedXray(log.string());
  ASSERT_EQ(got.trace.range.size(), 2U);
  EXPECT_EQ(got.trace.range.kind[0], RangeKind::kInstant);
  EXPECT_EQ(got.trace.text(got.trace.range.name[0]), "hello");
  EXPECT_EQ(got.trace.range.start_ns[1], 1030);
  EXPECT_EQ(got.trace.text(got.trace.range.name[1]), "typed event 9");
  ASSERT_EQ(got.trace.clock_snapshot.size(), 1U);
  EXPECT_EQ(got.trace.clock_snapshot.host_ns[0], 1000);
  EXPECT_EQ(got.trace.clock_snapshot.clock_value[0], 12'000'034'000);
}

TEST(XRayTrace, EveryFieldOfTheRecordsIsKept) {
  for (const uint64_t frequency : {uint64_t{1'000'000'000}, uint64_t{3'000'000'001}}) {
    XRayLogBuilder log(3, XRayMode::kBasic, frequency);
    log.basic(3, 1, 7, 7, 6, 2).basicArgument(1, ~uint64_t{0}).basic(2, 1, 11, 7, 6, 3);
    log.basic(0, 2, 1000);
    const TempFile file;
    file.write(log.bytes);
    const TempFile output;
    ASSERT_TRUE(importTrace(file.path(), output.path()));
    const std::vector<nlohmann::json> sources = test::sourcesOf(output.path());
    ASSERT_EQ(sources.size(), 2U);
    EXPECT_EQ(sources[0], nlohmann::json::parse(R"({"func-id": 1, "kind": "function-enter-arg",
        "cpu": 2, "tsc": 7, "args.0": 18446744073709551615,
        "exit": {"kind": "function-tail-exit", "cpu": 3, "tsc": 11}})"));
    EXPECT_EQ(sources[1], nlohmann::json::parse(R"({"func-id": 2, "kind": "function-enter",
        "cpu": 1, "tsc": 1000, "exit": "missing"})"));
  }
}

TEST(XRayTrace, AProgramWithoutNamesIsAnError) {
  XRayLogBuilder log(3, XRayMode::kBasic);
  log.basic(0, 1, 500).basic(1, 1, 600);
  const TempFile file;
  file.write(log.bytes);
  const TempFile output;
  const auto report = importTrace(file.path(), output.path(), {.binary = file.path()});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("not an ELF file"));
  EXPECT_FALSE(importTrace(file.path(), output.path(), {.binary = "/nonexistent/program"}));
  const TempFile other;
  other.write(asBytes(std::string_view(R"({"traceEvents": [{"ph":"X","ts":1}]})")));
  const auto no_log = importTrace(other.path(), output.path(), {.binary = file.path()});
  ASSERT_FALSE(no_log);
  EXPECT_THAT(no_log.error().message, HasSubstr("is not used for Chrome JSON"));
}

}  // namespace
}  // namespace tracesmith::import
