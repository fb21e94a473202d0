// SPDX-License-Identifier: Apache-2.0
// Files that this version's writer never creates: from a later version, or malicious.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/format/blocks/block_builder.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

using sbt::BlockHeader;
using sbt::BlockKind;
using sbt::ColumnEntry;
using test::TempFile;
using testing::HasSubstr;

/// Builds a file by hand, with correct checksums, whatever the content claims.
class HandMadeFile {
 public:
  explicit HandMadeFile(sbt::FileHeader header = {}) : tag_(header.tag()) {
    const auto encoded = sbt::encodeFileHeader(header);
    bytes_.assign(encoded.begin(), encoded.end());
  }

  BlockHeader header(TableId table, uint64_t first_row = 0) {
    BlockHeader h;
    h.table = static_cast<uint16_t>(table);
    h.first_row = first_row;
    h.sequence = sequence_++;
    h.tag = tag_;
    return h;
  }

  /// A block with one column of words, encoded as this version does.
  void addColumn(BlockHeader h, uint16_t column, std::vector<uint64_t> words) {
    builder_.begin(static_cast<uint32_t>(words.size()), h.table);
    builder_.addWords(column, sbt::ElementType::kU64, words);
    append(h);
  }

  /// A block with arbitrary directory and data.
  void addRaw(BlockHeader h, const std::vector<ColumnEntry>& entries, ByteView data) {
    Bytes directory(entries.size() * sbt::kColumnEntryBytes);
    size_t at = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      ColumnEntry entry = entries[i];
      if (entry.checksum == 0) entry.checksum = hash64(data.subspan(at, entry.stored_bytes));
      at += entry.stored_bytes;
      sbt::encodeColumnEntry(entry, directory.data() + i * sbt::kColumnEntryBytes);
    }
    h.directory_bytes = static_cast<uint32_t>(directory.size());
    h.data_bytes = data.size();
    h.directory_checksum = hash64(directory);
    Bytes block(sbt::kBlockHeaderBytes);
    sbt::encodeBlockHeader(h, bytes_.size(), block.data());
    block.insert(block.end(), directory.begin(), directory.end());
    block.insert(block.end(), data.begin(), data.end());
    bytes_.insert(bytes_.end(), block.begin(), block.end());
  }

  /// A block with one row of each column.
  void addRow(BlockHeader h, const std::vector<std::pair<uint16_t, uint64_t>>& columns) {
    builder_.begin(1, h.table);
    for (const auto& [number, word] : columns) {
      builder_.addWords(number, sbt::ElementType::kU64, {&word, 1});
    }
    append(h);
  }

  /// Writes index and end marker; all blocks so far must come from addColumn() or addRow().
  void finish(uint8_t index_flags = 0) {
    BlockHeader end = header(static_cast<TableId>(0));
    end.sequence += 1;
    end.kind = BlockKind::kEnd;
    end.first_row = bytes_.size();
    end.rows = 1;
    BlockHeader index = header(static_cast<TableId>(0));
    index.sequence -= 1;
    index.kind = BlockKind::kIndex;
    index.required_flags = index_flags;
    builder_.begin(static_cast<uint32_t>(index_.size()), 0);
    using sbt::IndexColumn;
    auto add = [&](IndexColumn column, auto value) {
      std::vector<uint64_t> words;
      for (const auto& [offset, h] : index_) words.push_back(value(offset, h));
      builder_.addWords(static_cast<uint16_t>(column), sbt::ElementType::kU64, words);
    };
    using H = const BlockHeader&;
    add(IndexColumn::kOffset, [](uint64_t offset, H) { return offset; });
    add(IndexColumn::kBytes, [](uint64_t, H h) { return h.totalBytes(); });
    add(IndexColumn::kTable, [](uint64_t, H h) { return h.table; });
    add(IndexColumn::kRows, [](uint64_t, H h) { return h.rows; });
    add(IndexColumn::kFirstRow, [](uint64_t, H h) { return h.first_row; });
    add(IndexColumn::kSequence, [](uint64_t, H h) { return h.sequence; });
    add(IndexColumn::kMinTime, [](uint64_t, H h) { return h.min_time_ns; });
    add(IndexColumn::kMaxTime, [](uint64_t, H h) { return h.max_time_ns; });
    add(IndexColumn::kKind, [](uint64_t, H h) { return static_cast<uint64_t>(h.kind); });
    add(IndexColumn::kDirectoryBytes, [](uint64_t, H h) { return h.directory_bytes; });
    add(IndexColumn::kRequiredFlags, [](uint64_t, H h) { return h.required_flags; });
    append(index);
    addRaw(end, {}, {});
  }

  Bytes& bytes() { return bytes_; }
  /// The index entry of a block, to be changed.
  BlockHeader& indexed(size_t block) { return index_[block].second; }

  Result<TraceReader> open() {
    file_.write(bytes_);
    return TraceReader::open(file_.path());
  }

 private:
  void append(const BlockHeader& h) {
    const ByteView block = builder_.finish(h, bytes_.size());
    BlockHeader written;
    EXPECT_TRUE(sbt::decodeBlockHeader(block.data(), bytes_.size(), written));
    index_.emplace_back(bytes_.size(), written);
    bytes_.insert(bytes_.end(), block.begin(), block.end());
  }

  TempFile file_;
  Bytes bytes_;
  std::vector<std::pair<uint64_t, BlockHeader>> index_;
  uint64_t tag_;
  uint64_t sequence_ = 0;
  sbt::BlockBuilder builder_{1};
};

