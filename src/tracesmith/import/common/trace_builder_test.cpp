// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/trace_builder.hpp"

#include <gmock/gmock.h>

#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/common/proto_message_test_util.hpp"
#include "tracesmith/import/common/source_test_util.hpp"
#include "tracesmith/import/sqlite/sqlite_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::Database;
using test::ImportedText;
using test::importText;
using test::Message;
using test::TempFile;
using ::testing::HasSubstr;

constexpr size_t kTooLong = sbt::kMaxStringBytes + 5;

TEST(TraceBuilder, ATextThatIsTooLongIsCutAtACharacterAndCounted) {
  const TempFile output;
  auto writer = TraceWriter::create(output.path());
  ASSERT_TRUE(writer);
  TraceBuilder builder(*writer, Trace{});
  const std::string fits(sbt::kMaxStringBytes, 'a');
  EXPECT_EQ(builder.rows.text(builder.text(fits)).size(), sbt::kMaxStringBytes);
  const std::string euros = std::string(sbt::kMaxStringBytes - 1, 'a') + "€€";
  EXPECT_EQ(builder.rows.text(builder.text(euros)).size(), sbt::kMaxStringBytes - 1);
  EXPECT_EQ(builder.rows.text(builder.json("\"" + fits)), "null");
  // A key that is too long gives no shape; its values are left out too.
  const uint32_t shape = builder.sourceShape(
      {.between = {"{\"" + fits + "\":", "}"}, .gaps = {{SourceGap::kInteger, "x"}}});
  const int64_t value = 7;
  builder.rows.range.push({.start_ns = 1});
  builder.keep(TableId::kRange, shape, {&value, 1});
  ImportCounts counts{.events = 1};
  ASSERT_TRUE(builder.finish(counts, "before"));
  ASSERT_TRUE(writer->finish());
  ASSERT_EQ(counts.damage.size(), 2U);
  EXPECT_EQ(counts.damage[0].reason, "1 texts longer than the 16 MiB that a trace holds are cut");
  EXPECT_THAT(counts.damage[1].reason, HasSubstr("2 values of the source longer than"));
  const Trace trace = TraceReader::open(output.path())->read().value();
  EXPECT_THAT(std::string(trace.text(trace.loss.reason[0])), HasSubstr("before; 1 texts"));
  EXPECT_EQ(test::sourcesOf(output.path()), std::vector<nlohmann::json>{nullptr});
}

TEST(TraceBuilder, NoTwoDevicesOrStreamsShareAnOrdinal) {
  const TempFile output;
  auto writer = TraceWriter::create(output.path());
  ASSERT_TRUE(writer);
  TraceBuilder builder(*writer, Trace{});
  for (const int64_t number :
       {int64_t{0}, int64_t{-1}, int64_t{1} << 32, int64_t{UINT32_MAX}, int64_t{1} << 33, INT64_MIN,
        int64_t{1} << 32, int64_t{1} << 31, int64_t{3} << 30}) {
    builder.stream(1, number, 0, number);
  }
  const std::vector<uint32_t> expected = {
      0,       UINT32_MAX, 1u << 31, (1u << 31) + 1, (1u << 31) + 2, (1u << 31) + 3, (1u << 31) + 4,
      3u << 30};
  EXPECT_EQ(builder.rows.stream.ordinal, expected);
  EXPECT_EQ(builder.rows.device.ordinal, expected);
  EXPECT_EQ(builder.rows.stream.handle[2], uint64_t{1} << 32);
}

TEST(TraceBuilder, NoFormatLosesAFileToOneLongText) {
  const std::string text(kTooLong, 'k');
  const std::string nodes = R"({"schema":"1.1.1","nodes":[{"id":1,"start_time_micros":1,"name":")" +
                            text + R"(","odd":[")" + text + R"("]}],"note":")" + text + R"("})";
  const std::string rocprof = R"({"rocprofiler-sdk-tool":[{"metadata":{"pid":1},"note":")" + text +
                              R"(","kernel_symbols":[{"kernel_id":5,"formatted_kernel_name":")" +
                              text +
                              R"("}],"buffer_records":{"kernel_dispatch":[{"start_timestamp":1,)"
                              R"("end_timestamp":2,"dispatch_info":{"kernel_id":5},"more":")" +
                              text + R"("}]}}]})";
  const std::string perfetto =
      Message().of(1, Message().number(8, 5).of(11, Message().number(9, 3).text(23, text))).bytes();
  for (const std::string& document : {nodes, rocprof, perfetto}) {
    SCOPED_TRACE(document.substr(0, 40));
    const ImportedText got = importText(document);
    ASSERT_TRUE(got.ok) << got.error;
    EXPECT_EQ(got.trace.range.size() + got.trace.kernel.size(), 1U);
    EXPECT_THAT(std::string(got.trace.text(got.trace.loss.reason[0])), HasSubstr("are cut"));
  }
}

TEST(TraceBuilder, ADatabaseWithLongValuesKeepsItsRows) {
  const TempFile made;
  const Database db(made.path());
  db.run(
      "CREATE TABLE StringIds (id INTEGER, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, note, blob);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, printf('%.*c', " +
      std::to_string(kTooLong) + ", 'x'), zeroblob(" + std::to_string(kTooLong) +
      ")), (30, 40, 'short', x'00');");
  const test::ImportedDatabase got = test::importedDatabase(made.path());
  ASSERT_TRUE(got.report);
  EXPECT_EQ(got.trace.kernel.size(), 2U);
  const std::string lost(got.trace.text(got.trace.loss.reason[0]));
  EXPECT_THAT(lost, HasSubstr("1 texts longer than the 16 MiB"));
  EXPECT_THAT(lost, HasSubstr("1 values of the source longer than the 16 MiB"));
  ASSERT_EQ(got.kept.size(), 2U);
}

}  // namespace
}  // namespace tracesmith::import
