// SPDX-License-Identifier: Apache-2.0
// The first byte of the input selects one of three tests: any text as SQL; SQL assembled from known
// words; or conditions and orders on a table. In the last case, the result must be the same if
// SQLite is kept from passing them to the table (by a plus sign before a column).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/query/catalog/catalog.hpp"
#include "tracesmith/query/sql/query_engine.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

namespace {

/// A few rows in every table: equal and missing values, both ends of the number range, damage.
const Trace& theTrace() {
  static const Trace trace = [] {
    test::SampleTrace sample = test::sampleProgram();
    Trace& t = sample.trace;
    for (int i = 0; i < 40; ++i) {
      const StreamId stream = static_cast<StreamId>(i % 4);
      sample.kernel(i % 3 == 0 ? "relu" : "", stream, (i * 37) % 11, i % 5 - 1,
                    static_cast<uint64_t>(i % 7), static_cast<ShapeId>(i % 2));
      sample.copy(static_cast<CopyKind>(i % 10), stream, INT64_MAX - i % 3, i, ~0ull - i % 2);
      sample.fill(stream, INT64_MIN + i % 3, i, static_cast<uint64_t>(i));
      t.memory_event.push({.time_ns = i % 9 - 4, .bytes = 1ull << (i + 20), .name = StringId{99}});
      t.counter.push({.time_ns = i,
                      .track_id = static_cast<CounterTrackId>(i % 3),
                      .value = i % 4 == 0 ? 0.0 / 0.0 : i / 8.0});
      t.metadata.push({.key = static_cast<StringId>(i % 5), .value = static_cast<StringId>(i)});
    }
    return std::move(t);
  }();
  return trace;
}

QueryEngine& theEngine() {
  static Result<QueryEngine> engine = QueryEngine::open(theTrace());
  if (!engine) std::abort();
  return *engine;
}

/// Runs `sql` for a limited time, and at most a thousand rows.
void run(std::string_view sql) {
  int asked = 0;
  const QueryOptions options{.cancelled = [&] { return ++asked > 25; }};
  uint64_t rows = 0;
  QuerySink sink;
  sink.columns = [](std::span<const QueryColumn>) {};
  sink.row = [&](std::span<const Value> values) {
    for (const Value& value : values) (void)toText(value);
    return ++rows < 1000;
  };
  const auto result = theEngine().run(sql, sink, options);
  if (!result && result.error().message.empty()) std::abort();
}

std::vector<std::string> words() {
  std::vector<std::string> all;
  for (const char* word :
       {"SELECT",     "FROM",   "WHERE",  "GROUP BY", "ORDER BY", "HAVING", "LIMIT",
        "JOIN",       "LEFT",   "USING",  "ON",       "AS",       "AND",    "OR",
        "NOT",        "IN",     "LIKE",   "GLOB",     "IS",       "NULL",   "BETWEEN",
        "CASE",       "WHEN",   "THEN",   "END",      "WITH",     "UNION",  "DISTINCT",
        "DESC",       "OVER",   "VALUES", "EXISTS",   "count(",   "sum(",   "min(",
        "max(",       "avg(",   "total(", "hex(",     "length(",  "(",      ")",
        ",",          "*",      "=",      "<",        ">",        "<=",     ">=",
        "<>",         "+",      "-",      "||",       ".",        "'relu'", "''",
        "0",          "1",      "-1",     "1000000",  "1.5",      "rowid",  "9223372036854775807",
        "k",          "PRAGMA", "DELETE", "ATTACH",   "INSERT",   "x''",    "9e999",
        "percentile("}) {
    all.push_back(word);
  }
  for (const auto& table : theEngine().catalog().tables()) {
    all.push_back(table->name());
    for (const auto& column : table->columns()) all.push_back(column->name());
  }
  return all;
}

/// Takes numbers from the input; zeros once it is used up.
class Choices {
 public:
  explicit Choices(ByteView bytes) : reader_(bytes) {}
  size_t below(size_t n) { return n == 0 ? 0 : reader_.fixed<uint16_t>() % n; }
  int64_t number() {
    switch (below(5)) {
      case 0:
        return static_cast<int64_t>(below(50)) - 10;
      case 1:
        return INT64_MAX - static_cast<int64_t>(below(4));
      case 2:
        // SQL has no literal for the smallest number.
        return INT64_MIN + 1 + static_cast<int64_t>(below(4));
      case 3:
        return static_cast<int64_t>(below(20)) * 100'000;
      default:
        return reader_.fixed<int64_t>() | 1;
    }
  }
  bool empty() const { return reader_.remaining() == 0; }

 private:
  ByteReader reader_;
};

std::vector<std::string> answer(const std::string& sql) {
  const auto result = theEngine().run(sql);
  if (!result) std::abort();
  std::vector<std::string> rows;
  for (const auto& row : result->rows) {
    std::string text;
    for (const auto& cell : row) {
      text +=
          cell.isNull() ? "NULL " : toText({cell.type, cell.integer, cell.real, cell.text}) + " ";
    }
    rows.push_back(std::move(text));
  }
  return rows;
}

void compareWithAndWithoutPlans(Choices choices) {
  const auto& tables = theEngine().catalog().tables();
  const SqlTable& table = *tables[choices.below(tables.size())];
  constexpr const char* kOperators[] = {" = ", " < ", " > ", " <= ", " >= ", " IS ", " <> "};
  constexpr const char* kTexts[] = {"'relu'", "'saxpy'", "''", "'r'", "'zzz'", "'host_to_device'"};
  std::string planned;
  std::string plain;
  for (size_t n = choices.below(4); n > 0; --n) {
    const SqlColumn& column = table.column(choices.below(table.columns().size()));
    const std::string op = kOperators[choices.below(7)];
    std::string value;
    // A plain column without a type is not converted, so only values of its own type compare
    // equally.
    if (choices.below(16) == 0) {
      value = "NULL";
    } else if (column.type() == "TEXT") {
      value = kTexts[choices.below(6)];
    } else {
      value = std::to_string(choices.number()) + (choices.below(4) == 0 ? ".5" : "");
    }
    const char* link = planned.empty() ? " WHERE " : " AND ";
    planned += link + column.name() + op + value;
    plain += link + ("+" + column.name()) + op + value;
  }
  const std::string order = table.column(choices.below(table.columns().size())).name();
  const char* direction = choices.below(2) == 0 ? "" : " DESC";
  const std::string select = "SELECT rowid, " + order + " FROM " + table.name();
  const std::string a = select + planned + " ORDER BY " + order + direction + ", rowid";
  const std::string b = select + plain + " ORDER BY +" + order + direction + ", rowid";
  if (answer(a) != answer(b)) {
    std::fprintf(stderr, "different answers:\n  %s\n  %s\n", a.c_str(), b.c_str());
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView rest(data + 1, size - 1);
  if (data[0] % 3 == 0) {
    run(asText(rest));
  } else if (data[0] % 3 == 1) {
    static const std::vector<std::string> kWords = words();
    std::string sql = "SELECT ";
    Choices choices(rest.first(std::min<size_t>(rest.size(), 200)));
    while (!choices.empty()) sql += kWords[choices.below(kWords.size())] + " ";
    run(sql);
  } else {
    compareWithAndWithoutPlans(Choices(rest));
  }
  return 0;
}
