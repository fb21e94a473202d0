// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/table_text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tracesmith/export/perfetto/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

std::string textOf(const Trace& trace, TableId table, TextFormat format,
                   const Selection* selection = nullptr) {
  std::string text;
  Output out = Output::toString(&text);
  EXPECT_TRUE(writeTable(trace, table, format, out, selection));
  EXPECT_TRUE(out.finish());
  return text;
}

/// Parses rows of fields by RFC 4180, except that lines end in LF.
std::vector<std::vector<std::string>> parseCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        rows.back().back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        rows.back().back() += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\n') {
      rows.push_back({""});
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}

TEST(TableText, csvGivesEachFieldBackAsItWas) {
  const Trace trace = sample::makeTrace({.kernels = 300, .names = 12});
  const auto rows = parseCsv(textOf(trace, TableId::kKernel, TextFormat::kCsv));
  ASSERT_EQ(rows.size(), trace.kernel.size() + 1);
  const auto& header = rows[0];
  const auto column = [&](std::string_view name) {
    const auto it = std::find(header.begin(), header.end(), name);
    EXPECT_NE(it, header.end()) << name;
    return static_cast<size_t>(it - header.begin());
  };
  const size_t start = column("start_ns");
  const size_t name = column("name");
  const size_t pid = column("pid");
  const size_t device = column("device_name");
  const size_t call_path = column("call_path_id");
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    const auto& row = rows[i + 1];
    ASSERT_EQ(row.size(), header.size());
    EXPECT_EQ(row[start], std::to_string(trace.kernel.start_ns[i]));
    EXPECT_EQ(row[name], trace.text(trace.kernel.name[i]));
    EXPECT_EQ(row[pid], std::to_string(trace.process.pid[indexOf(trace.kernel.process_id[i])]));
    EXPECT_EQ(row[device],
              trace.text(trace.device.name[indexOf(trace.deviceOf(trace.kernel.stream_id[i]))]));
    EXPECT_EQ(row[call_path], "") << "an absent id is empty";
  }
}

TEST(TableText, everyTableIsReachableByItsNameInBothFormats) {
  const Trace trace = sample::makeTrace({.kernels = 100, .names = 12});
  for (std::string_view name : tableNames()) {
    const Result<TableId> id = tableByName(name);
    ASSERT_TRUE(id) << name;
    const auto rows = parseCsv(textOf(trace, *id, TextFormat::kCsv));
    const auto json = nlohmann::json::parse(textOf(trace, *id, TextFormat::kJson));
    ASSERT_TRUE(json.is_array());
    EXPECT_EQ(rows.size(), json.size() + 1) << name;
    for (size_t i = 0; i < json.size(); ++i) {
      EXPECT_EQ(json[i].size(), rows[0].size()) << name;
      for (const std::string& column : rows[0]) EXPECT_TRUE(json[i].contains(column)) << column;
    }
  }
  const Result<TableId> wrong = tableByName("kernels");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("kernel, copy"), std::string::npos);
}

TEST(TableText, jsonKeepsNumbersThatADoubleWouldRound) {
  Trace trace;
  MemoryEventRow row;
  row.time_ns = std::numeric_limits<int64_t>::min();
  row.bytes = std::numeric_limits<uint64_t>::max();
  row.kind = MemoryKind::kFree;
  trace.memory_event.push(row);
  const auto json = nlohmann::json::parse(textOf(trace, TableId::kMemoryEvent, TextFormat::kJson));
  EXPECT_EQ(json[0]["time_ns"].get<int64_t>(), row.time_ns);
  EXPECT_EQ(json[0]["bytes"].get<uint64_t>(), row.bytes);
  EXPECT_EQ(json[0]["kind"], "free");
  EXPECT_TRUE(json[0]["process_id"].is_null());
}

TEST(TableText, aSelectionLeavesOutWhatLiesOutsideIt) {
  const Trace trace = sample::makeTrace({.kernels = 200, .names = 4, .extras = false});
  const Selection selection(trace, trace.kernel.start_ns[50], std::nullopt, {StreamId(3)});
  size_t expected = 0;
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    const int64_t end = trace.kernel.start_ns[i] + trace.kernel.duration_ns[i];
    expected += trace.kernel.stream_id[i] == StreamId(3) && end > trace.kernel.start_ns[50];
  }
  ASSERT_GT(expected, 0u);
  const auto rows = parseCsv(textOf(trace, TableId::kKernel, TextFormat::kCsv, &selection));
  EXPECT_EQ(rows.size(), expected + 1);
}

TEST(TableText, aRowOfATableWithMissingColumnsReadsAsZeros) {
  Trace trace;
  trace.kernel.start_ns.push_back(5);
  trace.kernel.process_id.push_back(ProcessId::kNone);
  trace.kernel.thread_id.push_back(ThreadId::kNone);
  trace.kernel.stream_id.push_back(StreamId::kNone);
  const auto json = nlohmann::json::parse(textOf(trace, TableId::kKernel, TextFormat::kJson));
  EXPECT_EQ(json[0]["start_ns"], 5);
  EXPECT_EQ(json[0]["duration_ns"], 0);
}

TEST(TableText, severalTablesMakeOneJsonObject) {
  const Trace trace = sample::makeTrace({.kernels = 40, .names = 10});
  std::string text;
  Output out = Output::toString(&text);
  ASSERT_TRUE(writeTablesJson(trace, eventTables(trace), out));
  ASSERT_TRUE(out.finish());
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["kernel"].size(), trace.kernel.size());
  EXPECT_EQ(json["flow"].size(), trace.flow.size());
  EXPECT_FALSE(json.contains("attribute")) << "empty tables are left out";
}

}  // namespace
}  // namespace tracesmith
