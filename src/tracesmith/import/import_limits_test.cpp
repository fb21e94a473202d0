// SPDX-License-Identifier: Apache-2.0
// Tests windows and limits of the readers. At each of them, and up to two before and after it,
// everything must be present, or counted where the limit requires that. chrome_importer_test.cpp
// tests Chrome's launches, and byte_source_test.cpp tests chunks of packed data.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tracesmith/format/encoding/sbt_layout.hpp"
#include "tracesmith/import/common/csv_reader.hpp"
#include "tracesmith/import/common/import_test_util.hpp"
#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/common/proto_message_test_util.hpp"
#include "tracesmith/import/json/json_events.hpp"
#include "tracesmith/import/json/json_list.hpp"
#include "tracesmith/import/json/source_member.hpp"
#include "tracesmith/import/sqlite/sqlite_test_util.hpp"
#include "tracesmith/import/xray/xray_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::importText;
using test::Message;
using test::TextSource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// From two below a limit to two above it.
std::vector<size_t> around(size_t limit) {
  return {limit - 2, limit - 1, limit, limit + 1, limit + 2};
}

std::string chromeEvent(const std::string& members) {
  return R"({"ph":"X","pid":1,"tid":1,"ts":1,"dur":1)" + members + "}";
}

TEST(ImportLimits, AnEventMayLieAcrossTheWindowAnywhere) {
  const std::string event = chromeEvent(R"(,"name":"e","args":{"a":"\u00e9é","b":[1,2.5]})");
  constexpr size_t kWindow = 512;
  for (size_t before = 0; before <= kWindow + 2; ++before) {
    TextSource source("[" + std::string(before, ' ') + event + "," + event + "]");
    JsonEvents events(source, kWindow);
    size_t found = 0;
    ASSERT_TRUE(events.run([](std::string_view, std::string_view) {},
                           [&](const ChromeEvent& e) { found += e.raw == event ? 1U : 0U; }));
    ASSERT_EQ(found, 2U) << before << " bytes before it";
    ASSERT_THAT(events.damage(), IsEmpty());
  }
}

TEST(ImportLimits, AMemberMayBeAsLargeAsItIsSaid) {
  constexpr size_t kLargest = 4096;
  for (const size_t bytes : around(kLargest)) {
    const std::string value = '"' + std::string(bytes - 2, 'x') + '"';
    TextSource source(R"({"traceEvents":[],"m":)" + value + R"(,"n":1})");
    JsonEvents events(source, 256, kLargest);
    std::vector<size_t> members;
    ASSERT_TRUE(
        events.run([&](std::string_view, std::string_view raw) { members.push_back(raw.size()); },
                   [](const ChromeEvent&) {}));
    if (events.damage().empty()) {
      EXPECT_THAT(members, ElementsAre(bytes, 1));
    } else {
      EXPECT_GT(bytes, kLargest);
      EXPECT_THAT(members, ElementsAre(1));
      EXPECT_EQ(events.damage()[0].bytes, bytes);
    }
  }
}

TEST(ImportLimits, CategoriesOfAnyLengthAreKept) {
  for (const size_t length : around(64)) {  // longer ones are not part of an event's shape
    const std::string category(length, 'c');
    const std::string events = chromeEvent(R"(,"name":"e","cat":")" + category + '"') +
                               R"(,{"ph":"s","id":1,"name":"f","pid":1,"tid":1,"ts":1,"cat":")" +
                               category + "\"}";
    const auto got = importText("[" + events + "," + events + "]");
    ASSERT_EQ(got.trace.range.size(), 2U);
    ASSERT_EQ(got.trace.flow_event.size(), 2U);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(got.trace.text(got.trace.range.category[i]), category);
      EXPECT_EQ(got.trace.text(got.trace.flow_event.category[i]), category);
    }
  }
}

TEST(ImportLimits, EventsMayHaveAnyNumberOfValues) {
  for (const size_t values : around(1000)) {  // larger shapes are not kept
    std::string members;
    for (size_t i = 0; i + 4 < values; ++i) members += ",\"k" + std::to_string(i) + "\":1";
    const std::string event = chromeEvent(members + R"(,"name":"e")");
    const auto got = importText("[" + event + "," + event + "]");
    EXPECT_EQ(got.counts.rows, 2U) << values;
    EXPECT_THAT(got.counts.damage, IsEmpty());
  }
}

