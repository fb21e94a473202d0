// SPDX-License-Identifier: Apache-2.0
// Compares the virtual tables with an ordinary SQLite table with the same rows: conditions and
// orders handled by the virtual table must not change a result.
#include "tracesmith/query/sql/virtual_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "tracesmith/query/catalog/catalog.hpp"
#include "tracesmith/query/sql/query_engine.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using Lines = std::vector<std::string>;

Lines linesOf(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  Lines lines;
  EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
      << sql << ": " << sqlite3_errmsg(db);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    std::string line;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      line += text == nullptr ? "NULL|" : std::string(text) + "|";
    }
    lines.push_back(line);
  }
  sqlite3_finalize(statement);
  return lines;
}

Lines linesOf(QueryEngine& engine, const std::string& sql) {
  auto result = engine.run(sql);
  EXPECT_TRUE(result) << sql << ": " << result.error().toString();
  Lines lines;
  if (!result) return lines;
  for (const auto& row : result->rows) {
    std::string line;
    for (const auto& c : row) {
      line += c.isNull() ? "NULL|" : toText({c.type, c.integer, c.real, c.text}) + "|";
    }
    lines.push_back(line);
  }
  return lines;
}

/// Kernels with few distinct values, so that ties, NULLs and empty results all occur.
Trace randomKernels(std::mt19937_64& random, size_t rows, bool sorted) {
  test::SampleTrace s;
  const DeviceId device = s.device("d");
  for (int i = 0; i < 3; ++i) s.stream(device);
  for (const char* name : {"b", "a", "c", "a"}) s.trace.strings.append(name);
  int64_t time = -20;
  for (size_t i = 0; i < rows; ++i) {
    time = sorted ? time + static_cast<int64_t>(random() % 3) : static_cast<int64_t>(random() % 90);
    s.trace.kernel.push({.start_ns = time,
                         .duration_ns = static_cast<int64_t>(random() % 7),
                         .name = static_cast<StringId>(random() % 6),
                         .stream_id = static_cast<StreamId>(random() % 5),
                         .correlation_id = random() % 40,
                         .flags = random() % 5 == 0 ? op_flags::kNoDeviceTime : 0});
  }
  return s.trace;
}

