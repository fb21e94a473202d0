// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/xctrace/xctrace_importer.hpp"

#include <gmock/gmock.h>

#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/xctrace/xctrace_sample_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::importDamaged;
using test::ImportedText;
using test::importText;
using test::kXctraceIntervals;
using test::kXctraceSeveral;
using ::testing::HasSubstr;

TEST(XctraceImporter, IntervalsOfTheGpuAreKernelsAsTheyAre) {
  const ImportedText got = importText(kXctraceIntervals);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "xctrace XML");
  EXPECT_TRUE(got.counts.damage.empty()) << got.counts.damage[0].reason;
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 3u);  // the second is inside the first and is kept
  EXPECT_EQ(t.text(t.kernel.name[0]), "Command Buffer 0:Compute Command 0");
  EXPECT_EQ(t.kernel.start_ns[0], 100'000'000);
  EXPECT_EQ(t.kernel.duration_ns[0], 1'000'000);
  EXPECT_EQ(t.kernel.correlation_id[0], 170u);
  EXPECT_EQ(t.kernel.start_ns[1], 100'200'000);
  EXPECT_EQ(t.kernel.name[1], t.kernel.name[0]);
  EXPECT_EQ(t.kernel.stream_id[1], t.kernel.stream_id[0]);
  EXPECT_EQ(t.text(t.kernel.name[2]), "Pass <1>");
  EXPECT_EQ(t.kernel.duration_ns[2], 1'000'000);  // a ref into another node
  EXPECT_EQ(t.process.pid[indexOf(t.kernel.process_id[0])], 2297u);
  EXPECT_EQ(t.process.pid[indexOf(t.kernel.process_id[2])], 99u);
  EXPECT_EQ(t.text(t.process.command_line[indexOf(t.kernel.process_id[0])]), "app");
  EXPECT_EQ(t.text(t.stream.name[indexOf(t.kernel.stream_id[0])]), "Compute");
  ASSERT_EQ(t.device.size(), 1u);
  EXPECT_EQ(t.text(t.device.name[0]), "Apple M2");
  EXPECT_EQ(t.device.backend[0], PlatformType::Metal);
}

TEST(XctraceImporter, ReadsSeveralTablesOfOneRun) {
  const ImportedText got = importText(kXctraceSeveral);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_TRUE(got.counts.damage.empty()) << got.counts.damage[0].reason;
  const Trace& t = got.trace;
  ASSERT_EQ(t.host_call.size(), 1u);
  EXPECT_EQ(t.text(t.host_call.name[0]), "CommandBufferSubmission");
  EXPECT_EQ(t.host_call.correlation_id[0], 170u);
  ASSERT_EQ(t.thread.size(), 1u);
  EXPECT_EQ(t.thread.tid[0], 4778u);
  EXPECT_EQ(t.text(t.thread.name[0]), "Main Thread");
  ASSERT_EQ(t.range.size(), 2u);
  EXPECT_EQ(t.range.kind[0], RangeKind::kInstant);
  EXPECT_EQ(t.range.correlation_id[0], 170u);
  EXPECT_EQ(t.text(t.range.name[1]), "Idle");
  EXPECT_EQ(t.text(t.range.category[1]), "metal-gpu-state-intervals");
  ASSERT_EQ(t.counter.size(), 2u);
  EXPECT_EQ(t.counter.value[0], 1.25);
  EXPECT_EQ(t.counter.value[1], 3);
  EXPECT_EQ(t.text(t.counter_track.name[0]), "ALU Utilization");
  EXPECT_EQ(got.counts.others, 2u);  // the counter's name, and the thermal state
  ASSERT_EQ(t.clock_snapshot.size(), 1u);
  EXPECT_EQ(t.clock_snapshot.clock_value[0], 1'788'327'012'250'000'000);
  EXPECT_EQ(t.metadataValue("source.template"), "Metal System Trace");
}