TEST(ImportLimits, ShapesMayBeAsManyAsThereAre) {
  // 64 shapes have the same prefix; further events are kept as a whole.
  std::string text = "[";
  for (size_t i = 0; i < 70; ++i) {
    for (int twice = 0; twice < 2; ++twice) {
      text += R"({"k)" + std::to_string(i) + R"(":1,"ph":"i","ts":)" + std::to_string(i) + "},";
    }
  }
  text.back() = ']';
  const auto got = importText(text);
  EXPECT_EQ(got.trace.range.size(), 140U);
  EXPECT_THAT(got.counts.damage, IsEmpty());
}

TEST(ImportLimits, TextsAreCutWhereATraceHoldsNoMore) {
  for (const size_t bytes : {size_t{sbt::kMaxStringBytes}, size_t{sbt::kMaxStringBytes} + 1}) {
    std::vector<std::pair<std::string, size_t>> rows;
    keepSourceMember("m", std::string(bytes, 'x'), [&](const std::string& key, std::string_view v) {
      rows.emplace_back(key, v.size());
    });
    if (bytes == sbt::kMaxStringBytes) {
      EXPECT_THAT(rows, ElementsAre(std::pair("source.m", bytes)));
    } else {
      EXPECT_THAT(rows, ElementsAre(std::pair("source_part.0.m", bytes - 1),
                                    std::pair("source_part.1.m", size_t{1})));
    }
  }
}

TEST(ImportLimits, CsvFieldsLieAcrossTheWindow) {
  constexpr size_t kWindow = 1u << 20;
  for (const size_t before : around(kWindow)) {
    // The first line fills the window except for two bytes, or the second one starts after it.
    const std::string text = std::string(before - 6, 'a') + ",\"b\"\nc,\"d\"\"e\"\r\nf,g\n";
    TextSource source(text);
    CsvReader reader(source);
    std::vector<std::string> fields;
    ASSERT_TRUE(reader.next(fields));
    EXPECT_EQ(fields[0].size(), before - 6);
    EXPECT_EQ(fields[1], "b");
    ASSERT_TRUE(reader.next(fields));
    EXPECT_THAT(fields, ElementsAre("c", "d\"e"));
    ASSERT_TRUE(reader.next(fields));
    EXPECT_THAT(fields, ElementsAre("f", "g"));
    EXPECT_EQ(reader.problem(), "");
    EXPECT_FALSE(reader.next(fields));
  }
}

TEST(ImportLimits, CsvFieldsAndRecordsBeyondTheLimitAreSaid) {
  constexpr size_t kLongestField = 1u << 20;
  for (const size_t length : around(kLongestField)) {
    TextSource source(std::string(length, 'a') + "\nb\n");
    CsvReader reader(source);
    std::vector<std::string> fields;
    ASSERT_TRUE(reader.next(fields));
    EXPECT_EQ(fields[0].size(), std::min(length, kLongestField));
    EXPECT_EQ(reader.problem().empty(), length <= kLongestField) << length;
    ASSERT_TRUE(reader.next(fields));
    EXPECT_THAT(fields, ElementsAre("b"));
  }
  constexpr size_t kMostFields = 4096;
  for (const size_t count : around(kMostFields)) {
    TextSource source(std::string(count - 1, ',') + "\nb\n");
    CsvReader reader(source);
    std::vector<std::string> fields;
    ASSERT_TRUE(reader.next(fields));
    EXPECT_EQ(fields.size(), std::min(count, kMostFields)) << count;
    EXPECT_EQ(reader.problem().empty(), count <= kMostFields) << count;
    ASSERT_TRUE(reader.next(fields));
    EXPECT_THAT(fields, ElementsAre("b"));
  }
}