constexpr uint16_t kKernelStart = 1;
constexpr uint16_t kKernelName = 3;

TEST(SbtCompatibility, ALaterMinorVersionIsRead) {
  sbt::FileHeader header;
  header.version_minor = 9;
  HandMadeFile file(header);
  file.addColumn(file.header(TableId::kKernel), kKernelStart, {10, 20});
  auto reader = file.open();
  ASSERT_TRUE(reader) << reader.error().toString();
  EXPECT_EQ(reader->versionMinor(), 9);
  EXPECT_EQ(reader->read()->kernel.start_ns, (std::vector<int64_t>{10, 20}));
}

TEST(SbtCompatibility, AHeaderThatHasGrownIsSteppedOver) {
  sbt::FileHeader header;
  header.version_minor = 1;
  header.header_bytes = 128;
  HandMadeFile file(header);
  file.bytes().resize(128);
  file.addColumn(file.header(TableId::kKernel), kKernelStart, {10});
  auto reader = file.open();
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->losses().empty());
  EXPECT_EQ(reader->read()->kernel.size(), 1u);
}

TEST(SbtCompatibility, UnknownBlocksTablesAndColumnsArePassedOverAndNamedAsNewer) {
  HandMadeFile file;
  BlockHeader kind = file.header(TableId::kKernel);
  kind.kind = static_cast<BlockKind>(77);
  file.addRaw(kind, {}, Bytes(100, 1));
  file.addColumn(file.header(static_cast<TableId>(900)), 1, {1, 2, 3});
  file.addColumn(file.header(TableId::kKernel), kKernelStart, {10});
  file.addColumn(file.header(TableId::kKernel, 1), 555, {20});
  BlockHeader feature = file.header(TableId::kKernel, 2);
  feature.required_flags = 4;
  file.addColumn(feature, kKernelStart, {30});
  file.addColumn(file.header(TableId::kKernel, 3), kKernelStart, {40});
  auto reader = file.open();
  ASSERT_TRUE(reader);
  auto trace = reader->read();
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->kernel.start_ns, (std::vector<int64_t>{10, 0, 40}));
  EXPECT_TRUE(reader->losses().empty()) << reader->losses()[0].reason;
  std::string all;
  for (const DataLoss& s : reader->skipped()) all += s.reason + "\n";
  EXPECT_THAT(all, HasSubstr("kind 77"));
  EXPECT_THAT(all, HasSubstr("table 900"));
  EXPECT_THAT(all, HasSubstr("column 555"));
  EXPECT_THAT(all, HasSubstr("needs a feature"));
}

