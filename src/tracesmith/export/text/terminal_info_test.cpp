// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/terminal_info.hpp"

#include <gmock/gmock.h>

#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

TEST(TerminalInfo, WithoutTheEventsTheBlocksSayHowManyAndHowLong) {
  const test::TempFile file;
  {
    auto writer = TraceWriter::create(file.path());
    ASSERT_TRUE(writer);
    Trace trace;
    trace.kernel.push({.start_ns = 1'000, .duration_ns = 500});
    trace.kernel.push({.start_ns = 4'000, .duration_ns = 2'000});
    ASSERT_TRUE(writer->write(trace));
    ASSERT_TRUE(writer->finish());
  }
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  for (const std::vector<TableId>& tables : {std::vector<TableId>{}, {TableId::kLoss}}) {
    const auto trace = reader->read({.tables = tables});
    ASSERT_TRUE(trace);
    std::string text;
    Output out = Output::toString(&text);
    describeTrace(*trace, *reader, "a.sbt", {}, {.utf8 = false}, out);
    ASSERT_TRUE(out.finish());
    EXPECT_THAT(text, HasSubstr("span       5.00 us"));
    EXPECT_THAT(text, HasSubstr("kernel     2"));
  }
}

TEST(TerminalInfo, HowManyEventsThereWereMayBeUnknown) {
  const test::TempFile file;
  Trace trace;
  trace.loss.push({.id = LossId{1}, .emitted = 0, .written = 3, .dropped = 1});
  {
    auto writer = TraceWriter::create(file.path());
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write(trace));
    ASSERT_TRUE(writer->finish());
  }
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader);
  std::string text;
  Output out = Output::toString(&text);
  describeTrace(trace, *reader, "a.sbt", {}, {.utf8 = false}, out);
  ASSERT_TRUE(out.finish());
  EXPECT_THAT(text, HasSubstr("unknown        3        1"));
}

}  // namespace
}  // namespace tracesmith
