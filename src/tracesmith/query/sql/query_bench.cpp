// SPDX-License-Identifier: Apache-2.0
// Speed of SQL over columns. Each query is compared, in the same run, with the same table read
// naively (a plus sign before a column keeps SQLite from passing the condition or the order to the
// table), and with an ordinary SQLite table with the same rows.
//   query_bench [KERNELS] [JOINED]     (default 10000000 10000)
// Wall time; "first" is a new engine, including every row order that it has to compute.
#include <fmt/format.h>
#include <sqlite3.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/query/sql/query_engine.hpp"

namespace {

using tracesmith::idAt;
using tracesmith::ProcessId;
using tracesmith::QueryEngine;
using tracesmith::StreamId;
using tracesmith::StringId;
using tracesmith::Trace;

/// Launches and kernels with 200 names, a few of them frequent, on 8 streams of 4 processes.
/// Kernels end in almost the order of their launches.
Trace makeTrace(size_t kernels, uint64_t seed) {
  Trace t;
  std::mt19937_64 random(seed);
  std::vector<StringId> names;
  for (int i = 0; i < 200; ++i) {
    names.push_back(t.strings.intern(fmt::format(
        "void at::native::vectorized_elementwise_kernel<{}, float, std::array<char*, 3ul>>", i)));
  }
  const StringId launch = t.strings.intern("cudaLaunchKernel");
  for (uint32_t p = 0; p < 4; ++p) t.process.push({.id = idAt<ProcessId>(p), .pid = 100 + p});
  for (uint32_t s = 0; s < 8; ++s) {
    t.stream.push({.id = idAt<StreamId>(s), .process_id = idAt<ProcessId>(s % 4)});
  }
  int64_t now = 0;
  for (size_t i = 0; i < kernels; ++i) {
    const double u = static_cast<double>(random() & 0xffffff) / 16777216.0;
    const auto stream = static_cast<uint32_t>(random() % 8);
    now += static_cast<int64_t>(random() % 3000);
    const size_t launched = (i ^ 3) < kernels ? i ^ 3 : i;
    t.kernel.push({.start_ns = now + 5000,
                   .duration_ns = static_cast<int64_t>(random() % 20000),
                   .name = names[static_cast<size_t>(200 * u * u * u)],
                   .process_id = idAt<ProcessId>(launched % 4),
                   .stream_id = idAt<StreamId>(stream),
                   .correlation_id = launched / 4 + 1});
    t.host_call.push({.start_ns = now,
                      .duration_ns = 2000,
                      .name = launch,
                      .process_id = idAt<ProcessId>(i % 4),
                      .correlation_id = i / 4 + 1,
                      .kind = tracesmith::CallKind::kLaunch});
  }
  return t;
}

/// Seconds, and the sum of the numbers in the result, which must be equal for all competitors.
struct Run {
  double seconds = 0;
  double sum = 0;
};

Run timed(const std::function<double()>& ask) {
  const int64_t begin = tracesmith::monotonicNs();
  const double sum = ask();
  const int64_t end = tracesmith::monotonicNs();
  return {static_cast<double>(end - begin) * 1e-9, sum};
}

double ask(QueryEngine& engine, const std::string& sql) {
  double sum = 0;
  tracesmith::QuerySink sink;
  sink.row = [&](std::span<const tracesmith::Value> values) {
    for (const auto& v : values) sum += static_cast<double>(v.integer) + v.real;
    return true;
  };
  if (auto rows = engine.run(sql, sink); !rows) {
    std::fprintf(stderr, "%s: %s\n", sql.c_str(), rows.error().toString().c_str());
    std::exit(1);
  }
  return sum;
}

double ask(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    std::fprintf(stderr, "%s: %s\n", sql.c_str(), sqlite3_errmsg(db));
    std::exit(1);
  }
  double sum = 0;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const int type = sqlite3_column_type(statement, i);
      if (type == SQLITE_INTEGER) sum += static_cast<double>(sqlite3_column_int64(statement, i));
      if (type == SQLITE_FLOAT) sum += sqlite3_column_double(statement, i);
    }
  }
  sqlite3_finalize(statement);
  return sum;
}

QueryEngine engineFor(const Trace& trace) {
  auto engine = QueryEngine::open(trace);
  if (!engine) std::exit(1);
  return std::move(*engine);
}

