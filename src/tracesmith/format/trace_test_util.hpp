// SPDX-License-Identifier: Apache-2.0
// For tests: temporary files, random traces over every table and column, and their comparison.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/format/blocks/row_order.hpp"
#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/format/encoding/column_words.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::test {

/// A path in a temporary directory, which is removed at the end of the scope.
class TempFile {
 public:
  explicit TempFile(const std::string& name = "trace.sbt") {
    // In memory if possible: tests that rewrite a file thousands of times would wait for the disk.
    const char* base = getenv("TMPDIR");
    if (base == nullptr) base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    std::string pattern = std::string(base) + "/tracesmith-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "cannot make " << pattern;
    dir_ = pattern;
    path_ = dir_ + "/" + name;
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() {
    unlink(path_.c_str());
    rmdir(dir_.c_str());
  }
  const std::string& path() const { return path_; }
  const std::string& dir() const { return dir_; }

  Bytes bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), {});
  }
  void write(ByteView content) const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(content.data()),
              static_cast<std::streamsize>(content.size()));
  }

 private:
  std::string dir_;
  std::string path_;
};

inline std::string randomText(std::mt19937_64& random, size_t longest) {
  std::string text(random() % (longest + 1), '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

/// A word of random magnitude, so that small, large and negative values all occur.
inline uint64_t randomWord(std::mt19937_64& random) {
  const uint64_t word = random() >> (random() % 64);
  return random() % 8 == 0 ? ~word : word;
}

/// Adds `rows` random rows to every table, with values of every kind that a column can hold. Keyed
/// tables get ids 1..rows in random order, some more than once.
inline void addRandomRows(Trace& trace, std::mt19937_64& random, size_t rows) {
  for (size_t i = 0; i < rows; ++i) trace.strings.append(randomText(random, 40));
  forEachTable(trace, [&](auto& table) {
    using Table = std::decay_t<decltype(table)>;
    const size_t before = table.size();
    // Some tables stay empty, and some columns are all zero: both have a special form on disk.
    const size_t count = random() % 4 == 0 ? 0 : rows;
    Table::visitColumns(table, [&](const ColumnInfo&, auto& column) {
      using T = typename std::decay_t<decltype(column)>::value_type;
      const uint64_t behaviour = random() % 5;
      uint64_t running = randomWord(random);
      for (size_t i = 0; i < count; ++i) {
        uint64_t word = behaviour == 0 ? 0 : behaviour == 1 ? 42 : randomWord(random);
        if (behaviour == 2) word = running += random() % 1000;
        if constexpr (std::is_same_v<T, double>) {
          column.push_back(std::bit_cast<double>(word));
        } else {
          column.push_back(static_cast<T>(static_cast<sbt::UnderlyingOf<T>>(word)));
        }
      }
    });
    if constexpr (std::is_same_v<Table, AttributeTable>) {
      // Attributes must not refer to rows of earlier deltas; here they refer to none.
      for (size_t i = before; i < table.size(); ++i) table.table[i] |= 0x100;
    }
    if constexpr (isKeyed(Table::kId)) {
      for (size_t i = before; i < table.size(); ++i) {
        using Id = typename decltype(table.id)::value_type;
        table.id[i] = static_cast<Id>(1 + random() % (before + count));
      }
    }
  });
}

/// The rows of a table as words, in order; sorted if a file may reorder them.
template <class Table>
std::vector<std::vector<uint64_t>> rowsOf(const Table& table) {
  std::vector<std::vector<uint64_t>> rows(table.size());
  Table::visitColumns(table, [&](const ColumnInfo&, const auto& column) {
    for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(sbt::toWord(column[i]));
  });
  if (sbt::kMayReorder<Table>) std::sort(rows.begin(), rows.end());
  return rows;
}

/// Expects every row of every table except keyed ones to be bitwise equal, and the strings as well.
inline void expectSameRows(const Trace& expected, const Trace& actual) {
  ASSERT_EQ(expected.strings.size(), actual.strings.size());
  for (size_t i = 0; i < expected.strings.size(); ++i) {
    ASSERT_EQ(expected.text(idAt<StringId>(i)), actual.text(idAt<StringId>(i))) << "string " << i;
  }
  auto compare = [](const auto& table, const auto& other) {
    const auto rows = rowsOf(table), others = rowsOf(other);
    ASSERT_EQ(rows.size(), others.size()) << table.kName;
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i], others[i]) << table.kName << ", row " << i;
    }
  };
#define TS_Y(number, Name, name, columns) \
  if (!isKeyed(TableId::k##Name)) compare(expected.name, actual.name);
  TS_TABLES(TS_Y)
#undef TS_Y
}

/// A file of three parts with random rows of every table. `finished`: else it ends as after a kill.
inline void writeRandomTrace(const std::string& path, std::mt19937_64& random, bool finished) {
  auto writer = TraceWriter::create(path);
  ASSERT_TRUE(writer);
  Trace delta;
  for (int part = 0; part < 3; ++part) {
    addRandomRows(delta, random, 60);
    ASSERT_TRUE(writer->write(delta));
    forEachTable(delta, [](auto& table) { table.clear(); });
  }
  if (finished) {
    ASSERT_TRUE(writer->finish());
  }
}

}  // namespace tracesmith::test
