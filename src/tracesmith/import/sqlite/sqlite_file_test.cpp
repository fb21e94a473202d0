// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/sqlite/sqlite_file.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <random>

#include "tracesmith/import/sqlite/sqlite_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::Database;
using test::TempFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<SqliteFile> opened(const std::string& path) {
  const auto input = ImportInput::open(path);
  if (!input) return nullptr;
  auto file = SqliteFile::open(*input);
  return file ? std::move(*file) : nullptr;
}

std::vector<int64_t> integers(SqliteFile& file, std::string_view table, std::string_view column) {
  std::vector<int64_t> values;
  const SqliteTable* t = file.find(table);
  if (t == nullptr) return values;
  file.scan(*t, [&](const SqliteRow& row) {
    values.push_back(row.integer(t->find(column)));
    return true;
  });
  return values;
}

TEST(SqliteFile, GivesTablesWithTheirStoredColumnsAndNothingThatWouldRun) {
  const TempFile made;
  Database(made.path()).run(R"(
    CREATE TABLE t ("a" INTEGER, "b c" TEXT, twice AS (a * 2), kept AS (a * 3) STORED);
    INSERT INTO t VALUES (1, 'x'), (2, NULL);
    CREATE VIEW v AS SELECT * FROM t;
    CREATE TABLE w (k INTEGER PRIMARY KEY, v TEXT) WITHOUT ROWID;
    INSERT INTO w VALUES (5, 'five');
    CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; END;
    CREATE VIRTUAL TABLE f USING fts3(x);)");
  const auto file = opened(made.path());
  ASSERT_NE(file, nullptr);
  ASSERT_NE(file->find("T"), nullptr) << "names are found as SQL finds them";
  EXPECT_THAT(file->find("t")->columns, ElementsAre("a", "b c"));
  EXPECT_EQ(file->find("v"), nullptr);
  EXPECT_EQ(file->find("f"), nullptr) << "a virtual table";
  EXPECT_EQ(file->find("sqlite_master"), nullptr);
  EXPECT_THAT(integers(*file, "t", "A"), ElementsAre(1, 2));
  EXPECT_THAT(integers(*file, "w", "k"), ElementsAre(5));
  EXPECT_THAT(file->damage(), IsEmpty());
}

