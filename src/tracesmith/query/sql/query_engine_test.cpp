// SPDX-License-Identifier: Apache-2.0
// Tests of queries: SQL and the expected result.
#include "tracesmith/query/sql/query_engine.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>

#include "tracesmith/query/catalog/catalog.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

std::string cellText(const QueryResult::Cell& cell) {
  return cell.isNull() ? "NULL" : toText({cell.type, cell.integer, cell.real, cell.text});
}

/// The result as lines of cells separated by " | ", or "error: ...".
std::string ask(QueryEngine& engine, std::string_view sql) {
  auto result = engine.run(sql);
  if (!result) return "error: " + result.error().toString() + "\n";
  std::string out;
  for (const auto& row : result->rows) {
    for (size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : " | ") + cellText(row[i]);
    out += "\n";
  }
  return out;
}

std::string ask(const Trace& trace, std::string_view sql) {
  auto engine = QueryEngine::open(trace);
  return engine ? ask(*engine, sql) : "cannot open: " + engine.error().toString();
}

struct Case {
  const char* name;
  const char* sql;
  const char* answer;
};

void expectAnswers(const Trace& trace, std::initializer_list<Case> cases) {
  for (const Case& c : cases) EXPECT_EQ(ask(trace, c.sql), c.answer) << c.name << ": " << c.sql;
}

TEST(QueryEngine, AnswersQuestionsAboutASmallProgram) {
  expectAnswers(
      test::sampleProgram().trace,
      {{"texts and times", "SELECT name, start_ns, duration_ns, end_ns FROM kernel",
        "saxpy | 1200000 | 500000 | 1700000\nsaxpy | 1800000 | 200000 | 2000000\n"
        "relu | 1500000 | 100000 | 1600000\n"},
       {"places", "SELECT DISTINCT device_id, context_id, stream_id, process_id, pid FROM kernel",
        "1 | 1 | 1 | 1 | 4242\n1 | 2 | 2 | 1 | 4242\n"},
       {"aggregates",
        "SELECT name, count(*), sum(duration_ns) FROM kernel GROUP BY name ORDER BY 3",
        "relu | 1 | 100000\nsaxpy | 2 | 700000\n"},
       {"enum as text", "SELECT kind, bytes FROM copy ORDER BY start_ns",
        "host_to_device | 4000\ndevice_to_host | 4000\n"},
       {"join by correlation",
        "SELECT k.name, h.name, h.tid FROM kernel k JOIN host_call h USING (correlation_id) "
        "WHERE k.first_launch",
        "relu | clEnqueueNDRangeKernel | 4243\n"},
       {"join by id",
        "SELECT k.name, d.name FROM kernel k JOIN device d ON d.id = k.device_id LIMIT 1",
        "saxpy | Test GPU 3000\n"},
       {"join by hidden alias",
        "SELECT k.name, s.name FROM kernel k JOIN stream s USING (stream_id) WHERE k.name = 'relu'",
        "relu | copies\n"},
       {"shape", "SELECT grid_x, grid_y, block_x, global_x FROM kernel WHERE start_ns = 1200000",
        "16 | 1 | 64 | 1000\n"},
       {"the driver chose the group size",
        "SELECT grid_x, block_x, global_x FROM kernel WHERE name = 'relu'", "NULL | 0 | 512\n"},
       {"failed calls", "SELECT name, result FROM host_call WHERE result <> 0", "clFinish | -5\n"},
       {"range on time", "SELECT name FROM kernel WHERE start_ns >= 1500000 AND start_ns < 1800000",
        "relu\n"},
       {"time against a real",
        "SELECT name FROM kernel WHERE start_ns > 1499999.5 AND start_ns < 1.6e6", "relu\n"},
       {"time against a text", "SELECT count(*) FROM kernel WHERE start_ns = '1500000'", "1\n"},
       {"time against NULL", "SELECT count(*) FROM kernel WHERE start_ns > NULL", "0\n"},
       {"order", "SELECT start_ns FROM kernel ORDER BY start_ns DESC",
        "1800000\n1500000\n1200000\n"},
       {"row number", "SELECT rowid FROM kernel WHERE name = 'relu'", "2\n"},
       {"percentiles are nearest ranks",
        "SELECT median(duration_ns), percentile(duration_ns, 99), percentile(duration_ns, 0) FROM "
        "kernel",
        "200000 | 500000 | 100000\n"},
       {"percentile of nothing", "SELECT percentile(bytes, 50) FROM fill", "NULL\n"},
       {"window functions",
        "SELECT name, start_ns - lag(end_ns) OVER (PARTITION BY stream_id ORDER BY start_ns) AS "
        "gap "
        "FROM kernel WHERE stream_id = 1",
        "saxpy | NULL\nsaxpy | 100000\n"},
       {"comments and a semicolon", "SELECT 1; -- that is all", "1\n"}});
}

