// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/python/python_lines.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tracesmith::stacks {
namespace {

// co_linetable of CPython 3.11 for a function that starts at line 10:
//   def f(a):
//       x = [a,
//            a]
//       return x
const Bytes kTable = {0x80, 0x00, 0xd8, 0x09, 0x0a, 0xd8, 0x09, 0x0a, 0xf0, 0x03,
                      0x01, 0x09, 0x0c, 0x80, 0x41, 0xe0, 0x0b, 0x0c, 0x80, 0x48};

/// One entry of each kind.
const Bytes kKinds = {
    0x80 | 0 << 3 | 1,  0x53,              // columns 5 to 8, two units
    0x80 | 10 << 3 | 0, 4,    9,           // the same line, columns 4 to 9
    0x80 | 12 << 3 | 7, 0,    70,          // two lines further
    0x80 | 13 << 3 | 0, 0x41, 0x01,        // one bit below 2^6: 65 -> -32 lines
    0x80 | 15 << 3 | 2,                    // no location
    0x80 | 14 << 3 | 0, 8,    2,    4, 0,  // four lines further, two lines, column 3 to unknown
};

struct Seen {
  std::vector<PythonLocation> entries;
  bool whole = false;
};
Seen read(ByteView table, int32_t first_line) {
  Seen seen;
  seen.whole = visitPythonLocations(table, first_line, [&](const PythonLocation& at) {
    seen.entries.push_back(at);
    return true;
  });
  return seen;
}

void expect(const PythonLocation& at, uint32_t begin, uint32_t end, int32_t line, int32_t end_line,
            int32_t column, int32_t end_column) {
  EXPECT_EQ(at.begin, begin);
  EXPECT_EQ(at.end, end);
  EXPECT_EQ(at.line, line);
  EXPECT_EQ(at.end_line, end_line);
  EXPECT_EQ(at.column, column);
  EXPECT_EQ(at.end_column, end_column);
}

TEST(PythonLines, EveryKindOfEntryIsRead) {
  const Seen seen = read(kKinds, 100);
  EXPECT_TRUE(seen.whole);
  ASSERT_EQ(seen.entries.size(), 6u);
  expect(seen.entries[0], 0, 2, 100, 100, 5, 8);
  expect(seen.entries[1], 2, 3, 100, 100, 4, 9);
  expect(seen.entries[2], 3, 11, 102, 102, 0, 70);
  expect(seen.entries[3], 11, 12, 70, 70, -1, -1);
  expect(seen.entries[4], 12, 15, -1, -1, -1, -1);
  expect(seen.entries[5], 15, 16, 74, 76, 3, -1);
}

TEST(PythonLines, AnInstructionsLineIsFoundAndOneBehindTheCodeHasNone) {
  constexpr int32_t kLines[] = {10, 11, 12, 11, 11, 13, 13};
  for (uint32_t i = 0; i < 7; ++i) EXPECT_EQ(pythonLocationOf(kTable, 10, i).line, kLines[i]) << i;
  const PythonLocation none = pythonLocationOf(kTable, 10, 1000);
  EXPECT_EQ(none.line, -1);
  EXPECT_EQ(none.begin, none.end);
}

TEST(PythonLines, ATableThatIsCutGivesWhatComesBeforeTheCut) {
  const Seen whole = read(kKinds, 100);
  for (size_t size = 0; size < kKinds.size(); ++size) {
    const Seen cut = read(ByteView(kKinds).first(size), 100);
    ASSERT_LE(cut.entries.size(), whole.entries.size());
    for (size_t i = 0; i < cut.entries.size(); ++i) {
      EXPECT_EQ(cut.entries[i].line, whole.entries[i].line);
      EXPECT_EQ(cut.entries[i].end, whole.entries[i].end);
    }
  }
}

TEST(PythonLines, DamageIsNoticedOrGivesOtherLinesAndNothingElse) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    Bytes table = kKinds;
    table[random() % table.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    uint32_t end = 0;
    for (const PythonLocation& at : read(table, INT32_MAX - 50).entries) {
      ASSERT_EQ(at.begin, end);
      ASSERT_GT(at.end, at.begin);
      end = at.end;
    }
  }
}

TEST(PythonLines, ANumberThatNeverEndsIsDamage) {
  Bytes table = {0x80 | 13 << 3};
  table.insert(table.end(), 64, 0x7f);
  EXPECT_FALSE(read(table, 1).whole);
  EXPECT_TRUE(read(table, 1).entries.empty());
}

}  // namespace
}  // namespace tracesmith::stacks