TEST(SqliteFile, NumbersAreTakenFromWhateverHoldsThem) {
  const TempFile made;
  Database(made.path())
      .run(
          "CREATE TABLE t (v); INSERT INTO t VALUES (7), (8.0), ('9'), (1.5), ('x'), (NULL), "
          "(x'31'), "
          "(1e300), ('99999999999999999999')");
  const auto file = opened(made.path());
  ASSERT_NE(file, nullptr);
  EXPECT_THAT(integers(*file, "t", "v"), ElementsAre(7, 8, 9, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(integers(*file, "t", "none such"), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(SqliteFile, AColumnMayHaveTheNameOfTheRowNumber) {
  const TempFile made;
  Database(made.path())
      .run(
          "CREATE TABLE t (rowid TEXT, oid TEXT, _rowid_ TEXT, n INTEGER);"
          "INSERT INTO t VALUES ('a', 'b', 'c', 4), ('a', 'b', 'c', 5)");
  const auto file = opened(made.path());
  ASSERT_NE(file, nullptr);
  EXPECT_THAT(integers(*file, "t", "n"), ElementsAre(4, 5));
}

TEST(SqliteFile, IsReadWhereItLiesWhateverItsName) {
  for (const char* name : {"a b?c#d%41.db", "ü'\"&=.db"}) {
    const TempFile made(name);
    Database(made.path()).run("CREATE TABLE t (v); INSERT INTO t VALUES (1)");
    const Bytes before = made.bytes();
    const auto file = opened(made.path());
    ASSERT_NE(file, nullptr) << name;
    EXPECT_THAT(integers(*file, "t", "v"), ElementsAre(1));
    EXPECT_EQ(made.bytes(), before) << "reading changed it";
    std::error_code ec;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(made.dir(), ec), {}), 1)
        << "files beside it";
  }
}

TEST(SqliteFile, OneWithAJournalBesideItIsReadWithoutAndThatIsSaid) {
  const TempFile made;
  const TempFile copy;
  {
    const Database db(made.path());
    db.run(
        "PRAGMA journal_mode=WAL; CREATE TABLE t (v); INSERT INTO t VALUES (1);"
        "PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (2)");
    copy.write(made.bytes());
    std::ofstream(copy.path() + "-wal") << "something";
  }
  const auto file = opened(copy.path());
  ASSERT_NE(file, nullptr);
  EXPECT_THAT(integers(*file, "t", "v"), ElementsAre(1));
  ASSERT_EQ(file->damage().size(), 1U);
  EXPECT_THAT(file->damage()[0].reason, HasSubstr("journal"));
  std::filesystem::remove(copy.path() + "-wal");
}

/// 10,000 rows on many pages of 1024 bytes.
void makeLarge(const std::string& path) {
  Database(path).run(R"(PRAGMA page_size=1024; CREATE TABLE t (v INTEGER, filler TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
    INSERT INTO t SELECT i, 'row ' || i FROM n)");
}

TEST(SqliteFile, ADamagedPageCostsTheRowsAroundItOnly) {
  const TempFile made;
  makeLarge(made.path());
  Bytes bytes = made.bytes();
  const size_t page = bytes.size() / 1024 / 2;
  std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(page * 1024), 1024, uint8_t{0x5a});
  made.write(bytes);
  const auto file = opened(made.path());
  ASSERT_NE(file, nullptr);
  const std::vector<int64_t> got = integers(*file, "t", "v");
  EXPECT_GT(got.size(), 9'800U);
  EXPECT_LT(got.size(), 10'000U);
  EXPECT_EQ(std::set<int64_t>(got.begin(), got.end()).size(), got.size()) << "none twice";
  ASSERT_EQ(file->damage().size(), 1U);
  EXPECT_THAT(file->damage()[0].reason, HasSubstr("are lost"));
}

TEST(SqliteFile, WhatIsBetweenTwoDamagesIsFound) {
  const TempFile made;
  makeLarge(made.path());
  Bytes bytes = made.bytes();
  const size_t pages = bytes.size() / 1024;
  for (const size_t page : {pages / 4, pages / 2, pages / 2 + 1, pages * 3 / 4}) {
    std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(page * 1024), 1024, uint8_t{0x5a});
  }
  made.write(bytes);
  const auto file = opened(made.path());
  ASSERT_NE(file, nullptr);
  const std::vector<int64_t> got = integers(*file, "t", "v");
  EXPECT_GT(got.size(), 9'500U);
  EXPECT_EQ(std::set<int64_t>(got.begin(), got.end()).size(), got.size()) << "none twice";
  EXPECT_EQ(integers(*file, "t", "v"), got);
  EXPECT_EQ(file->damage().size(), 1U) << "said once";
}

TEST(SqliteFile, ACutOneKeepsWhatIsThere) {
  const TempFile made;
  makeLarge(made.path());
  const Bytes whole = made.bytes();
  size_t most = 0;
  for (size_t part = 1; part < 8; ++part) {
    const TempFile cut;
    cut.write(ByteView(whole).first(whole.size() * part / 8));
    const auto file = opened(cut.path());
    if (file == nullptr) continue;
    const std::vector<int64_t> got = integers(*file, "t", "v");
    most = std::max(most, got.size());
    EXPECT_LT(got.size(), 10'000U);
    EXPECT_FALSE(file->damage().empty()) << part;
  }
  EXPECT_GT(most, 5'000U);
}

TEST(SqliteFile, PagesInCirclesEnd) {
  const TempFile made;
  makeLarge(made.path());
  Bytes bytes = made.bytes();
  // Every child of every interior page of a table (type 5) is the first child of the root.
  const auto be32 = [&](size_t at) {
    return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 |
           uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
  };
  const auto put = [&](size_t at, uint32_t v) {
    for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<uint8_t>(v >> (24 - 8 * i));
  };
  uint32_t target = 0;
  size_t changed = 0;
  for (size_t page = 1; page < bytes.size() / 1024; ++page) {
    const size_t at = page * 1024;
    if (bytes[at] != 5) continue;
    const size_t cells = size_t{bytes[at + 3]} << 8 | bytes[at + 4];
    for (size_t c = 0; c < cells; ++c) {
      const size_t cell = at + (size_t{bytes[at + 12 + 2 * c]} << 8 | bytes[at + 13 + 2 * c]);
      if (target == 0) target = be32(cell);
      put(cell, target);
      ++changed;
    }
    put(at + 8, target);
  }
  ASSERT_GT(changed, 0U);
  made.write(bytes);
  const auto began = std::chrono::steady_clock::now();
  const auto file = opened(made.path());
  ASSERT_NE(file, nullptr);
  EXPECT_LE(integers(*file, "t", "v").size(), bytes.size() / 4);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(SqliteFile, TextThatGoesRoundInCirclesEnds) {
  const TempFile made;
  Database(made.path()).run(R"(PRAGMA page_size=1024; CREATE TABLE t (v TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
    INSERT INTO t SELECT hex(zeroblob(5000)) FROM n)");
  Bytes bytes = made.bytes();
  // The text of each row claims to be 16 MiB long, and its second page links back to its first.
  size_t changed = 0;
  for (size_t page = 1; page < bytes.size() / 1024; ++page) {
    const size_t at = page * 1024;
    if (bytes[at] != 13) continue;
    const size_t cells = size_t{bytes[at + 3]} << 8 | bytes[at + 4];
    for (size_t c = 0; c < cells; ++c) {
      const size_t cell = at + (size_t{bytes[at + 8 + 2 * c]} << 8 | bytes[at + 9 + 2 * c]);
      // Payload size in two bytes (10,003 or so), row id, header: size, type of the text.
      if (bytes[cell] < 0x80 || bytes[cell + 1] >= 0x80) continue;
      bytes[cell] = 0xff;
      bytes[cell + 1] = 0x7f;
      ++changed;
    }
  }
  for (size_t page = 1; page < bytes.size() / 1024; ++page) {
    const size_t at = page * 1024;
    if (bytes[at] != 0 || bytes[at + 1] != 0) continue;  // no overflow page
    for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<uint8_t>((page + 1) >> (24 - 8 * i));
  }
  ASSERT_GT(changed, 0U);
  made.write(bytes);
  const auto began = std::chrono::steady_clock::now();
  const auto file = opened(made.path());
  ASSERT_NE(file, nullptr);
  uint64_t read = 0;
  file->scan(*file->find("t"), [&](const SqliteRow& row) {
    read += row.bytes(0).size();
    return true;
  });
  EXPECT_LE(read, 7 * bytes.size() + (64u << 20));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(SqliteFile, PackedOnesAreUnpackedAndLeaveNothingBehind) {
  const TempFile folder("source.gz");
  const TempFile made;
  makeLarge(made.path());
  const std::string pack = "gzip -c '" + made.path() + "' > '" + folder.path() + "'";
  ASSERT_EQ(std::system(pack.c_str()), 0);
  setenv("TMPDIR", folder.dir().c_str(), 1);
  {
    const auto file = opened(folder.path());
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(file->bytes(), made.bytes().size());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.dir()), {}), 1)
        << "the unpacked file has no name any more";
    EXPECT_EQ(integers(*file, "t", "v").size(), 10'000U);
    EXPECT_THAT(file->damage(), IsEmpty());
  }
  // A truncated packed file.
  Bytes packed = folder.bytes();
  packed.resize(packed.size() * 3 / 4);
  folder.write(packed);
  const auto cut = opened(folder.path());
  ASSERT_NE(cut, nullptr);
  EXPECT_GT(integers(*cut, "t", "v").size(), 5'000U);
  EXPECT_FALSE(cut->damage().empty());
  unsetenv("TMPDIR");
}

TEST(SqliteFile, APackedOneThatClaimsMoreThanTheDiskHasIsRefused) {
  const TempFile made("bomb.gz");
  const TempFile small;
  makeLarge(small.path());
  Bytes bytes = small.bytes();
  bytes[28] = bytes[29] = bytes[30] = bytes[31] = 0xff;  // number of pages: 4 TiB
  small.write(bytes);
  const std::string pack = "gzip -c '" + small.path() + "' > '" + made.path() + "'";
  ASSERT_EQ(std::system(pack.c_str()), 0);
  const auto input = ImportInput::open(made.path());
  ASSERT_TRUE(input);
  const auto file = SqliteFile::open(*input);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNoSpace);
  EXPECT_THAT(file.error().message, HasSubstr("TMPDIR"));
}

TEST(SqliteFile, TextInUtf16AndTablesOfAThousandColumnsAreRead) {
  const TempFile made;
  std::string sql =
      "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (v TEXT); INSERT INTO t VALUES "
      "('Kernel \xc3\xa9'); CREATE TABLE wide (";
  for (int i = 0; i < 1000; ++i) sql += (i == 0 ? "c" : ", c") + std::to_string(i);
  sql += "); INSERT INTO wide (c999) VALUES (5)";
  Database(made.path()).run(sql);
  const auto file = opened(made.path());
  ASSERT_NE(file, nullptr);
  std::string text;
  file->scan(*file->find("t"), [&](const SqliteRow& row) {
    text = row.bytes(0);
    return true;
  });
  EXPECT_EQ(text, "Kernel \xc3\xa9");
  EXPECT_THAT(integers(*file, "wide", "c999"), ElementsAre(5));
}

TEST(SqliteFile, BrokenOnesNeverHangOrCrash) {
  const TempFile made;
  makeLarge(made.path());
  const Bytes whole = made.bytes();
  std::mt19937_64 random(7);
  for (int round = 0; round < 150; ++round) {
    Bytes bytes = whole;
    const size_t flips = 1 + random() % 40;
    for (size_t i = 0; i < flips; ++i) {
      // Mostly at the start of pages, where the structure is.
      const size_t page = random() % (bytes.size() / 1024);
      bytes[page * 1024 + (random() % 4 == 0 ? random() % 1024 : random() % 40)] =
          static_cast<uint8_t>(random());
    }
    const TempFile broken;
    broken.write(bytes);
    const auto file = opened(broken.path());
    if (file == nullptr) continue;
    for (const SqliteTable& table : file->tables()) {
      size_t rows = 0;
      file->scan(table, [&](const SqliteRow& row) {
        for (size_t c = 0; c < table.columns.size(); ++c) {
          (void)row.bytes(static_cast<int>(c));
          (void)row.integer(static_cast<int>(c));
        }
        ++rows;
        return true;
      });
      EXPECT_LE(rows, bytes.size() / 4 + 1);
    }
  }
}

TEST(SqliteFile, OthersAreRefused) {
  const TempFile made;
  made.write(asBytes("SQLite format 3, so to speak"));
  EXPECT_EQ(opened(made.path()), nullptr);
  std::string head("SQLite format 3\0", 16);
  head.resize(4096, '\xff');
  made.write(asBytes(head));
  EXPECT_EQ(opened(made.path()), nullptr);
}

}  // namespace
}  // namespace tracesmith::import
