// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/block_appender.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tracesmith/base/cancellation.hpp"
#include "tracesmith/base/clock.hpp"

namespace tracesmith::sbt {
namespace {

constexpr uint32_t kIndexBlockRows = 65536;
constexpr size_t kLargeDataBytes = 1u << 20;

std::array<uint8_t, 16> randomUuid() {
  std::array<uint8_t, 16> uuid{};
  if (getentropy(uuid.data(), uuid.size()) != 0) {
    // Without a random source, the two clocks still make the files distinct.
    const int64_t stamps[2] = {clockNs(CLOCK_REALTIME), monotonicNs()};
    std::memcpy(uuid.data(), stamps, sizeof(stamps));
  }
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);  // version 4 of RFC 4122
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

}  // namespace

Result<BlockAppender> BlockAppender::create(const std::string& path) {
  BlockAppender made;
  made.path_ = path;
  TS_TRY(made.file_, openForWriting(path, true));
  TS_CHECK_OK(truncateTo(made.file_, 0, path));
  FileHeader header;
  header.uuid = randomUuid();
  header.created_ns = clockNs(CLOCK_REALTIME);
  made.tag_ = header.tag();
  TS_CHECK_OK(writeAt(made.file_, 0, encodeFileHeader(header), path));
  made.at_.offset = kFileHeaderBytes;
  return made;
}

Result<BlockAppender> BlockAppender::resume(const std::string& path, uint64_t keep_until) {
  BlockAppender made;
  made.path_ = path;
  TS_TRY(made.file_, openForWriting(path, false));
  // Read the block headers, not the index, which may list more blocks than are kept.
  TS_TRY(const BlockLog log, BlockLog::open(path, false));
  if (!log.headerIntact()) {
    return fail(ErrorCode::kDamaged, "a trace with a damaged header cannot be continued", path);
  }
  made.tag_ = log.tag();
  made.at_.offset = log.header().header_bytes;
  std::vector<LogBlock> kept = log.blocks();
  kept.insert(kept.end(), log.foreignBlocks().begin(), log.foreignBlocks().end());
  std::sort(kept.begin(), kept.end(),
            [](const LogBlock& a, const LogBlock& b) { return a.offset < b.offset; });
  for (const LogBlock& block : kept) {
    if (block.end() > keep_until) break;
    made.index_.push_back(block);
    made.at_.offset = block.end();
    made.at_.sequence = block.header.sequence + 1;
    if (block.header.kind == BlockKind::kTable) {
      made.at_.rows[block.header.table] = block.header.first_row + block.header.rows;
    }
  }
  made.at_.index_size = made.index_.size();
  return made;
}

uint64_t BlockAppender::rows(uint16_t table) const {
  const auto it = at_.rows.find(table);
  return it == at_.rows.end() ? 0 : it->second;
}

Status BlockAppender::append(BlockHeader header, const BlockBuilder::Contents& contents) {
  TS_CHECK_OK(checkCancelled());
  header.sequence = at_.sequence;
  header.tag = tag_;
  // Use one write if that is cheap. For large data write the header and directory first: a reader
  // that sees only these treats the block as incomplete.
  const bool large = contents.data.size() >= kLargeDataBytes;
  const ByteView front = large
                             ? BlockBuilder::layOutFront(header, at_.offset, contents, block_bytes_)
                             : BlockBuilder::layOut(header, at_.offset, contents, block_bytes_);
  TS_CHECK_OK(writeAt(file_, at_.offset, front, path_));
  if (large) TS_CHECK_OK(writeAt(file_, at_.offset + front.size(), contents.data, path_));
  const uint64_t bytes = front.size() + (large ? contents.data.size() : 0);
  if (header.kind == BlockKind::kTable) {
    LogBlock entry;
    entry.offset = at_.offset;
    // Including the sizes just filled in.
    decodeBlockHeader(front.data(), at_.offset, entry.header);
    index_.push_back(entry);
    at_.index_size = index_.size();
    at_.rows[header.table] += entry.header.rows;
  }
  at_.offset += bytes;
  ++at_.sequence;
  return {};
}

void BlockAppender::rewind(const Position& to) {
  at_ = to;
  index_.resize(at_.index_size);
  // If even this fails, readers skip the torn block by its checksum.
  (void)cut();
}

Status BlockAppender::writeIndexAndEnd(BlockBuilder& builder, ByteView kernel_names) {
  BlockHeader end;
  end.kind = BlockKind::kEnd;
  end.first_row = at_.offset;
  std::vector<uint64_t> values;
  for (size_t begin = 0; begin < index_.size(); begin += kIndexBlockRows) {
    const size_t count = std::min<size_t>(kIndexBlockRows, index_.size() - begin);
    builder.begin(static_cast<uint32_t>(count), 0);
    auto add = [&](IndexColumn column, ElementType type, auto value) {
      values.clear();
      for (size_t i = begin; i < begin + count; ++i) {
        values.push_back(static_cast<uint64_t>(value(index_[i])));
      }
      builder.addWords(static_cast<uint16_t>(column), type, values);
    };
    using B = const LogBlock&;
    constexpr ElementType kU64 = ElementType::kU64;
    constexpr ElementType kI64 = ElementType::kI64;
    add(IndexColumn::kOffset, kU64, [](B b) { return b.offset; });
    add(IndexColumn::kBytes, kU64, [](B b) { return b.header.totalBytes(); });
    add(IndexColumn::kTable, kU64, [](B b) { return b.header.table; });
    add(IndexColumn::kRows, kU64, [](B b) { return b.header.rows; });
    add(IndexColumn::kFirstRow, kU64, [](B b) { return b.header.first_row; });
    add(IndexColumn::kSequence, kU64, [](B b) { return b.header.sequence; });
    add(IndexColumn::kMinTime, kI64, [](B b) { return b.header.min_time_ns; });
    add(IndexColumn::kMaxTime, kI64, [](B b) { return b.header.max_time_ns; });
    add(IndexColumn::kKind, kU64, [](B b) { return b.header.kind; });
    add(IndexColumn::kDirectoryBytes, kU64, [](B b) { return b.header.directory_bytes; });
    add(IndexColumn::kRequiredFlags, kU64, [](B b) { return b.header.required_flags; });
    if (begin == 0) builder.addBytes(kKernelNamesHint, kernel_names);
    BlockHeader header;
    header.kind = BlockKind::kIndex;
    TS_CHECK_OK(append(header, builder.contents()));
    ++end.rows;
  }
  for (const LogBlock& block : index_) {
    if (!block.header.hasTimes()) continue;
    end.min_time_ns = std::min(end.min_time_ns, block.header.min_time_ns);
    end.max_time_ns = std::max(end.max_time_ns, block.header.max_time_ns);
  }
  builder.begin(0, 0);
  TS_CHECK_OK(append(end, builder.contents()));
  return syncToDevice(file_, path_);
}

}  // namespace tracesmith::sbt