/// An ordinary table `kernel` with the engine's view of it, with rows in the same order.
sqlite3* plainCopy(QueryEngine& engine) {
  sqlite3* db = nullptr;
  sqlite3_open(":memory:", &db);
  sqlite3_exec(db,
               "CREATE TABLE kernel(name TEXT, start_ns INTEGER, duration_ns INTEGER, "
               "stream_id INTEGER, correlation_id INTEGER)",
               nullptr, nullptr, nullptr);
  auto rows =
      engine.run("SELECT name, start_ns, duration_ns, stream_id, correlation_id FROM kernel");
  EXPECT_TRUE(rows);
  for (size_t i = 0; i < rows->rows.size(); ++i) {
    std::string sql =
        "INSERT INTO kernel(rowid, name, start_ns, duration_ns, stream_id, correlation_id) "
        "VALUES (" +
        std::to_string(i);
    for (const auto& c : rows->rows[i]) {
      sql += ", ";
      sql += c.type == ValueType::kNull      ? "NULL"
             : c.type == ValueType::kInteger ? std::to_string(c.integer)
                                             : "'" + c.text + "'";
    }
    EXPECT_EQ(sqlite3_exec(db, (sql + ")").c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  }
  return db;
}

std::string randomCondition(std::mt19937_64& random) {
  const char* columns[] = {"start_ns",       "duration_ns", "stream_id",
                           "correlation_id", "name",        "rowid"};
  const char* operators[] = {"=", "<", "<=", ">", ">=", "IS", "<>"};
  const std::string column = columns[random() % 6];
  const int64_t v = static_cast<int64_t>(random() % 60) - 10;
  switch (random() % 10) {
    case 9: {
      const char* texts[] = {"a", "b", "c", "zz", ""};
      return fmt::format("name {} '{}'{}", operators[random() % 7], texts[random() % 5],
                         random() % 3 == 0 ? " COLLATE NOCASE" : "");
    }
    case 0:
      return fmt::format("{} BETWEEN {} AND {}", column, v,
                         v + static_cast<int64_t>(random() % 20));
    case 1:
      return fmt::format("{} IN ({}, {}, NULL, 'a')", column, v, v + 3);
    case 2:
      return fmt::format("{} {} {}.5", column, operators[random() % 7], v);
    case 3:
      return fmt::format("{} {} '{}'", column, operators[random() % 7], v);
    case 4:
      return fmt::format("{} {} NULL", column, operators[random() % 7]);
    case 5:
      return fmt::format("{} {} {}", column, operators[random() % 7],
                         random() % 2 == 0 ? "9223372036854775807" : "-9223372036854775808");
    case 6:
      return fmt::format("{} {} {}", column, operators[random() % 7],
                         random() % 2 == 0 ? "1e30" : "-1e30");
    default:
      return fmt::format("{} {} {}", column, operators[random() % 7], v);
  }
}

/// "name DESC, start_ns DESC" without the DESC.
std::string columnsOf(std::string order) {
  for (size_t at = 0; (at = order.find(" DESC")) != std::string::npos;) order.erase(at, 5);
  return order;
}

TEST(VirtualTable, RandomQueriesAnswerLikeAnOrdinaryTable) {
  std::mt19937_64 random(11);
  for (const bool sorted : {false, true}) {
    const Trace trace = randomKernels(random, 300, sorted);
    auto engine = QueryEngine::open(trace);
    ASSERT_TRUE(engine);
    sqlite3* plain = plainCopy(*engine);
    const char* orders[] = {
        "start_ns",        "start_ns DESC",           "duration_ns", "name",
        "name DESC",       "correlation_id DESC",     "stream_id",   "correlation_id",
        "stream_id, name", "name DESC, start_ns DESC"};
    size_t rows_seen = 0;
    for (int i = 0; i < 1500; ++i) {
      std::string where = randomCondition(random);
      while (random() % 2 == 0) {
        where += (random() % 4 == 0 ? " OR " : " AND ") + randomCondition(random);
      }
      const std::string order = orders[random() % 10];
      // If the result must match line by line, the whole row takes part in the order.
      const std::string rest = ", name, start_ns, duration_ns, stream_id, correlation_id";
      std::string sql;
      switch (random() % 4) {
        case 0:
          sql = fmt::format(
              "SELECT * FROM (SELECT name, start_ns, duration_ns, stream_id, "
              "correlation_id FROM kernel WHERE {}) ORDER BY {}{}",
              where, order, rest);
          break;
        case 1: {
          const std::string key = columnsOf(order);
          sql = fmt::format(
              "SELECT {}, count(*), sum(start_ns) FROM kernel WHERE {} GROUP BY {} "
              "ORDER BY {}",
              key, where, key, order);
          break;
        }
        case 2: {
          const std::string key = columnsOf(order);
          sql = fmt::format("SELECT {} FROM kernel WHERE {} ORDER BY {}", key, where, order);
          break;
        }
        default:
          sql = fmt::format(
              "SELECT count(*), sum(a.start_ns), sum(b.start_ns) FROM kernel a JOIN kernel b ON "
              "a.correlation_id = b.correlation_id AND a.stream_id = b.stream_id AND "
              "b.start_ns >= a.start_ns WHERE a.{}",
              randomCondition(random));
          if (random() % 2 == 0) sql += " AND b.rowid < a.rowid";
      }
      const Lines expected = linesOf(plain, sql);
      ASSERT_EQ(linesOf(*engine, sql), expected) << sql;
      rows_seen += expected.size();
    }
    EXPECT_GT(rows_seen, 10000u);  // not all conditions give empty results
    sqlite3_close(plain);
  }
}

TEST(VirtualTable, AMillionRowsScanGroupAndJoin) {
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("d"));
  const StringId names[] = {s.text("gemm"), s.text("relu"), s.text("softmax")};
  const StringId launch = s.text("launch");
  constexpr int64_t kRows = 1'000'000;
  int64_t sum = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    // Kernels complete in another order than they were launched.
    const int64_t at = i ^ 3;
    s.trace.kernel.push({.start_ns = at * 10,
                         .duration_ns = i % 97,
                         .name = names[i % 3],
                         .stream_id = stream,
                         .correlation_id = static_cast<uint64_t>(at) + 1});
    s.trace.host_call.push(
        {.start_ns = i * 10 - 5, .name = launch, .correlation_id = static_cast<uint64_t>(i) + 1});
    sum += i % 97;
  }
  auto engine = QueryEngine::open(s.trace);
  ASSERT_TRUE(engine);
  EXPECT_EQ(linesOf(*engine, "SELECT count(*), sum(duration_ns) FROM kernel"),
            Lines{fmt::format("1000000|{}|", sum)});
  EXPECT_EQ(linesOf(*engine, "SELECT name, count(*) FROM kernel GROUP BY name"),
            (Lines{"gemm|333334|", "relu|333333|", "softmax|333333|"}));
  // Comparing all pairs of rows would take 10^12 steps; this must find the partners directly.
  EXPECT_EQ(linesOf(*engine,
                    "SELECT count(*), min(k.start_ns - h.start_ns), max(k.start_ns - h.start_ns) "
                    "FROM kernel k JOIN host_call h USING (correlation_id)"),
            Lines{"1000000|5|5|"});
  EXPECT_EQ(linesOf(*engine, "SELECT start_ns FROM kernel ORDER BY start_ns LIMIT 2"),
            (Lines{"0|", "10|"}));
  for (const char* name : {"kernel", "host_call"}) {
    EXPECT_LT(engine->catalog().find(name)->rowsVisited(), 10u * kRows) << name;
  }
}