TEST(ImportLimits, NodesLieAcrossTheWindow) {
  constexpr size_t kStep = 1u << 18;
  const std::string node = R"({"id":1,"name":"n"})";
  for (size_t before = 2 * kStep - node.size() - 2; before <= 2 * kStep + 2; ++before) {
    const std::string head = R"({"nodes":[)";
    TextSource source(head + std::string(before - head.size(), ' ') + node + "," + node + "]}");
    JsonList list(source, {"nodes"});
    size_t found = 0;
    list.run([](std::string_view, std::string_view) {},
             [&](std::string_view raw, uint64_t) {
               found += raw == node ? 1U : 0U;
               return true;
             });
    ASSERT_EQ(found, 2U) << before;
    ASSERT_THAT(list.damage, IsEmpty());
  }
}

TEST(ImportLimits, RecordsMayHaveAnyNumberOfValuesAndLayouts) {
  const std::string head = R"({"rocprofiler-sdk-tool":[{"buffer_records":{"hip_api":[)";
  for (const size_t values : around(512)) {  // larger records are not split into members
    std::string members;
    for (size_t i = 0; i + 2 < values; ++i) members += ",\"k" + std::to_string(i) + "\":1";
    const auto got =
        importText(head + R"({"start_timestamp":1,"end_timestamp":2)" + members + "}]}}]}");
    EXPECT_EQ(got.counts.events, 1U) << values;
    EXPECT_EQ(got.trace.host_call.size(), values <= 512 ? 1U : 0U) << values;
    EXPECT_EQ(got.counts.others, values <= 512 ? 0U : 1U) << values;
  }
  std::string layouts = head;  // 256 are kept
  for (size_t i = 0; i < 260; ++i) {
    layouts += R"({"start_timestamp":1,"end_timestamp":2,"k)" + std::to_string(i) + R"(":1},)";
  }
  layouts.back() = ']';
  const auto got = importText(layouts + "}}]}");
  EXPECT_EQ(got.trace.host_call.size(), 260U);
  EXPECT_THAT(got.counts.damage, IsEmpty());
}

/// Rows are written in batches; references to much earlier rows must still be found.
TEST(ImportLimits, DatabaseRowsFindTheirCallAcrossBatches) {
  constexpr int64_t kBatch = test::SmallBatches::kRows;
  const test::SmallBatches small;
  const test::TempFile made, output;
  test::Database(made.path())
      .run(
          "PRAGMA journal_mode = OFF; BEGIN;"
          "CREATE TABLE rocpd_string (id integer PRIMARY KEY, string text);"
          "CREATE TABLE rocpd_api (id integer PRIMARY KEY, pid integer, tid integer,"
          " start integer, end integer, apiName_id integer, args_id integer);"
          "CREATE TABLE rocpd_op (id integer PRIMARY KEY, gpuId integer, queueId integer,"
          " start integer, end integer, description_id integer, opType_id integer);"
          "CREATE TABLE rocpd_api_ops (id integer PRIMARY KEY, api_id integer, op_id integer);"
          "INSERT INTO rocpd_string VALUES (1, 'hipLaunchKernel'), (2, 'KernelExecution'), (3, "
          "'k');"
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
          std::to_string(kBatch + 2) +
          ") INSERT INTO rocpd_api SELECT i, 10, 10 + i % 3, i, i + 1, 1, 1 FROM n;"
          "INSERT INTO rocpd_op SELECT id, 0, 0, start, end, 3, 2 FROM rocpd_api"
          " WHERE id < 4 OR id > " +
          std::to_string(kBatch - 3) +
          "; INSERT INTO rocpd_api_ops SELECT id, id, id FROM rocpd_op; COMMIT;");
  const auto report = importTrace(made.path(), output.path());
  ASSERT_TRUE(report) << report.error().toString();
  const Trace t = TraceReader::open(output.path())->read().value();
  ASSERT_EQ(t.host_call.size(), static_cast<size_t>(kBatch + 2));
  ASSERT_EQ(t.kernel.size(), 8U);
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    const KernelRow k = t.kernel.row(i);
    ASSERT_NE(k.thread_id, ThreadId::kNone);
    EXPECT_EQ(t.thread.tid[indexOf(k.thread_id)], 10 + k.start_ns % 3);
  }
}