sqlite3* plainTables(const Trace& trace) {
  sqlite3* db = nullptr;
  sqlite3_open(":memory:", &db);
  sqlite3_exec(db,
               "CREATE TABLE kernel(name TEXT, start_ns INT, duration_ns INT, process_id INT, "
               "stream_id INT, correlation_id INT);"
               "CREATE TABLE host_call(start_ns INT, process_id INT, correlation_id INT); BEGIN",
               nullptr, nullptr, nullptr);
  sqlite3_stmt* insert = nullptr;
  sqlite3_prepare_v2(db, "INSERT INTO kernel VALUES(?,?,?,?,?,?)", -1, &insert, nullptr);
  const auto& k = trace.kernel;
  for (size_t i = 0; i < k.size(); ++i) {
    const std::string_view name = trace.text(k.name[i]);
    sqlite3_bind_text(insert, 1, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, k.start_ns[i]);
    sqlite3_bind_int64(insert, 3, k.duration_ns[i]);
    sqlite3_bind_int64(insert, 4, static_cast<int64_t>(k.process_id[i]));
    sqlite3_bind_int64(insert, 5, static_cast<int64_t>(k.stream_id[i]));
    sqlite3_bind_int64(insert, 6, static_cast<int64_t>(k.correlation_id[i]));
    sqlite3_step(insert);
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  sqlite3_prepare_v2(db, "INSERT INTO host_call VALUES(?,?,?)", -1, &insert, nullptr);
  const auto& h = trace.host_call;
  for (size_t i = 0; i < h.size(); ++i) {
    sqlite3_bind_int64(insert, 1, h.start_ns[i]);
    sqlite3_bind_int64(insert, 2, static_cast<int64_t>(h.process_id[i]));
    sqlite3_bind_int64(insert, 3, static_cast<int64_t>(h.correlation_id[i]));
    sqlite3_step(insert);
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
  return db;
}

struct Question {
  const char* what;
  std::string sql;
  std::string naive;  ///< the same without help from the table; "" if that makes no difference
  double bar_s;       ///< 0: none
};

void compare(const Trace& trace, const std::vector<Question>& questions) {
  sqlite3* plain = plainTables(trace);
  std::printf("%-44s %9s %9s %9s %9s %7s\n", "", "first", "again", "naive", "SQLite", "bar");
  for (const Question& q : questions) {
    QueryEngine engine = engineFor(trace);
    const Run first = timed([&] { return ask(engine, q.sql); });
    Run again = first;
    for (int i = 0; i < 3; ++i) {
      const Run run = timed([&] { return ask(engine, q.sql); });
      if (i == 0 || run.seconds < again.seconds) again = run;
    }
    QueryEngine other = engineFor(trace);
    Run naive;
    if (!q.naive.empty()) naive = timed([&] { return ask(other, q.naive); });
    const Run table = timed([&] { return ask(plain, q.sql); });
    const bool same = first.sum == table.sum && (q.naive.empty() || naive.sum == first.sum);
    const auto text = [](double s) { return s == 0 ? std::string("-") : fmt::format("{:.4f}", s); };
    std::printf("%-44s %9s %9s %9s %9s %7s%s\n", q.what, text(first.seconds).c_str(),
                text(again.seconds).c_str(), text(naive.seconds).c_str(),
                text(table.seconds).c_str(), q.bar_s == 0 ? "" : fmt::format("{}", q.bar_s).c_str(),
                same ? "" : "  THE ANSWERS DIFFER");
    std::fflush(stdout);
    if (!same) std::exit(1);
  }
  sqlite3_close(plain);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t kernels = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const size_t joined = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10'000;
  std::printf("SQLite %s; seconds by the clock\n\n%zu kernels\n", sqlite3_libversion(), kernels);
  compare(makeTrace(kernels, 1),
          {{"count(*)", "SELECT count(*) FROM kernel", "", 0},
           {"sum of a column", "SELECT sum(duration_ns) FROM kernel", "", 0},
           {"sum by name", "SELECT name, sum(duration_ns) FROM kernel GROUP BY name",
            "SELECT name, sum(duration_ns) FROM kernel GROUP BY +name", 0.7},
           {"five figures by name",
            "SELECT name, count(*), sum(duration_ns), min(duration_ns), max(duration_ns), "
            "avg(duration_ns) FROM kernel GROUP BY name",
            "SELECT name, count(*), sum(duration_ns), min(duration_ns), max(duration_ns), "
            "avg(duration_ns) FROM kernel GROUP BY +name",
            0},
           {"sum by process and stream",
            "SELECT process_id, stream_id, sum(duration_ns) FROM kernel GROUP BY process_id, "
            "stream_id",
            "SELECT process_id, stream_id, sum(duration_ns) FROM kernel GROUP BY +process_id, "
            "+stream_id",
            0},
           {"one stream", "SELECT sum(duration_ns) FROM kernel WHERE stream_id = 3",
            "SELECT sum(duration_ns) FROM kernel WHERE +stream_id = 3", 0},
           {"a stretch of time",
            "SELECT count(*) FROM kernel WHERE start_ns BETWEEN 1000000 AND 2000000",
            "SELECT count(*) FROM kernel WHERE +start_ns BETWEEN 1000000 AND 2000000", 0},
           {"one name",
            "SELECT count(*) FROM kernel WHERE name = 'void "
            "at::native::vectorized_elementwise_kernel<7, float, std::array<char*, 3ul>>'",
            "SELECT count(*) FROM kernel WHERE +name = 'void "
            "at::native::vectorized_elementwise_kernel<7, float, std::array<char*, 3ul>>'",
            0}});
  std::printf("\n%zu kernels and %zu launches\n", joined, joined);
  compare(makeTrace(joined, 2),
          {{"join by process and correlation id",
            "SELECT count(*), sum(k.start_ns - h.start_ns) FROM kernel k JOIN host_call h USING "
            "(process_id, correlation_id)",
            "", 0.05},
           {"the same the other way round",
            "SELECT count(*), sum(k.start_ns - h.start_ns) FROM host_call h CROSS JOIN kernel k "
            "ON k.correlation_id = h.correlation_id AND k.process_id = h.process_id",
            "SELECT count(*), sum(k.start_ns - h.start_ns) FROM host_call h CROSS JOIN kernel k "
            "ON +k.correlation_id = h.correlation_id AND +k.process_id = h.process_id",
            0.05}});
  return 0;
}