ColumnEntry entryOf(uint16_t column, uint32_t bytes) {
  ColumnEntry entry;
  entry.column = column;
  entry.encoding = 3;
  entry.encoded_bytes = entry.stored_bytes = bytes;
  return entry;
}

TEST(SbtCompatibility, AnUnknownEncodingLeavesReferencesEmptyButNeverInventsATime) {
  for (const char* what : {"encoding", "compression", "element type"}) {
    for (uint16_t column : {kKernelStart, kKernelName}) {
      HandMadeFile file;
      ColumnEntry entry = entryOf(column, 2);
      if (*what == 'e' && what[1] == 'n') entry.encoding = 99;
      if (*what == 'c') entry.compression = static_cast<sbt::Compression>(9);
      if (*what == 'e' && what[1] == 'l') entry.type = static_cast<sbt::ElementType>(50);
      BlockHeader h = file.header(TableId::kKernel);
      h.rows = 2;
      file.addRaw(h, {entry}, Bytes{1, 2});
      auto reader = file.open();
      ASSERT_TRUE(reader);
      auto trace = reader->read();
      ASSERT_TRUE(trace);
      EXPECT_EQ(trace->kernel.size(), column == kKernelName ? 2u : 0u) << what;
      EXPECT_TRUE(reader->losses().empty());
      ASSERT_EQ(reader->skipped().size(), 1u);
      EXPECT_THAT(reader->skipped()[0].reason, HasSubstr(what));
      EXPECT_THAT(reader->skipped()[0].reason, HasSubstr("unknown to this version"));
    }
  }
}

TEST(SbtCompatibility, AHintColumnIsPassedOverWithoutAWord) {
  HandMadeFile file;
  file.addRow(file.header(TableId::kKernel), {{kKernelStart, 10}, {sbt::kFirstHintColumn + 5, 99}});
  auto reader = file.open();
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->read()->kernel.start_ns, (std::vector<int64_t>{10}));
  EXPECT_TRUE(reader->losses().empty());
  EXPECT_TRUE(reader->skipped().empty());
}

TEST(SbtCompatibility, ABlockThatNeedsALaterFeatureIsPassedOverAlsoWhenFoundByTheIndex) {
  HandMadeFile file;
  file.addColumn(file.header(TableId::kKernel), kKernelStart, {10});
  BlockHeader feature = file.header(TableId::kKernel, 1);
  feature.required_flags = 0x80;
  file.addColumn(feature, kKernelStart, {20});
  file.addColumn(file.header(TableId::kKernel, 2), kKernelStart, {30});
  file.finish();
  auto reader = file.open();
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->complete());
  EXPECT_TRUE(reader->losses().empty()) << reader->losses()[0].reason;
  EXPECT_EQ(reader->read()->kernel.start_ns, (std::vector<int64_t>{10, 30}));
  ASSERT_EQ(reader->skipped().size(), 1u);
  EXPECT_THAT(reader->skipped()[0].reason, HasSubstr("needs a feature"));
}

TEST(SbtCompatibility, AnIndexThatNeedsALaterFeatureIsNotUsed) {
  HandMadeFile file;
  file.addColumn(file.header(TableId::kKernel), kKernelStart, {10});
  file.finish(0x01);
  auto reader = file.open();
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->read()->kernel.size(), 1u);
  EXPECT_TRUE(reader->complete());
  EXPECT_TRUE(reader->losses().empty()) << reader->losses()[0].reason;
  ASSERT_EQ(reader->skipped().size(), 1u);
}

TEST(SbtCompatibility, MoreThanFourBillionBlocksCanBeCounted) {
  BlockHeader header;
  header.sequence = (uint64_t{5} << 32) + 7;
  header.rows = 9;
  Bytes bytes(sbt::kBlockHeaderBytes);
  sbt::encodeBlockHeader(header, 64, bytes.data());
  BlockHeader read;
  ASSERT_TRUE(sbt::decodeBlockHeader(bytes.data(), 64, read));
  EXPECT_EQ(read.sequence, header.sequence);
  EXPECT_EQ(read.rows, 9u);
}