TEST(QueryEngine, ShowsWhatIsNotThereAsNull) {
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("d"));
  s.kernel("k", StreamId::kNone, 10, 5);
  s.kernel("", stream, 20, 0, 7, ShapeId::kNone, op_flags::kNoDeviceTime);
  s.kernel("q", stream, 30, 5, 8, ShapeId::kNone, op_flags::kQueueTimes);
  s.trace.kernel.queued_before_ns[2] = 12;
  s.trace.kernel.submitted_before_ns[2] = 3;
  s.kernel("strange", static_cast<StreamId>(99), 40, 5, 0, static_cast<ShapeId>(77));
  s.trace.kernel.name[3] = static_cast<StringId>(12345);
  s.process(7, "runs");
  s.process(8, "ended");
  s.trace.process.end_ns[1] = 99;
  s.trace.process.exit_code[1] = 3;
  expectAnswers(
      s.trace,
      {{"no stream",
        "SELECT stream_id, device_id, context_id, pid, call_path_id, correlation_id, grid_x "
        "FROM kernel WHERE name = 'k'",
        "NULL | NULL | NULL | NULL | NULL | NULL | NULL\n"},
       {"no device time",
        "SELECT name, start_ns, duration_ns, end_ns FROM kernel WHERE correlation_id = 7",
        "NULL | 20 | NULL | NULL\n"},
       {"queue times",
        "SELECT queued_ns, submitted_ns, queued_before_ns FROM kernel ORDER BY start_ns",
        "NULL | NULL | NULL\nNULL | NULL | NULL\n18 | 27 | 12\nNULL | NULL | NULL\n"},
       {"ids that lead nowhere",
        "SELECT name, stream_id, device_id, block_x FROM kernel WHERE start_ns = 40",
        "NULL | 99 | NULL | NULL\n"},
       {"a process that has not ended", "SELECT pid, exit_code, end_ns FROM process",
        "7 | NULL | NULL\n8 | 3 | 99\n"},
       {"a property that the driver did not tell", "SELECT memory_bytes, ordinal FROM device",
        "NULL | 0\n"}});
}

TEST(QueryEngine, HowManyEventsThereWereIsNullWhereNobodyKnows) {
  Trace trace;
  trace.loss.push({.id = LossId{1}, .emitted = 5, .written = 3, .dropped = 2});
  trace.loss.push({.id = LossId{2}, .emitted = 0, .written = 3, .dropped = 1});
  trace.loss.push({.id = LossId{3}});
  EXPECT_EQ(ask(trace, "SELECT emitted, written, dropped FROM loss"),
            "5 | 3 | 2\nNULL | 3 | 1\n0 | 0 | 0\n");
}

TEST(QueryEngine, KeepsNumbersBeyondSignedIntegersExact) {
  test::SampleTrace s;
  s.kernel("a", StreamId::kNone, 1, 1, 18446744073709551615ull);
  s.kernel("b", StreamId::kNone, 2, 1, 5);
  for (int i = 0; i < 200; ++i) s.kernel("c", StreamId::kNone, 3 + i, 1, 1000 + i);
  expectAnswers(
      s.trace,
      {{"digits", "SELECT correlation_id FROM kernel WHERE name = 'a'", "18446744073709551615\n"},
       {"found as a text", "SELECT name FROM kernel WHERE correlation_id = '18446744073709551615'",
        "a\n"},
       {"greater than any", "SELECT name FROM kernel WHERE correlation_id > 2000", "a\n"},
       {"sorted last", "SELECT name FROM kernel ORDER BY correlation_id DESC LIMIT 1", "a\n"},
       {"not in a bounded range",
        "SELECT count(*) FROM kernel WHERE correlation_id BETWEEN 0 AND 9", "1\n"}});
}

