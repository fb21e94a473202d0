// SPDX-License-Identifier: Apache-2.0
// Stacked tables and views: their content, and their descriptions.
#include "tracesmith/query/catalog/views.hpp"

#include <gtest/gtest.h>

#include "tracesmith/query/catalog/catalog.hpp"
#include "tracesmith/query/sql/query_engine.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

std::string askView(const Trace& trace, std::string_view sql) {
  auto engine = QueryEngine::open(trace);
  EXPECT_TRUE(engine);
  auto result = engine->run(sql);
  if (!result) return "error: " + result.error().toString();
  std::string out;
  for (const auto& row : result->rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const auto& c = row[i];
      out += (i == 0 ? "" : " | ") +
             (c.isNull() ? "NULL" : toText({c.type, c.integer, c.real, c.text}));
    }
    out += "\n";
  }
  return out;
}

TEST(Views, HaveTheColumnsThatTheySay) {
  const Trace trace = test::sampleProgram().trace;
  auto engine = QueryEngine::open(trace);
  ASSERT_TRUE(engine);
  for (const View& view : views()) {
    auto result = engine->run(std::string("SELECT * FROM ") + view.name);
    ASSERT_TRUE(result) << view.name << ": " << result.error().toString();
    std::string names;
    std::string said;
    for (const QueryColumn& column : result->columns) names += column.name + " ";
    for (const ViewColumn& column : view.columns) said += std::string(column.name) + " ";
    EXPECT_EQ(names, said) << view.name;
    for (const auto& row : result->rows) {
      for (size_t i = 0; i < row.size(); ++i) {
        if (row[i].isNull()) continue;
        const char* type = row[i].type == ValueType::kInteger ? "INTEGER"
                           : row[i].type == ValueType::kReal  ? "REAL"
                                                              : "TEXT";
        EXPECT_STREQ(view.columns[i].type, type) << view.name << "." << view.columns[i].name;
      }
    }
    EXPECT_EQ(askView(trace, std::string("SELECT count(*) FROM schema WHERE table_name = '") +
                                 view.name + "'"),
              std::to_string(view.columns.size()) + "\n");
  }
}

TEST(Views, AnswerTheUsualQuestions) {
  const Trace trace = test::sampleProgram().trace;
  EXPECT_EQ(askView(trace, "SELECT name, launches, total_ns, min_ns, max_ns FROM kernel_summary"),
            "saxpy | 2 | 700000 | 200000 | 500000\nrelu | 1 | 100000 | 100000 | 100000\n");
  EXPECT_EQ(askView(trace, "SELECT percent FROM kernel_summary WHERE name = 'saxpy'"), "87.5\n");
  EXPECT_EQ(
      askView(trace, "SELECT stream_id, kernels, work_ns IS NULL FROM stream_summary LIMIT 2"),
      askView(trace,
              "SELECT s.id, (SELECT count(*) FROM kernel WHERE stream_id = s.id), 0 FROM stream "
              "s LIMIT 2"));
  EXPECT_EQ(askView(trace,
                    "SELECT kernel, latency_ns = kernel_start_ns - call_start_ns FROM launch WHERE "
                    "kernel = 'relu'"),
            "relu | 1\n");
  EXPECT_EQ(askView(trace, "SELECT count(*) FROM launches"),
            "error: no such table: launches; did you mean launch?");
}

TEST(Views, SpansAreTheRowsOfAllTables) {
  test::SampleTrace s = test::sampleProgram();
  Trace& t = s.trace;
  t.range.push(
      {.start_ns = 5, .duration_ns = 7, .kind = RangeKind::kRange, .name = s.text("step")});
  t.range.push({.start_ns = 6, .kind = RangeKind::kInstant, .name = s.text("mark")});
  t.range.push(
      {.start_ns = 9, .duration_ns = 1, .kind = RangeKind::kRange, .name = s.text("saxpy")});
  EXPECT_EQ(
      askView(t, "SELECT kind, row_number, name, start_ns, end_ns FROM span WHERE kind = 'range'"),
      "range | 0 | step | 5 | 12\nrange | 2 | saxpy | 9 | 10\n");
  for (const char* table : {"kernel", "copy", "fill", "sync", "host_call", "program_build"}) {
    const std::string columns =
        "start_ns, duration_ns, end_ns, process_id, tid, correlation_id FROM ";
    EXPECT_EQ(askView(t, "SELECT row_number, " + columns + "span WHERE kind = '" + table + "'"),
              askView(t, "SELECT rowid, " + columns + table))
        << table;
  }
  EXPECT_EQ(askView(t, "SELECT kind, count(*) FROM span WHERE name = 'saxpy' GROUP BY kind"),
            "kernel | 2\nrange | 1\n");
  EXPECT_EQ(askView(t, "SELECT name FROM span WHERE kind = 'copy' ORDER BY name"),
            "device_to_host\nhost_to_device\n");
  EXPECT_EQ(askView(t, "SELECT count(*) FROM span WHERE name IS NULL"), "0\n");
}

TEST(Views, StepsAreATable) {
  test::SampleTrace s;
  for (int64_t i = 1; i <= 2; ++i) {
    s.trace.range.push({.start_ns = 100 * i,
                        .duration_ns = 90,
                        .name = s.text("ProfilerStep#" + std::to_string(i))});
  }
  EXPECT_EQ(askView(s.trace, "SELECT number, name, start_ns, duration_ns, end_ns, basis FROM step"),
            "1 | ProfilerStep#1 | 100 | 90 | 190 | ranges ProfilerStep of PyTorch\n"
            "2 | ProfilerStep#2 | 200 | 90 | 290 | ranges ProfilerStep of PyTorch\n");
  EXPECT_EQ(askView(s.trace, "SELECT max(end_ns) FROM step WHERE number = 1"), "190\n");
  EXPECT_EQ(askView(Trace{}, "SELECT count(*) FROM step"), "0\n");
}

TEST(Views, CollectivesAreKernelsAndRangesByName) {
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("d"));
  s.kernel("gemm", stream, 10, 5, 1);
  s.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", stream, 20,
           5, 2);
  s.kernel("ncclDevKernel_SendRecv", stream, 30, 5, 3);
  s.trace.range.push({.start_ns = 18, .duration_ns = 9, .name = s.text("nccl:all_reduce")});
  s.trace.range.push(
      {.start_ns = 18, .kind = RangeKind::kInstant, .name = s.text("nccl:all_reduce")});
  EXPECT_EQ(
      askView(s.trace, "SELECT kind, row_number, operation, start_ns, stream_id FROM collective"),
      "kernel | 1 | all_reduce | 20 | 1\nkernel | 2 | send_recv | 30 | 1\n"
      "range | 0 | all_reduce | 18 | NULL\n");
  // Collectives are still kernels.
  EXPECT_EQ(askView(s.trace, "SELECT count(*) FROM kernel"), "3\n");
  EXPECT_EQ(askView(s.trace, "SELECT operation, count(*) FROM collective GROUP BY operation"),
            "all_reduce | 2\nsend_recv | 1\n");
}

}  // namespace
}  // namespace tracesmith