TEST(SbtCompatibility, ABlockOfAnotherFileIsNotTakenForOneOfThis) {
  sbt::FileHeader other;
  other.uuid[0] = 1;
  HandMadeFile theirs(other);
  theirs.addColumn(theirs.header(TableId::kKernel), kKernelStart, {666});
  HandMadeFile ours;
  // A file system may do this after a crash: old bytes at the same offset of a new file.
  ours.bytes().insert(ours.bytes().end(), theirs.bytes().begin() + sbt::kFileHeaderBytes,
                      theirs.bytes().end());
  auto reader = ours.open();
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->read()->kernel.empty());
  EXPECT_FALSE(reader->losses().empty());
}

TEST(SbtCompatibility, ABlockInTheWrongPlaceIsNotTaken) {
  HandMadeFile file;
  file.addColumn(file.header(TableId::kKernel), kKernelStart, {10});
  const Bytes block(file.bytes().begin() + sbt::kFileHeaderBytes, file.bytes().end());
  file.bytes().insert(file.bytes().end(), block.begin(), block.end());
  auto reader = file.open();
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->read()->kernel.size(), 1u);
  EXPECT_FALSE(reader->losses().empty());
}

/// Opens and reads the file; must return within two seconds of processor time, with little memory.
Trace readQuickly(HandMadeFile& file, bool expect_loss = true) {
  const int64_t begin = clockNs(CLOCK_THREAD_CPUTIME_ID);
  auto reader = file.open();
  EXPECT_TRUE(reader);
  if (!reader) return {};
  auto trace = reader->read({.max_memory_bytes = 64u << 20});
  EXPECT_LT(clockNs(CLOCK_THREAD_CPUTIME_ID) - begin, 2'000'000'000);
  EXPECT_EQ(expect_loss, !reader->losses().empty() || reader->cutBytes() != 0 || !trace);
  return trace ? std::move(*trace) : Trace{};
}

TEST(SbtHostileFile, AbsurdSizesInColumnsAreDamageNotMemory) {
  for (uint32_t claimed : {0xffffffffu, 0x80000000u, 65u << 20, 3u}) {
    HandMadeFile file;
    BlockHeader h = file.header(TableId::kKernel);
    h.rows = 1;
    ColumnEntry entry = entryOf(kKernelStart, 2);
    entry.encoded_bytes = claimed;
    file.addRaw(h, {entry}, Bytes{1, 2});
    EXPECT_TRUE(readQuickly(file).kernel.empty());
  }
  for (uint32_t claimed : {0xffffffffu, 0x80000000u, 3u}) {
    HandMadeFile file;
    BlockHeader h = file.header(TableId::kKernel);
    h.rows = 1;
    ColumnEntry entry = entryOf(kKernelStart, 2);
    entry.stored_bytes = entry.encoded_bytes = claimed;
    entry.checksum = 1;
    file.addRaw(h, {entry}, {});
    EXPECT_TRUE(readQuickly(file).kernel.empty());
  }
}

TEST(SbtHostileFile, MoreRowsThanABlockMayHaveAreNotBelieved) {
  HandMadeFile file;
  BlockHeader h = file.header(TableId::kKernel);
  h.rows = sbt::kMaxBlockRows + 1;
  file.addRaw(h, {}, {});
  EXPECT_TRUE(readQuickly(file).kernel.empty());
}

TEST(SbtHostileFile, AZstdBombIsHeldAgainstTheRowsItMayFill) {
  HandMadeFile file;
  const Bytes zeros(size_t{32} << 20, 0);
  Bytes bomb(ZSTD_compressBound(zeros.size()));
  bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), zeros.data(), zeros.size(), 1));
  BlockHeader h = file.header(TableId::kKernel);
  h.rows = 10;
  ColumnEntry entry = entryOf(kKernelStart, static_cast<uint32_t>(bomb.size()));
  entry.compression = sbt::Compression::kZstd;
  entry.encoded_bytes = static_cast<uint32_t>(zeros.size());
  file.addRaw(h, {entry}, bomb);
  entry.encoded_bytes = 20;  // an entry that claims fewer bytes than it unpacks to
  h = file.header(TableId::kKernel, 10);
  h.rows = 10;
  file.addRaw(h, {entry}, bomb);
  EXPECT_TRUE(readQuickly(file).kernel.empty());
}