TEST(QueryEngine, EveryColumnOfEveryTableCanBeAskedForByItsPlainName) {
  const Trace trace = test::sampleProgram().trace;
  auto engine = QueryEngine::open(trace);
  ASSERT_TRUE(engine);
  size_t columns = 0;
  for (const auto& table : engine->catalog().tables()) {
    EXPECT_FALSE(table->meaning().empty()) << table->name();
    for (const auto& column : table->columns()) {
      const std::string sql = "SELECT " + column->name() + " FROM " + table->name() + " WHERE " +
                              table->name() + "." + column->name() + " IS NOT NULL ORDER BY " +
                              column->name();
      auto result = engine->run(sql);
      EXPECT_TRUE(result) << sql << ": " << result.error().toString();
      EXPECT_FALSE(column->meaning().empty()) << sql;
      ++columns;
    }
  }
  EXPECT_GT(columns, 200u);
  for (const char* name :
       {"kernel",    "copy",         "fill",         "sync",           "host_call", "memory_event",
        "flow",      "device",       "context",      "stream",         "process",   "thread",
        "call_path", "frame",        "loss",         "program_build",  "counter",   "counter_track",
        "range",     "launch_shape", "clock_domain", "clock_snapshot", "metadata",  "attribute",
        "object",    "symbol",       "schema"}) {
    EXPECT_NE(engine->catalog().find(name), nullptr) << name;
  }
}

TEST(QueryEngine, FramesHaveTheNameThatTheirLastSymbolsGive) {
  Trace trace;
  const auto text = [&](const char* t) { return trace.strings.intern(t); };
  trace.frame.push({.address = 9, .function = text("python")});
  trace.frame.push({.address = 8, .module = text("/lib/x.so"), .module_offset = 16});
  trace.frame.push({.address = 7, .module = text("/lib/x.so"), .module_offset = 32, .flags = 1});
  trace.symbol.push({FrameId{3}, 0, text("poor"), {}, 0});
  trace.symbol.push({FrameId{3}, 0, text("inner"), text("a.c"), 3});
  trace.symbol.push({FrameId{3}, 1, text("outer"), text("a.c"), 9});
  expectAnswers(trace, {{"names", "SELECT id, name, module_offset, exact FROM frame ORDER BY id",
                         "1 | python | NULL | 0\n2 | x.so+0x10 | 16 | 0\n3 | inner | 32 | 1\n"},
                        {"functions",
                         "SELECT f.id, s.function, s.line FROM frame f JOIN symbol s ON s.frame = "
                         "f.id WHERE s.current ORDER BY inline_level",
                         "3 | inner | 3\n3 | outer | 9\n"}});
}

TEST(QueryEngine, FramesHaveThePlaceOfTheirInnermostFunction) {
  Trace trace;
  const auto text = [&](const char* t) { return trace.strings.intern(t); };
  trace.frame.push({.function = text("train"), .file = text("model.py"), .line = 15});
  trace.frame.push({.address = 8, .function = text("old"), .file = text("old.c"), .line = 1});
  trace.frame.push({.address = 7, .module = text("/lib/x.so"), .module_offset = 32});
  trace.frame.push({.address = 6});
  trace.symbol.push({FrameId{3}, 0, text("poor"), {}, 0});
  trace.symbol.push({FrameId{2}, 0, text("new"), {}, 0});
  trace.symbol.push({FrameId{3}, 0, text("inner"), text("a.h"), 3});
  trace.symbol.push({FrameId{3}, 1, text("outer"), text("a.c"), 9});
  expectAnswers(
      trace, {{"places", "SELECT id, name, function, file, line FROM frame ORDER BY id",
               "1 | train | train | model.py | 15\n2 | new | new | NULL | NULL\n"
               "3 | inner | inner | a.h | 3\n4 | 0x6 | NULL | NULL | NULL\n"},
              {"by function", "SELECT id FROM frame WHERE function = 'inner'", "3\n"},
              {"what no longer counts", "SELECT count(*) FROM frame WHERE file = 'old.c'", "0\n"},
              {"by file", "SELECT file, count(*) FROM frame GROUP BY file ORDER BY file",
               "NULL | 2\na.h | 1\nmodel.py | 1\n"},
              {"by line", "SELECT id FROM frame WHERE line > 2 ORDER BY line", "3\n1\n"}});
}

