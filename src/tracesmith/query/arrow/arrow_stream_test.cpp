// SPDX-License-Identifier: Apache-2.0
// Examines what a consumer of the C stream interface gets: schema, batches, bits, offsets,
// releases.
#include "tracesmith/query/arrow/arrow_stream.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

/// A cell of an array as text, read by the layout of Arrow's specification.
std::string cell(const ArrowArray& array, const std::string& format, int64_t row) {
  const auto* valid = static_cast<const uint8_t*>(array.buffers[0]);
  if (valid != nullptr && (valid[row / 8] >> (row % 8) & 1) == 0) return "NULL";
  if (format == "l") return std::to_string(static_cast<const int64_t*>(array.buffers[1])[row]);
  if (format == "g") return std::to_string(static_cast<const double*>(array.buffers[1])[row]);
  const auto* offsets = static_cast<const int32_t*>(array.buffers[1]);
  return std::string(static_cast<const char*>(array.buffers[2]) + offsets[row],
                     static_cast<size_t>(offsets[row + 1] - offsets[row]));
}

struct Answer {
  std::string formats;
  std::string names;
  std::vector<int64_t> batches;  ///< rows of each
  std::vector<std::string> rows;
  int error = 0;
  std::string message;
};

Answer read(ArrowArrayStream& stream) {
  Answer answer;
  ArrowSchema schema;
  EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
  EXPECT_STREQ(schema.format, "+s");
  for (int64_t i = 0; i < schema.n_children; ++i) {
    answer.formats += schema.children[i]->format;
    answer.names += std::string(schema.children[i]->name) + " ";
    EXPECT_EQ(schema.children[i]->flags, ARROW_FLAG_NULLABLE);
  }
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
  while (true) {
    ArrowArray batch;
    answer.error = stream.get_next(&stream, &batch);
    if (answer.error != 0) {
      answer.message = stream.get_last_error(&stream);
      break;
    }
    if (batch.release == nullptr) break;
    answer.batches.push_back(batch.length);
    EXPECT_EQ(batch.n_children, static_cast<int64_t>(answer.formats.size()));
    for (int64_t row = 0; row < batch.length; ++row) {
      std::string line;
      for (int64_t c = 0; c < batch.n_children; ++c) {
        const ArrowArray& column = *batch.children[c];
        EXPECT_EQ(column.length, batch.length);
        line += cell(column, answer.formats.substr(static_cast<size_t>(c), 1), row) + "|";
      }
      answer.rows.push_back(line);
    }
    // A consumer may take a column out before it releases the rest.
    ArrowArray taken = *batch.children[0];
    batch.children[0]->release = nullptr;
    batch.release(&batch);
    EXPECT_EQ(batch.release, nullptr);
    EXPECT_EQ(cell(taken, answer.formats.substr(0, 1), 0) + "|",
              answer.rows[answer.rows.size() - static_cast<size_t>(taken.length)].substr(
                  0, cell(taken, answer.formats.substr(0, 1), 0).size() + 1));
    taken.release(&taken);
  }
  return answer;
}

Answer askArrow(const Trace& trace, std::string_view sql) {
  auto engine = QueryEngine::open(trace);
  EXPECT_TRUE(engine);
  ArrowArrayStream stream;
  const Status started = startArrowStream(*engine, sql, &stream);
  EXPECT_TRUE(started) << sql;
  if (!started) return {};
  Answer answer = read(stream);
  stream.release(&stream);
  EXPECT_EQ(stream.release, nullptr);
  return answer;
}

TEST(ArrowStream, HasTypesNamesAndNulls) {
  const Answer answer =
      askArrow(test::sampleProgram().trace,
               "SELECT name, start_ns, grid_x, duration_ns / 2.0 AS half, NULL AS "
               "missing FROM kernel ORDER BY start_ns");
  EXPECT_EQ(answer.formats, "ullgu");
  EXPECT_EQ(answer.names, "name start_ns grid_x half missing ");
  EXPECT_EQ(answer.rows, (std::vector<std::string>{"saxpy|1200000|16|250000.000000|NULL|",
                                                   "relu|1500000|NULL|50000.000000|NULL|",
                                                   "saxpy|1800000|16|100000.000000|NULL|"}));
}

