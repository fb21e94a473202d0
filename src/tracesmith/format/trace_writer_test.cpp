// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/trace_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <map>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::addRandomRows;
using test::expectSameRows;
using test::TempFile;

/// The rows of keyed tables that should be left: the last of each id.
template <class Table>
void expectLastOfEachId(const Table& written, const Table& read) {
  std::map<uint32_t, size_t> last;
  for (size_t i = 0; i < written.size(); ++i) last[static_cast<uint32_t>(written.id[i])] = i;
  for (const auto& [id, row] : last) {
    ASSERT_LE(id, read.size()) << Table::kName;
    std::vector<uint64_t> expected;
    std::vector<uint64_t> actual;
    Table::visitColumns(written, [&, r = row](const ColumnInfo&, const auto& column) {
      expected.push_back(sbt::toWord(column[r]));
    });
    Table::visitColumns(read, [&, r = id - 1](const ColumnInfo&, const auto& column) {
      actual.push_back(sbt::toWord(column[r]));
    });
    EXPECT_EQ(expected, actual) << Table::kName << " " << id;
  }
}

Trace readAll(const std::string& path) {
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader) << reader.error().toString();
  if (!reader) return {};
  EXPECT_TRUE(reader->losses().empty()) << reader->losses()[0].reason;
  EXPECT_TRUE(reader->skipped().empty());
  auto trace = reader->read({.convert_clocks = false});
  EXPECT_TRUE(trace) << trace.error().toString();
  EXPECT_TRUE(reader->losses().empty()) << reader->losses()[0].reason;
  return trace ? std::move(*trace) : Trace{};
}

/// The rows that `whole` has beyond `before`; with all strings.
Trace rowsSince(const Trace& whole, const Trace& before) {
  Trace delta;
  delta.strings = whole.strings;
#define TS_Y(number, Name, name, columns)                           \
  for (size_t i = before.name.size(); i < whole.name.size(); ++i) { \
    delta.name.push(whole.name.row(i));                             \
  }
  TS_TABLES(TS_Y)
#undef TS_Y
  return delta;
}

TEST(TraceWriter, EveryColumnOfEveryTableSurvivesRandomDeltas) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const TempFile file;
    auto writer = TraceWriter::create(
        file.path(),
        {.zstd_level = 1, .max_block_rows = static_cast<uint32_t>(1 + random() % 300)});
    ASSERT_TRUE(writer) << writer.error().toString();
    Trace whole;
    const size_t deltas = 1 + random() % 4;
    for (size_t i = 0; i < deltas; ++i) {
      const Trace before = whole;
      addRandomRows(whole, random, random() % 400);
      const Status status = writer->write(rowsSince(whole, before));
      ASSERT_TRUE(status) << status.error().toString();
    }
    const bool finished = random() % 2 == 0;
    if (finished) {
      ASSERT_TRUE(writer->finish());
    }

    auto reader = TraceReader::open(file.path());
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->complete(), finished);
    EXPECT_EQ(reader->cutBytes(), 0u);
    EXPECT_EQ(writer->bytesWritten(), reader->fileBytes());
    const Trace read = readAll(file.path());
    // Attributes of rows that do not exist are dropped by the reader; the random ones name any row.
    Trace expected = whole;
    expected.attribute = read.attribute;
    expectSameRows(expected, read);
#define TS_Y(number, Name, name, columns) \
  if constexpr (isKeyed(TableId::k##Name)) expectLastOfEachId(whole.name, read.name);
    TS_TABLES(TS_Y)
#undef TS_Y
  }
}

}  // namespace
}  // namespace tracesmith