TEST(XctraceImporter, ValuesOfCountersThatOnlyBeginWithANumberAreNone) {
  std::string text(kXctraceSeveral);
  text.replace(text.find(">1.25<"), 6, ">1.25x<");
  const ImportedText got = importText(text);
  ASSERT_TRUE(got.ok);
  ASSERT_EQ(got.trace.counter.size(), 1u);
  EXPECT_EQ(got.trace.counter.value[0], 3);
  EXPECT_THAT(got.trace.text(got.trace.loss.reason[0]),
              HasSubstr("1 counter values are not numbers"));
}

TEST(XctraceImporter, RefsToNothingAreCountedAndHurtNothingElse) {
  std::string text(kXctraceIntervals);
  const std::string_view ref = "<duration ref=\"2\"/>";
  text.replace(text.find(ref), ref.size(), "<duration ref=\"999\"/>");
  const ImportedText got = importText(text);
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.trace.kernel.size(), 3u);
  ASSERT_EQ(got.counts.damage.size(), 1u);
  EXPECT_THAT(got.counts.damage[0].reason, HasSubstr("1 values refer to"));
}

TEST(XctraceImporter, LengthsThatCanNotBeAreNoneAndAreSaid) {
  std::string text(kXctraceIntervals);
  const auto replace = [&](std::string_view what, std::string_view instead) {
    text.replace(text.find(what), what.size(), instead);
  };
  replace(">1000000</duration>", ">-1000000</duration>");  // in two rows
  replace("<duration id=\"13\">300000</duration>", "<sentinel/>");
  const ImportedText got = importText(text);
  ASSERT_TRUE(got.ok);
  ASSERT_EQ(got.trace.kernel.size(), 3u);
  for (const int64_t duration : got.trace.kernel.duration_ns) EXPECT_EQ(duration, 0);
  const std::string lost(got.trace.text(got.trace.loss.reason[0]));
  EXPECT_THAT(lost, HasSubstr("2 events end before they start"));
  EXPECT_THAT(lost, HasSubstr("1 events have no end"));
}

TEST(XctraceImporter, KeepsWhatIsBeforeDamage) {
  const size_t first = kXctraceIntervals.find("<row>");
  const ImportedText cut =
      importText(kXctraceIntervals.substr(0, kXctraceIntervals.find("<row>", first + 1) + 60));
  ASSERT_TRUE(cut.ok);
  EXPECT_EQ(cut.trace.kernel.size(), 1u);
  ASSERT_EQ(cut.counts.damage.size(), 1u);
  EXPECT_THAT(cut.counts.damage[0].reason, HasSubstr("the rest of the XML cannot be read"));
}

TEST(XctraceImporter, RefusesEntitiesAndEndlessNesting) {
  const std::string bomb =
      "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]>" +
      std::string(kXctraceIntervals.substr(kXctraceIntervals.find("<trace-query")));
  EXPECT_THAT(importText(bomb).error, HasSubstr("document type"));
  std::string deep = "<trace-query-result>";
  for (int i = 0; i < 100000; ++i) deep += "<node>";
  EXPECT_THAT(importText(deep).error, HasSubstr("nested too deep"));
  EXPECT_THAT(importText("<trace-query-result></trace-query-result>").error, HasSubstr("no rows"));
}

TEST(XctraceImporter, ADateThatIsNoneIsNoClock) {
  for (const char* date : {"3662-09-02T14:30:12.250+09:00", "yesterday", "1900-01-01T00:00:00Z"}) {
    std::string text(kXctraceSeveral);
    const std::string_view given = "2026-09-02T14:30:12.250+09:00";
    text.replace(text.find(given), given.size(), date);
    const ImportedText got = importText(text);
    ASSERT_TRUE(got.ok);
    EXPECT_TRUE(got.trace.clock_snapshot.empty());
  }
}

TEST(XctraceImporter, AbsurdIdsTakeNoRoom) {
  std::string text(kXctraceIntervals);
  text.replace(text.find("id=\"1\""), 6, "id=\"9223372036854775807\"");
  const ImportedText got = importText(text);
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.trace.kernel.size(), 3u);
}

TEST(XctraceImporter, EveryDamageIsAnErrorOrCounted) {
  importDamaged(kXctraceIntervals, test::Cut::kShows, 40, 120);
  importDamaged(kXctraceSeveral, test::Cut::kShows, 20, 60);
}

}  // namespace
}  // namespace tracesmith::import