TEST(ArrowStream, ComesInBatches) {
  test::SampleTrace s;
  constexpr int64_t kRows = 150'000;
  for (int64_t i = 0; i < kRows; ++i) {
    s.trace.kernel.push({.start_ns = i, .name = i % 3 == 0 ? StringId::kNone : s.text("k")});
  }
  const Answer answer = askArrow(s.trace, "SELECT start_ns, name, start_ns * 2 FROM kernel");
  EXPECT_EQ(answer.batches, (std::vector<int64_t>{65536, 65536, kRows - 2 * 65536}));
  ASSERT_EQ(answer.rows.size(), static_cast<size_t>(kRows));
  for (const int64_t i : {int64_t{0}, int64_t{65535}, int64_t{65536}, kRows - 1}) {
    EXPECT_EQ(answer.rows[static_cast<size_t>(i)],
              std::to_string(i) + (i % 3 == 0 ? "|NULL|" : "|k|") + std::to_string(2 * i) + "|");
  }
}

TEST(ArrowStream, AnExpressionThatBeginsWithNullsHasTheTypeOfItsFirstValue) {
  test::SampleTrace s;
  constexpr int64_t kRows = 70'000;
  for (int64_t i = 0; i < kRows; ++i) s.trace.kernel.push({.start_ns = i});
  const Answer answer = askArrow(
      s.trace,
      "SELECT CASE WHEN start_ns < 66000 THEN NULL ELSE start_ns END, CASE WHEN start_ns > 69000 "
      "THEN start_ns / 2.0 END, CASE start_ns WHEN 69999 THEN 'text' END, NULL FROM kernel");
  EXPECT_EQ(answer.error, 0);
  EXPECT_EQ(answer.formats, "lguu");
  ASSERT_EQ(answer.rows.size(), static_cast<size_t>(kRows));
  EXPECT_EQ(answer.rows[65999], "NULL|NULL|NULL|NULL|");
  EXPECT_EQ(answer.rows[66000], "66000|NULL|NULL|NULL|");
  EXPECT_EQ(answer.rows.back(), "69999|34999.500000|text|NULL|");
}

TEST(ArrowStream, AnEmptyAnswerHasASchema) {
  const Answer answer = askArrow({}, "SELECT name, start_ns FROM kernel");
  EXPECT_EQ(answer.formats, "ul");
  EXPECT_TRUE(answer.batches.empty());
}

TEST(ArrowStream, TextsAreUtf8) {
  Trace trace;
  for (const char* name :
       {"caf\xc3\xa9", "\xff\xfe", "a\xe2\x82", "\xed\xa0\x80", "\xf0\x9f\x9a\x80"}) {
    trace.kernel.push({.name = trace.strings.append(name)});
  }
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(askArrow(trace, "SELECT name FROM kernel").rows,
            (std::vector<std::string>{"caf\xc3\xa9|", r + r + "|", "a" + r + r + "|",
                                      r + r + r + "|", "\xf0\x9f\x9a\x80|"}));
}

TEST(ArrowStream, AValueThatDoesNotFitEndsItWithAReason) {
  test::SampleTrace s;
  for (int i = 0; i < 5000; ++i) s.kernel("k", StreamId::kNone, i, 1, 7);
  s.trace.kernel.correlation_id[4999] = ~0ull;
  const Answer answer = askArrow(s.trace, "SELECT correlation_id FROM kernel");
  EXPECT_EQ(answer.error, EINVAL);
  EXPECT_NE(answer.message.find("CAST(correlation_id AS"), std::string::npos) << answer.message;
  EXPECT_EQ(askArrow(s.trace, "SELECT CAST(correlation_id AS TEXT) AS id FROM kernel").rows.back(),
            "18446744073709551615|");
}

TEST(ArrowStream, ErrorsOfTheQueryComeBeforeTheStream) {
  const Trace trace;
  auto engine = QueryEngine::open(trace);
  ASSERT_TRUE(engine);
  ArrowArrayStream stream;
  EXPECT_FALSE(startArrowStream(*engine, "SELECT nonsense FROM kernel", &stream));
  EXPECT_FALSE(startArrowStream(*engine, "DELETE FROM kernel", &stream));
}

TEST(QueryCursor, SeveralAnswersCanBeReadInTurns) {
  const Trace trace = test::sampleProgram().trace;
  auto engine = QueryEngine::open(trace);
  ASSERT_TRUE(engine);
  auto kernels = engine->start("SELECT name FROM kernel");
  auto calls = engine->start("SELECT name FROM host_call");
  ASSERT_TRUE(kernels);
  ASSERT_TRUE(calls);
  size_t rows = 0;
  for (;; ++rows) {
    const bool kernel = *kernels->next();
    const bool call = *calls->next();
    if (!kernel && !call) break;
  }
  EXPECT_EQ(rows, trace.host_call.size());
  EXPECT_FALSE(*kernels->next());  // at the end it stays there
}

}  // namespace
}  // namespace tracesmith