TEST(SbtHostileFile, ManyRowsOfNothingAreRefusedBeforeTheyTakeTheMemory) {
  HandMadeFile file;
  for (uint64_t i = 0; i < 4'000; ++i) {
    BlockHeader h = file.header(TableId::kKernel, i * sbt::kMaxBlockRows);
    h.rows = sbt::kMaxBlockRows;
    file.addRaw(h, {}, {});
  }
  EXPECT_TRUE(readQuickly(file).kernel.empty());
}

TEST(SbtHostileFile, ImpossibleFirstRowsAndNumbersAreNotBelieved) {
  HandMadeFile file;
  file.addColumn(file.header(TableId::kLaunchShape, uint64_t{1} << 61), 2, {1});
  file.addColumn(file.header(TableId::kLaunchShape, 1), 2, {1});
  BlockHeader h = file.header(TableId::kLaunchShape, 0);
  h.sequence = 0xfffffff0u;  // as if four billion blocks had been lost
  file.addColumn(h, 2, {1});
  const Trace trace = readQuickly(file);
  EXPECT_LT(trace.launch_shape.size(), 2u);
}

TEST(SbtHostileFile, StringsThatLostBlocksMayHaveHadAreRefusedBeforeTheyTakeTheMemory) {
  HandMadeFile file;
  // Damage large enough to have been many blocks.
  file.bytes().resize(file.bytes().size() + (1 << 20));
  BlockHeader h = file.header(TableId::kString, uint64_t{1} << 32);
  h.sequence = 10'000;
  file.addColumn(h, 1, {0});
  auto reader = file.open();
  ASSERT_TRUE(reader);
  Trace trace;
  ASSERT_EQ(reader->blocks().size(), 1u);
  EXPECT_FALSE(reader->readBlock(0, trace));
  const auto read = reader->read();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kNoSpace);
}

TEST(SbtHostileFile, AnIdThatNoRowLedToMakesNoRowsAndIsNamed) {
  HandMadeFile file;
  file.addColumn(file.header(TableId::kDevice), 1, {0xffffffffu, 1, 0, 2});
  const Trace trace = readQuickly(file, true);
  EXPECT_EQ(trace.device.size(), 2u);
}

TEST(SbtHostileFile, LostBlocksDoNotJustifyFourBillionIds) {
  HandMadeFile file;
  // Damage large enough to have been many blocks.
  file.bytes().resize(file.bytes().size() + (1 << 20));
  BlockHeader h = file.header(TableId::kDevice, uint64_t{1} << 32);
  h.sequence = 10'000;
  file.addColumn(h, 1, {0xffffffffu});
  EXPECT_TRUE(readQuickly(file).device.empty());
}

TEST(SbtHostileFile, ADictionaryBlockThatIsPassedOverDoesNotJustifyTheRowsItClaims) {
  for (uint64_t first_row : {uint64_t{0}, uint64_t{1} << 40, uint64_t{1} << 61}) {
    HandMadeFile file;
    BlockHeader feature = file.header(TableId::kFrame, first_row);
    feature.required_flags = 1;
    file.addColumn(feature, 1, {1, 2});
    file.addColumn(file.header(TableId::kFrame, first_row + 2), 1, {7});
    const Trace trace = readQuickly(file, first_row != 0);
    EXPECT_LE(trace.frame.size(), 3u);
  }
}