/// The rows of `table` that a query visits, in addition to those visited to compute an order.
uint64_t visits(QueryEngine& engine, const char* table, const std::string& sql) {
  const SqlTable& t = *engine.catalog().find(table);
  const uint64_t before = t.rowsVisited();
  EXPECT_TRUE(engine.run(sql)) << sql;
  return t.rowsVisited() - before;
}

TEST(VirtualTable, LooksAtNoMoreRowsThanAConditionLeaves) {
  test::SampleTrace s;
  const ProcessId processes[] = {s.process(1, "a"), s.process(2, "b")};
  const StreamId streams[] = {s.stream(s.device("d")), s.stream(s.device("e"))};
  constexpr uint64_t kRows = 10'000;
  for (uint64_t i = 0; i < kRows; ++i) {
    s.trace.kernel.push({.start_ns = static_cast<int64_t>(i) * 10,
                         .duration_ns = 5,
                         .name = s.text("k" + std::to_string(i % 100)),
                         .process_id = processes[i % 2],
                         .stream_id = streams[i % 2],
                         .correlation_id = (i ^ 2) / 2 + 1});
    s.trace.host_call.push({.start_ns = static_cast<int64_t>(i) * 10 - 3,
                            .name = s.text("launch"),
                            .process_id = processes[i % 2],
                            .correlation_id = i / 2 + 1});
  }
  auto engine = QueryEngine::open(s.trace);
  ASSERT_TRUE(engine);
  // The correlation id must lead, whichever is named first: a process has half of all rows.
  for (const char* on : {"h.process_id = k.process_id AND h.correlation_id = k.correlation_id",
                         "h.correlation_id = k.correlation_id AND h.process_id = k.process_id"}) {
    const std::string join =
        std::string("SELECT count(*) FROM kernel k CROSS JOIN host_call h ON ") + on;
    EXPECT_LE(visits(*engine, "host_call", join), 4 * kRows) << on;
  }
  EXPECT_LE(visits(*engine, "kernel", "SELECT * FROM kernel WHERE start_ns BETWEEN 500 AND 590"),
            10u);
  const std::string by_name = "SELECT count(*) FROM kernel WHERE name = 'k7'";
  (void)engine->run(by_name);  // from the second search on there is an order
  EXPECT_EQ(visits(*engine, "kernel", by_name), kRows / 100);
  EXPECT_EQ(visits(*engine, "kernel", "SELECT count(*) FROM kernel WHERE name = 'nobody'"), 0u);
  const size_t orders = engine->catalog().find("kernel")->orderCount();
  (void)engine->run(by_name);
  EXPECT_EQ(engine->catalog().find("kernel")->orderCount(), orders);  // reused, not computed again
}