TEST(ImportLimits, XRayEntriesFindTheirExitsAcrossBatches) {
  constexpr size_t kBatch = test::SmallBatches::kRows;
  const test::SmallBatches small;
  test::XRayLogBuilder log(3, XRayMode::kBasic);
  uint64_t now = 1;
  log.basic(0, 1, now++);  // encloses all others
  for (size_t i = 0; i < kBatch + 2; ++i) {
    log.basic(0, 2, now++);
    log.basic(1, 2, now++);
  }
  log.basic(1, 1, now++);
  const auto got = importText(log.string());
  ASSERT_TRUE(got.ok) << got.error;
  ASSERT_EQ(got.trace.range.size(), kBatch + 3);
  size_t whole = 0;
  int64_t longest = 0;
  for (size_t i = 0; i < got.trace.range.size(); ++i) {
    whole += got.trace.range.kind[i] == RangeKind::kRange ? 1U : 0U;
    longest = std::max(longest, got.trace.range.duration_ns[i]);
  }
  EXPECT_EQ(whole, kBatch + 3);
  EXPECT_EQ(longest, static_cast<int64_t>(2 * (kBatch + 2) + 1));
}

TEST(ImportLimits, ChakraMessagesLieAcrossTheWindow) {
  constexpr size_t kStep = 1u << 20;
  const auto sized = [](const Message& m) {
    std::string out;
    for (size_t n = m.bytes().size(); out.empty() || n > 0; n >>= 7) {
      out += static_cast<char>(n >= 0x80 ? (n & 0x7f) | 0x80 : n);
      if (n < 0x80) break;
    }
    return out + m.bytes();
  };
  const std::string head =
      sized(Message().text(1, "0.0.4").of(2, Message().text(1, "schema").text(29, "x")));
  const std::string node = sized(Message().number(1, 1).text(2, "n").number(6, 5).number(7, 1));
  for (const size_t before : around(kStep)) {
    for (const size_t back : {size_t{0}, size_t{1}, node.size() - 1, node.size()}) {
      // A node with a long name fills the window up to there.
      const size_t filled = before - back - head.size() - 10;
      const std::string text =
          head + sized(Message().number(1, 2).text(2, std::string(filled, 'x'))) + node + node;
      const auto got = importText(text);
      ASSERT_TRUE(got.ok) << got.error;
      EXPECT_EQ(got.counts.events, 3U) << text.size();
      EXPECT_EQ(got.counts.rows, 2U);
      EXPECT_THAT(got.counts.damage, IsEmpty());
    }
  }
}

TEST(ImportLimits, XctraceTextsAreCutAtAMiBAndRowsLieAcrossThePieces) {
  const std::string head =
      "<?xml version=\"1.0\"?><trace-query-result><node><schema name=\"metal-gpu-intervals\">"
      "<col><mnemonic>start</mnemonic></col><col><mnemonic>duration</mnemonic></col>"
      "<col><mnemonic>event-label</mnemonic></col></schema>";
  const std::string tail = "</node></trace-query-result>";
  const auto row = [](const std::string& label) {
    return "<row><start-time>5</start-time><duration>7</duration><string>" + label +
           "</string></row>";
  };
  for (const size_t length : around(1u << 20)) {
    const auto got = importText(head + row(std::string(length, 'x')) + tail);
    ASSERT_EQ(got.trace.kernel.size(), 1U);
    EXPECT_EQ(got.trace.text(got.trace.kernel.name[0]).size(), std::min<size_t>(length, 1u << 20));
    EXPECT_EQ(got.counts.damage.empty(), length <= 1u << 20) << length;
  }
  constexpr size_t kPiece = 1u << 16;
  for (size_t before = kPiece - 100; before <= kPiece + 2; ++before) {
    const auto got =
        importText(head + std::string(before - head.size(), ' ') + row("a") + row("b") + tail);
    ASSERT_EQ(got.trace.kernel.size(), 2U) << before;
    ASSERT_EQ(got.trace.text(got.trace.kernel.name[1]), "b");
  }
}

TEST(ImportLimits, WhatAFileIsIsSeenInItsHead) {
  constexpr size_t kHead = 64u << 10;
  const std::string event = chromeEvent("");
  for (const size_t before : around(kHead)) {
    const auto got = importText(std::string(before - 1, ' ') + "[" + event + "]");
    EXPECT_EQ(got.ok, before <= kHead) << before;
    EXPECT_TRUE(got.ok || got.error.find("known format") != std::string::npos);
  }
}

}  // namespace
}  // namespace tracesmith::import