TEST(SbtHostileFile, LengthsBeyondTheirTextAreDamageAndTheIdsHold) {
  HandMadeFile file;
  BlockHeader h = file.header(TableId::kString);
  h.rows = 2;
  ColumnEntry lengths = entryOf(1, 2);
  ColumnEntry text = entryOf(2, 3);
  text.type = sbt::ElementType::kBytes;
  text.encoding = 1;
  file.addRaw(h, {lengths, text}, Bytes{2, 100, 'a', 'b', 'c'});
  h = file.header(TableId::kString, 2);
  h.rows = 1;
  file.addRaw(h, {entryOf(1, 1), text}, Bytes{3, 'x', 'y', 'z'});
  const Trace trace = readQuickly(file);
  ASSERT_EQ(trace.strings.size(), 3u);
  EXPECT_EQ(trace.text(idAt<StringId>(0)), "");
  EXPECT_EQ(trace.text(idAt<StringId>(2)), "xyz");
}

/// Processor time of opening and reading a file of so many bytes that all are marks of blocks.
int64_t searchNs(size_t file_bytes) {
  HandMadeFile file;
  Bytes& bytes = file.bytes();
  const size_t begin = bytes.size();
  bytes.resize(file_bytes);
  for (size_t i = begin; i + 4 <= bytes.size(); i += 4) memcpy(&bytes[i], sbt::kSync.data(), 4);
  const int64_t begin_ns = clockNs(CLOCK_THREAD_CPUTIME_ID);
  auto reader = file.open();
  EXPECT_TRUE(reader);
  if (reader) {
    EXPECT_TRUE(reader->read()->kernel.empty());
    EXPECT_NE(reader->cutBytes() + reader->losses().size(), 0u);
  }
  return clockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

TEST(SbtHostileFile, AFileFullOfMarkersIsSearchedInTimeThatGrowsWithItsSizeAlone) {
  int64_t small_ns = INT64_MAX, large_ns = INT64_MAX;
  for (int i = 0; i < 3; ++i) {
    small_ns = std::min(small_ns, searchNs(1u << 20));
    large_ns = std::min(large_ns, searchNs(16u << 20));
  }
  // 16 times as many marks; a search that starts anew at each mark would take 256 times as long.
  EXPECT_LT(large_ns, 64 * small_ns);
}

TEST(SbtHostileFile, AnIndexThatDisagreesWithItsBlocksIsNotBelieved) {
  for (int32_t shift : {-24, 24, 48}) {  // found by fuzzing: a read beyond the directory
    HandMadeFile file;
    std::vector<uint64_t> words(500);
    for (size_t i = 0; i < words.size(); ++i) words[i] = i * i % 1009;
    file.addColumn(file.header(TableId::kKernel), kKernelStart, words);
    file.addColumn(file.header(TableId::kKernel, 500), kKernelStart, {10, 20});
    file.indexed(0).directory_bytes += static_cast<uint32_t>(shift);
    file.indexed(0).data_bytes -= static_cast<uint64_t>(shift);
    file.finish();
    auto reader = file.open();
    ASSERT_TRUE(reader);
    ASSERT_EQ(reader->blocks().size(), 2u);
    EXPECT_TRUE(reader->columnsOf(0).empty()) << "what the block says of itself differs";
    auto trace = reader->read();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->kernel.start_ns, (std::vector<int64_t>{10, 20}));
    EXPECT_FALSE(reader->losses().empty());
  }
}

TEST(SbtHostileFile, AnIndexThatLiesIsNotFollowed) {
  HandMadeFile file;
  file.addColumn(file.header(TableId::kKernel), kKernelStart, {10, 20});
  const uint64_t index_at = file.bytes().size();
  BlockHeader index = file.header(static_cast<TableId>(0));
  index.kind = BlockKind::kIndex;
  file.addColumn(index, static_cast<uint16_t>(sbt::IndexColumn::kOffset), {0xffffffffffff});
  BlockHeader end = file.header(static_cast<TableId>(0));
  end.kind = BlockKind::kEnd;
  end.first_row = index_at;
  end.rows = 1;
  file.addRaw(end, {}, {});
  auto reader = file.open();
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->read()->kernel.size(), 2u);
  EXPECT_TRUE(reader->complete());
}

}  // namespace
}  // namespace tracesmith
