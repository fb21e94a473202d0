// SPDX-License-Identifier: Apache-2.0
// A trace of which only the timeline is read first, compared with the same trace read as a whole.
#include "tracesmith/studio/studio_trace.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tracesmith/format/trace_mutation_test_util.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/studio/answers/answers.hpp"

namespace tracesmith::studio {
namespace {

std::vector<TileKey> widestOf(const StudioTrace& of) {
  std::vector<TileKey> keys;
  for (uint32_t lane = 0; lane < of.rows().rows.size(); ++lane) {
    if (!of.rows().rows[lane].heading) keys.push_back({lane, 40, 0});
  }
  return keys;
}

/// Opens a file both ways. What cannot be read fails both ways.
void expectSame(const std::string& path) {
  Result<TraceReader> reader = TraceReader::open(path);
  if (!reader) return;
  Result<Trace> all = reader->read();
  ASSERT_TRUE(all);
  const StudioTrace whole({.path = path, .complete = true, .info = {}}, std::move(*all));

  Result<TraceTables> tables = TraceTables::open(*TraceReader::open(path));
  ASSERT_TRUE(tables) << tables.error().toString();
  const Status read = readTimeline(*tables);
  ASSERT_TRUE(read) << read.error().toString();
  const StudioTrace part({.path = path, .complete = true, .info = {}}, std::move(*tables));

  ASSERT_EQ(traceAnswer(part), traceAnswer(whole));
  ASSERT_EQ(part.tiles().bytesOf(widestOf(part)), whole.tiles().bytesOf(widestOf(whole)));
  ASSERT_EQ(searchAnswer(part, "a", 100), searchAnswer(whole, "a", 100));

  const Status rest = part.readRest();
  ASSERT_TRUE(rest) << rest.error().toString();
  EXPECT_EQ(part.unreadBytes(), 0U);
  const auto rowsOf = [](const Trace& trace) {
    std::vector<std::vector<uint8_t>> columns;
    forEachTable(trace, [&](const auto& table) {
      table.visitColumns(table, [&](const ColumnInfo&, const auto& column) {
        const auto* begin = reinterpret_cast<const uint8_t*>(column.data());
        columns.emplace_back(begin, begin + column.size() * sizeof(*column.data()));
      });
    });
    return columns;
  };
  EXPECT_EQ(rowsOf(part.trace()), rowsOf(whole.trace()));
  EXPECT_EQ(traceAnswer(part), traceAnswer(whole));
}

TEST(StudioTrace, ReadInPartsIsTheWhole) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const test::TempFile file;
    auto writer = TraceWriter::create(file.path());
    ASSERT_TRUE(writer);
    Trace delta;
    for (int n = 0; n < 3; ++n) {
      test::addRandomRows(delta, random, 60);
      ASSERT_TRUE(writer->write(delta));
      forEachTable(delta, [](auto& table) { table.clear(); });
    }
    if (seed % 3 != 0) {
      ASSERT_TRUE(writer->finish());
    }
    ASSERT_NO_FATAL_FAILURE(expectSame(file.path()));
  }
}

TEST(StudioTrace, OfADamagedFileToo) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Bytes bytes = test::makeSeed(seed);
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      bytes[sbt::kFileHeaderBytes + random() % (bytes.size() - sbt::kFileHeaderBytes)] ^=
          static_cast<uint8_t>(1 + random() % 255);
    }
    const test::TempFile file;
    file.write(bytes);
    ASSERT_NO_FATAL_FAILURE(expectSame(file.path()));
  }
}

/// What the timeline asks while another thread reads the rest.
TEST(StudioTrace, AnswersWhileTheRestIsRead) {
  const test::TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace delta;
  const StringId name = delta.strings.append("gemm");
  for (int i = 0; i < 50'000; ++i) {
    delta.kernel.push({.start_ns = 100 * i,
                       .duration_ns = 50,
                       .name = name,
                       .correlation_id = static_cast<uint64_t>(i)});
  }
  ASSERT_TRUE(writer->write(delta));
  ASSERT_TRUE(writer->finish());
  Result<TraceTables> tables = TraceTables::open(*TraceReader::open(file.path()));
  ASSERT_TRUE(tables);
  ASSERT_TRUE(readTimeline(*tables));
  const StudioTrace trace({.path = file.path(), .complete = true, .info = {}}, std::move(*tables));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      EXPECT_TRUE(trace.readRest());
      EXPECT_EQ(trace.trace().kernel.correlation_id[40'000], 40'000U);
    });
    threads.emplace_back([&] {
      EXPECT_FALSE(traceAnswer(trace).empty());
      EXPECT_FALSE(trace.tiles().bytesOf(widestOf(trace)).empty());
      EXPECT_NE(searchAnswer(trace, "gemm", 10).find("50000"), std::string::npos);
    });
  }
}

/// What remains unread when the file is lost is asked for in vain, and what is shown stays.
TEST(StudioTrace, OfAFileThatShrinksSaysSo) {
  const test::TempFile file;
  auto writer = TraceWriter::create(file.path());
  ASSERT_TRUE(writer);
  Trace delta;
  for (int i = 0; i < 10'000; ++i) {
    delta.kernel.push({.start_ns = 100 * i, .duration_ns = 50, .correlation_id = uint64_t(i)});
  }
  ASSERT_TRUE(writer->write(delta));
  ASSERT_TRUE(writer->finish());
  Result<TraceTables> tables = TraceTables::open(*TraceReader::open(file.path()));
  ASSERT_TRUE(tables);
  ASSERT_TRUE(readTimeline(*tables));
  const StudioTrace trace({.path = file.path(), .complete = true, .info = {}}, std::move(*tables));
  EXPECT_GT(trace.unreadBytes(), 0U);
  file.write({});
  const std::string before = trace.tiles().bytesOf(widestOf(trace));
  for (int i = 0; i < 2; ++i) {
    const Status rest = trace.readRest();
    ASSERT_FALSE(rest);
    EXPECT_EQ(rest.error().code, ErrorCode::kDamaged);
  }
  EXPECT_EQ(trace.tiles().bytesOf(widestOf(trace)), before);
}

}  // namespace
}  // namespace tracesmith::studio
