// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/select/row_filter.hpp"

#include <gtest/gtest.h>

#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

TEST(RowFilter, LeavesWhatMatchesAndMovesAttributesWithTheirRows) {
  test::SampleTrace s = test::sampleProgram();
  Trace& t = s.trace;
  const auto attribute = [&](TableId table, uint64_t row, const char* value) {
    t.attribute.push({.table = static_cast<uint32_t>(table),
                      .row_number = row,
                      .key = s.text("key"),
                      .value = s.text(value)});
  };
  attribute(TableId::kKernel, 0, "first");
  attribute(TableId::kKernel, 2, "relu");
  attribute(TableId::kProcess, 0, "process");
  t.counter_track.push({.name = s.text("power")});
  t.counter.push({.time_ns = 5, .track_id = CounterTrackId(1), .value = 1});
  const KeptRows kept = keepRows(t, Selection(t, std::nullopt, std::nullopt, {}),
                                 {NamePattern::parse("relu").value()});
  ASSERT_EQ(t.kernel.size(), 1u);
  EXPECT_EQ(t.text(t.kernel.name[0]), "relu");
  EXPECT_EQ(kept.at(TableId::kKernel), std::vector<uint64_t>{2});
  EXPECT_EQ(t.copy.size() + t.host_call.size() + t.counter.size(), 0u);
  EXPECT_EQ(t.stream.size(), 2u);  // rows that ids refer to stay
  ASSERT_EQ(t.attribute.size(), 2u);
  EXPECT_EQ(t.attribute.row_number[0], 0u);
  EXPECT_EQ(t.text(t.attribute.value[0]), "relu");
  EXPECT_EQ(t.text(t.attribute.value[1]), "process");
}

TEST(RowFilter, TakesTimesAndStreamsAsOtherExportsDo) {
  test::SampleTrace s = test::sampleProgram();
  Trace& t = s.trace;
  keepRows(t, Selection(t, 1500000, 1800000, {StreamId(1)}), {});
  // Overlaps the range; the others start later or are on other streams.
  ASSERT_EQ(t.kernel.size(), 1u);
  EXPECT_EQ(t.kernel.start_ns[0], 1200000);
  EXPECT_EQ(t.copy.size(), 0u);
}

TEST(RowFilter, APartHasTheRowsThatAreKept) {
  test::SampleTrace s = test::sampleProgram();
  for (uint64_t row = 0; row < 3; ++row) {
    s.trace.attribute.push({.table = static_cast<uint32_t>(TableId::kKernel), .row_number = row});
  }
  const Selection times(s.trace, 1500000, 1800000, {});
  const RowChoice choice{NamePattern::parse("").value(), true, true};
  const Trace part = partOf(s.trace, times, choice);
  EXPECT_GT(s.trace.kernel.size(), part.kernel.size());
  keepRows(s.trace, times, choice);
  ASSERT_GT(part.kernel.size(), 0u);
  ASSERT_GT(part.attribute.size(), 0u);
  test::expectSameRows(s.trace, part);
}

TEST(RowFilter, CopiesAreCalledByTheirKind) {
  test::SampleTrace s = test::sampleProgram();
  keepRows(s.trace, Selection(s.trace, std::nullopt, std::nullopt, {}),
           {NamePattern::parse("^host_to_").value()});
  EXPECT_EQ(s.trace.copy.size(), 1u);
  EXPECT_EQ(s.trace.kernel.size(), 0u);
}

}  // namespace
}  // namespace tracesmith