TEST(VirtualTable, ARowIsFoundByItsRowidFromBothSides) {
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("d"));
  constexpr uint64_t kRows = 5'000;
  for (uint64_t i = 0; i < kRows; ++i) {
    s.kernel("k", stream, static_cast<int64_t>(i), 1);
    s.copy(CopyKind::kHostToDevice, stream, static_cast<int64_t>(i), 1, 4);
  }
  auto engine = QueryEngine::open(s.trace);
  ASSERT_TRUE(engine);
  EXPECT_EQ(linesOf(*engine,
                    "SELECT start_ns FROM kernel WHERE rowid BETWEEN 7 AND 8.5 OR "
                    "rowid = '9' OR rowid < 1 OR rowid = 5000"),
            (Lines{"0|", "7|", "8|", "9|"}));
  EXPECT_EQ(visits(*engine, "kernel", "SELECT * FROM kernel WHERE rowid >= 4990"), 10u);
  for (const char* from : {"span s CROSS JOIN kernel k", "kernel k CROSS JOIN span s"}) {
    const std::string join = fmt::format(
        "SELECT count(*), sum(s.start_ns = k.start_ns) FROM {} "
        "ON s.row_number = k.rowid AND s.kind = 'kernel'",
        from);
    EXPECT_LE(visits(*engine, "span", join), 5 * kRows) << from;
    EXPECT_LE(visits(*engine, "kernel", join), 2 * kRows) << from;
    EXPECT_EQ(linesOf(*engine, join), Lines{"5000|5000|"}) << from;
  }
}

TEST(VirtualTable, TheNextRowInTimeIsFoundWithoutLookingAtThoseAfterIt) {
  test::SampleTrace s;
  const StreamId stream = s.stream(s.device("d"));
  constexpr uint64_t kRows = 2'000;
  for (uint64_t i = 0; i < kRows; ++i) s.kernel("k", stream, static_cast<int64_t>(i) * 10, 5);
  auto engine = QueryEngine::open(s.trace);
  ASSERT_TRUE(engine);
  for (const char* table : {"kernel", "span"}) {
    for (const char* which : {"min(start_ns) FROM {} x WHERE x.start_ns > k.start_ns",
                              "max(start_ns) FROM {} x WHERE x.start_ns < k.start_ns"}) {
      const std::string sql =
          "SELECT count(*), sum(abs(other - start_ns)) FROM (SELECT start_ns, "
          "(SELECT " +
          fmt::format(fmt::runtime(which), table) + ") AS other FROM kernel k)";
      EXPECT_LE(visits(*engine, table, sql), 20 * kRows) << sql;
      EXPECT_EQ(linesOf(*engine, sql), Lines{"2000|19990|"}) << sql;
    }
  }
}

/// SQLite's plan: the lines of EXPLAIN QUERY PLAN.
std::string planOf(const Trace& trace, const std::string& sql) {
  const Catalog catalog(trace);
  sqlite3* db = nullptr;
  sqlite3_open(":memory:", &db);
  EXPECT_TRUE(registerVirtualTable(db, *catalog.find("kernel")));
  std::string plan;
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(db, ("EXPLAIN QUERY PLAN " + sql).c_str(), -1, &statement, nullptr),
            SQLITE_OK);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    plan += reinterpret_cast<const char*>(sqlite3_column_text(statement, 3));
    plan += "\n";
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return plan;
}

TEST(VirtualTable, GroupsAreGivenInTheirOrderWithoutSorting) {
  std::mt19937_64 random(5);
  const Trace trace = randomKernels(random, 200, true);
  for (const char* keys : {"name", "stream_id", "process_id, stream_id", "device_id", "pid",
                           "name, stream_id, correlation_id"}) {
    const std::string plan =
        planOf(trace, fmt::format("SELECT {0}, sum(duration_ns) FROM kernel GROUP BY {0}", keys));
    EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << keys << ": " << plan;
  }
  EXPECT_NE(planOf(trace, "SELECT count(*) FROM kernel GROUP BY +name").find("TEMP B-TREE"),
            std::string::npos);
}

}  // namespace
}  // namespace tracesmith