TEST(QueryEngine, APercentileIsTheRankOfItsDefinition) {
  const Trace trace;
  auto engine = QueryEngine::open(trace);
  ASSERT_TRUE(engine);
  const auto percentileOfFirst = [&](int64_t n, const std::string& percent) {
    return ask(*engine,
               fmt::format("WITH RECURSIVE v(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM v "
                           "WHERE x < {}) SELECT percentile(x, {}) FROM v",
                           n, percent));
  };
  for (int64_t p = 1; p <= 100; ++p) {
    for (const int64_t n : {1, 7, 100, 300}) {
      // The smallest rank r with 100 r >= p n, in whole numbers.
      const std::string rank = std::to_string((p * n + 99) / 100) + "\n";
      EXPECT_EQ(percentileOfFirst(n, std::to_string(p)), rank) << p << " % of " << n;
    }
  }
  EXPECT_EQ(percentileOfFirst(1000, "99.9"), "999\n");
  EXPECT_EQ(percentileOfFirst(1000, "99.91"), "1000\n");
  EXPECT_EQ(percentileOfFirst(10000, "0.01"), "1\n");
  EXPECT_EQ(percentileOfFirst(10000, "0.07"), "7\n");
}

TEST(QueryEngine, RefusesEverythingButReading) {
  const Trace trace = test::sampleProgram().trace;
  for (const char* sql : {"ATTACH DATABASE '/tmp/x.db' AS x",
                          "PRAGMA writable_schema = ON",
                          "PRAGMA table_list",
                          "SELECT * FROM pragma_table_info('kernel')",
                          "INSERT INTO kernel(name) VALUES ('x')",
                          "DELETE FROM kernel",
                          "UPDATE kernel SET name = 'x'",
                          "CREATE TABLE t(a)",
                          "CREATE TEMP TABLE t(a)",
                          "CREATE VIEW v AS SELECT 1",
                          "CREATE VIRTUAL TABLE v USING kernel",
                          "DROP TABLE kernel",
                          "BEGIN",
                          "VACUUM INTO '/tmp/x'",
                          "SELECT load_extension('/tmp/x.so')",
                          "INSERT INTO sqlite_master VALUES (1,2,3,4,5)",
                          "REINDEX",
                          "ANALYZE",
                          "DETACH DATABASE main",
                          "EXPLAIN SELECT 1",
                          "EXPLAIN QUERY PLAN SELECT * FROM kernel",
                          "SAVEPOINT s"}) {
    const std::string answer = ask(trace, sql);
    EXPECT_EQ(answer.substr(0, 7), "error: ") << sql << " gave " << answer;
  }
  EXPECT_NE(ask(trace, "ATTACH DATABASE '/tmp/x.db' AS x").find("can only read"),
            std::string::npos);
}

TEST(QueryEngine, SaysWhatIsWrongAndWhatWasMeant) {
  expectAnswers(
      test::sampleProgram().trace,
      {{"table", "SELECT * FROM kernels", "error: no such table: kernels; did you mean kernel?\n"},
       {"column", "SELECT duratoin_ns FROM kernel",
        "error: no such column: duratoin_ns, at column 8; did you mean duration_ns?\n"},
       {"column without its unit", "SELECT duration FROM kernel",
        "error: no such column: duration, at column 8; did you mean duration_ns?\n"},
       {"column of an alias", "SELECT k.strat_ns FROM kernel k",
        "error: no such column: k.strat_ns, at column 8; did you mean start_ns?\n"},
       {"text in double quotes", "SELECT * FROM kernel WHERE name = \"saxpy\"",
        "error: no such column: saxpy, at column 35; put text in single quotes\n"},
       {"function", "SELECT percentil(duration_ns, 9) FROM kernel",
        "error: no such function: percentil, at column 8; did you mean percentile()?\n"},
       {"syntax", "SELECT * FORM kernel", "error: near \"FORM\": syntax error, at column 10\n"},
       {"second line", "SELECT *\nFROM kernel\nWHER 1",
        "error: near \"1\": syntax error, at line 3, column 6\n"},
       {"two statements", "SELECT 1; SELECT 2",
        "error: one statement at a time; a second one starts at column 10\n"},
       {"percentile out of range", "SELECT percentile(duration_ns, 101) FROM kernel",
        "error: percentile(): the second argument must be 0 to 100\n"},
       {"nothing", " ; -- nothing", "error: the query is empty; try \"SELECT * FROM schema\"\n"}});
}

