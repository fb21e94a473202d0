// SPDX-License-Identifier: Apache-2.0
// A trace of which only the timeline is read first, compared with the same trace read as a whole.
#include "tracesmith/studio/studio_trace.hpp"

#include <gtest/gtest.h>

#include <memory>
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
    ASSERT_NO_FATAL_FAILURE(test::writeRandomTrace(file.path(), random, seed % 3 != 0));
    ASSERT_NO_FATAL_FAILURE(expectSame(file.path()));
  }
}

TEST(StudioTrace, OfADamagedFileToo) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const test::TempFile file;
    file.write(test::makeDamagedSeed(seed, random));
    ASSERT_NO_FATAL_FAILURE(expectSame(file.path()));
  }
}

/// Writes launches of "gemm", and opens the file for its timeline; null: a failure.
std::unique_ptr<StudioTrace> ofKernels(const std::string& path, int count) {
  auto writer = TraceWriter::create(path);
  Trace delta;
  const StringId name = delta.strings.append("gemm");
  for (int i = 0; i < count; ++i) {
    delta.kernel.push({.start_ns = 100 * i,
                       .duration_ns = 50,
                       .name = name,
                       .correlation_id = static_cast<uint64_t>(i)});
  }
  if (!writer || !writer->write(delta) || !writer->finish()) return nullptr;
  Result<TraceTables> tables = TraceTables::open(*TraceReader::open(path));
  if (!tables || !readTimeline(*tables)) return nullptr;
  return std::make_unique<StudioTrace>(
      StudioTrace::Source{.path = path, .complete = true, .info = {}}, std::move(*tables));
}

/// What the timeline asks while another thread reads the rest.
TEST(StudioTrace, AnswersWhileTheRestIsRead) {
  const test::TempFile file;
  const std::unique_ptr<StudioTrace> opened = ofKernels(file.path(), 50'000);
  ASSERT_NE(opened, nullptr);
  const StudioTrace& trace = *opened;
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
  const std::unique_ptr<StudioTrace> opened = ofKernels(file.path(), 10'000);
  ASSERT_NE(opened, nullptr);
  const StudioTrace& trace = *opened;
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
