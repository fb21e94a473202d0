// SPDX-License-Identifier: Apache-2.0
// The virtual tables against an ordinary SQLite table with the same rows: whatever is consumed
// natively (ranges, equalities, orders) must not change an answer.
#include "tracesmith/query/virtual_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "tracesmith/query/query_engine.hpp"
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

/// Kernels with few distinct values, so that ties, NULLs and empty answers all occur.
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

/// An ordinary table `kernel` with what the engine shows of it, in the same order of rows.
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
  for (const auto& row : rows->rows) {
    std::string sql = "INSERT INTO kernel VALUES (";
    for (const auto& c : row) {
      if (sql.back() != '(') sql += ", ";
      sql += c.type == ValueType::kNull      ? "NULL"
             : c.type == ValueType::kInteger ? std::to_string(c.integer)
                                             : "'" + c.text + "'";
    }
    EXPECT_EQ(sqlite3_exec(db, (sql + ")").c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  }
  return db;
}

std::string randomCondition(std::mt19937_64& random) {
  const char* columns[] = {"start_ns", "duration_ns", "stream_id", "correlation_id", "name"};
  const char* operators[] = {"=", "<", "<=", ">", ">=", "IS", "<>"};
  const std::string column = columns[random() % 5];
  const int64_t v = static_cast<int64_t>(random() % 60) - 10;
  switch (random() % 9) {
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

TEST(VirtualTable, RandomQueriesAnswerLikeAnOrdinaryTable) {
  std::mt19937_64 random(11);
  for (const bool sorted : {false, true}) {
    const Trace trace = randomKernels(random, 300, sorted);
    auto engine = QueryEngine::open(trace);
    ASSERT_TRUE(engine);
    sqlite3* plain = plainCopy(*engine);
    const char* orders[] = {"start_ns",  "start_ns DESC",       "duration_ns", "name",
                            "name DESC", "correlation_id DESC", "stream_id",   "correlation_id"};
    size_t rows_seen = 0;
    for (int i = 0; i < 1500; ++i) {
      std::string where = randomCondition(random);
      while (random() % 2 == 0) {
        where += (random() % 4 == 0 ? " OR " : " AND ") + randomCondition(random);
      }
      const std::string order = orders[random() % 8];
      // The whole row takes part in the order where the answer must be the same line by line.
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
          const std::string key = order.substr(0, order.find(' '));
          sql = fmt::format(
              "SELECT {}, count(*), sum(start_ns) FROM kernel WHERE {} GROUP BY {} "
              "ORDER BY {}",
              key, where, key, order);
          break;
        }
        case 2: {
          const std::string key = order.substr(0, order.find(' '));
          sql = fmt::format("SELECT {} FROM kernel WHERE {} ORDER BY {}", key, where, order);
          break;
        }
        default:
          sql = fmt::format(
              "SELECT count(*), sum(a.start_ns), sum(b.start_ns) FROM kernel a JOIN kernel b ON "
              "a.correlation_id = b.correlation_id AND a.stream_id = b.stream_id AND "
              "b.start_ns >= a.start_ns WHERE a.{}",
              randomCondition(random));
      }
      const Lines expected = linesOf(plain, sql);
      ASSERT_EQ(linesOf(*engine, sql), expected) << sql;
      rows_seen += expected.size();
    }
    EXPECT_GT(rows_seen, 10000u);  // the conditions are not all empty
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
    // Kernels complete in another order than they were launched in.
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
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(linesOf(*engine, "SELECT count(*), sum(duration_ns) FROM kernel"),
            Lines{fmt::format("1000000|{}|", sum)});
  EXPECT_EQ(linesOf(*engine, "SELECT name, count(*) FROM kernel GROUP BY name"),
            (Lines{"gemm|333334|", "relu|333333|", "softmax|333333|"}));
  // Row by row against every row would be 10^12 steps; this must find its partners.
  EXPECT_EQ(linesOf(*engine,
                    "SELECT count(*), min(k.start_ns - h.start_ns), max(k.start_ns - h.start_ns) "
                    "FROM kernel k JOIN host_call h USING (correlation_id)"),
            Lines{"1000000|5|5|"});
  EXPECT_EQ(linesOf(*engine, "SELECT start_ns FROM kernel ORDER BY start_ns LIMIT 2"),
            (Lines{"0|", "10|"}));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(120));
}

}  // namespace
}  // namespace tracesmith