TEST(QueryEngine, HugeTextsAreRefusedInsteadOfFillingTheMemory) {
  const Trace trace;
  for (const char* sql :
       {"SELECT length(zeroblob(2000000000))", "SELECT length(randomblob(999999999))",
        "SELECT replace(hex(zeroblob(9000000)), '0', 'twelve bytes')"}) {
    EXPECT_NE(ask(trace, sql).find("larger than 64 MiB"), std::string::npos) << sql;
  }
}

TEST(QueryEngine, AnEndlessQueryEndsWhenItIsCancelled) {
  const Trace trace;
  auto engine = QueryEngine::open(trace);
  ASSERT_TRUE(engine);
  const auto began = std::chrono::steady_clock::now();
  QueryOptions options;
  options.cancelled = [&] {
    return std::chrono::steady_clock::now() - began > std::chrono::milliseconds(50);
  };
  auto result = engine->run(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
      options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "interrupted");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  EXPECT_TRUE(engine->run("SELECT 1"));  // the engine is still usable
}

TEST(QueryEngine, TheSinkCanStopAndSeesTheColumnsOfAnEmptyAnswer) {
  const Trace trace = test::sampleProgram().trace;
  auto engine = QueryEngine::open(trace);
  ASSERT_TRUE(engine);
  int rows = 0;
  QuerySink sink;
  sink.row = [&](std::span<const Value>) { return ++rows < 2; };
  auto given = engine->run("SELECT * FROM host_call", sink);
  ASSERT_TRUE(given);
  EXPECT_EQ(*given, 2u);
  auto empty = engine->run("SELECT name, duration_ns AS length, bytes * 2 FROM copy WHERE 0");
  ASSERT_TRUE(empty);
  ASSERT_EQ(empty->columns.size(), 3u);
  EXPECT_EQ(empty->columns[1].name, "length");
  EXPECT_EQ(empty->columns[1].type, "INTEGER");
  EXPECT_EQ(empty->columns[2].type, "");
}

TEST(QueryEngine, EqualNamesGroupTogetherEvenWhenTheFileHoldsThemTwice) {
  Trace trace;
  const StringId first = trace.strings.append("twice");
  const StringId other = trace.strings.append("other");
  const StringId second = trace.strings.append("twice");
  for (StringId name : {first, other, second, StringId::kNone, first, static_cast<StringId>(99)}) {
    trace.kernel.push({.duration_ns = 1, .name = name});
  }
  expectAnswers(trace, {{"group", "SELECT name, count(*) FROM kernel GROUP BY name ORDER BY 1",
                         "NULL | 2\nother | 1\ntwice | 3\n"},
                        {"distinct", "SELECT count(DISTINCT name) FROM kernel", "2\n"}});
  auto engine = QueryEngine::open(trace);
  auto groups = engine->run("SELECT name, count(*) FROM kernel GROUP BY name");
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->rows.size(), 3u);
}

TEST(QueryEngine, RowsThatWereLostFromAKeyedTableAreNoRows) {
  test::SampleTrace s;
  s.process(1, "first");
  s.trace.process.push({});  // the position of an id whose row was lost
  s.process(3, "third");
  expectAnswers(s.trace, {{"scan", "SELECT id, pid FROM process", "1 | 1\n3 | 3\n"},
                          {"count", "SELECT count(*) FROM process", "2\n"},
                          {"by id", "SELECT pid FROM process WHERE id = 3", "3\n"},
                          {"lost id", "SELECT pid FROM process WHERE id = 2", ""},
                          {"id of no row", "SELECT pid FROM process WHERE id = 4000000000", ""},
                          {"order", "SELECT id FROM process ORDER BY id DESC", "3\n1\n"}});
}

}  // namespace
}  // namespace tracesmith
