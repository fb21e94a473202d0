// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/block_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tracesmith/format/blocks/table_traits.hpp"
#include "tracesmith/format/name_set.hpp"

namespace tracesmith::sbt {
namespace {

/// Bytes read at once when searching for the next block after damage.
constexpr size_t kSearchBytes = 1 << 20;

std::string blocksLost(uint64_t count) {
  return count == 1 ? std::string("1 block lost") : fmt::format("{} blocks lost", count);
}

/// The columns of one block of the index.
class IndexColumns {
 public:
  bool read(BlockContents& contents, size_t rows) {
    for (uint16_t column = 1; column <= kColumns; ++column) {
      columns_[column].assign(rows, 0);
      const ColumnEntry* entry = contents.find(column);
      if (entry != nullptr && contents.words(*entry, columns_[column])) return false;
    }
    return true;
  }

  /// Builds a block from entry `row`; false if a file of this size cannot have such a block.
  bool makeBlock(size_t row, uint64_t file_bytes, LogBlock& out) const {
    out.offset = value(IndexColumn::kOffset, row);
    const uint64_t bytes = value(IndexColumn::kBytes, row);
    const uint64_t directory = value(IndexColumn::kDirectoryBytes, row);
    const uint64_t rows = value(IndexColumn::kRows, row);
    if (bytes > file_bytes || directory > kMaxDirectoryBytes ||
        bytes < kBlockHeaderBytes + directory || rows > kMaxBlockRows ||
        value(IndexColumn::kKind, row) > 0xff || value(IndexColumn::kTable, row) > 0xffff ||
        value(IndexColumn::kRequiredFlags, row) > 0xff) {
      return false;
    }
    out.header.directory_bytes = static_cast<uint32_t>(directory);
    out.header.data_bytes = bytes - kBlockHeaderBytes - directory;
    out.header.kind = static_cast<BlockKind>(value(IndexColumn::kKind, row));
    out.header.table = static_cast<uint16_t>(value(IndexColumn::kTable, row));
    out.header.required_flags = static_cast<uint8_t>(value(IndexColumn::kRequiredFlags, row));
    out.header.rows = static_cast<uint32_t>(rows);
    out.header.first_row = value(IndexColumn::kFirstRow, row);
    out.header.sequence = value(IndexColumn::kSequence, row);
    out.header.min_time_ns = static_cast<int64_t>(value(IndexColumn::kMinTime, row));
    out.header.max_time_ns = static_cast<int64_t>(value(IndexColumn::kMaxTime, row));
    return true;
  }

 private:
  static constexpr size_t kColumns = static_cast<size_t>(IndexColumn::kRequiredFlags);
  uint64_t value(IndexColumn column, size_t row) const {
    return columns_[static_cast<size_t>(column)][row];
  }
  std::array<std::vector<uint64_t>, kColumns + 1> columns_;
};

}  // namespace

Result<BlockLog> BlockLog::open(const std::string& path, bool use_index) {
  BlockLog log;
  log.path_ = path;
  TS_TRY(log.file_, openForReading(path));
  TS_TRY(log.size_, sbt::fileSize(log.file_, path));
  std::array<uint8_t, 512> beginning;
  TS_TRY(const size_t read, readAt(log.file_, 0, beginning, path));
  auto check = checkFileHeader(ByteView(beginning).first(read));
  if (!check) {
    Error error = std::move(check).error();
    error.where = path;
    return tl::unexpected<Error>(std::move(error));
  }
  log.header_ = check->header;
  log.header_intact_ = check->intact;
  if (check->intact) {
    log.tag_ = log.header_.tag();
    log.tag_known_ = true;
  } else {
    log.header_losses_.push_back({0, kFileHeaderBytes, check->problem});
    log.header_.header_bytes = kFileHeaderBytes;
  }
  log.reset();
  if (!use_index || !log.loadIndex()) {
    log.scan();
    // Only the index was lost. Report it anyway: damage rarely comes alone.
    if (use_index && log.complete_ && !log.index_is_newer_ && log.losses_.empty() &&
        log.tail_loss_.empty()) {
      log.lose(log.end_offset_, 0, "the index is damaged; every block was found without it");
    }
  }
  if (!log.header_intact_ && log.blocks_.empty()) {
    if (log.header_.version_major > kVersionMajor) {
      return fail(ErrorCode::kTooNew,
                  fmt::format("the header names format version {}.{} (this program reads up to "
                              "{}.x), but its checksum does not hold and no block is readable",
                              log.header_.version_major, log.header_.version_minor, kVersionMajor),
                  path);
    }
    return fail(ErrorCode::kDamaged, check->problem + ", and no block is readable", path);
  }
  return log;
}

void BlockLog::reset() {
  position_ = header_.header_bytes;
  complete_ = false;
  index_is_newer_ = false;
  cut_bytes_ = 0;
  next_sequence_ = 0;
  missing_blocks_ = 0;
  misplaced_blocks_ = 0;
  rows_.clear();
  blocks_.clear();
  foreign_.clear();
  kernel_names_.reset();
  losses_.clear();
  tail_loss_.clear();
  skipped_.clear();
  damaged_bytes_ = 0;
}

void BlockLog::lose(uint64_t offset, uint64_t bytes, std::string reason) {
  damaged_bytes_ += bytes;
  losses_.push_back({offset, bytes, std::move(reason)});
}

std::vector<DataLoss> BlockLog::losses() const {
  std::vector<DataLoss> all = header_losses_;
  all.insert(all.end(), losses_.begin(), losses_.end());
  all.insert(all.end(), tail_loss_.begin(), tail_loss_.end());
  return all;
}

bool BlockLog::readHeader(uint64_t offset, BlockHeader& header) {
  std::array<uint8_t, kBlockHeaderBytes> bytes;
  auto read = readAt(file_, offset, bytes, path_);
  if (!read || *read != bytes.size() || !decodeBlockHeader(bytes.data(), offset, header)) {
    return false;
  }
  return !tag_known_ || header.tag == tag_;
}

void BlockLog::accept(uint64_t offset, const BlockHeader& header) {
  if (!tag_known_) {
    tag_known_ = true;
    tag_ = header.tag;
  }
  const uint64_t bytes = header.totalBytes();
  if (header.sequence < next_sequence_) {
    lose(offset, bytes, "a misplaced block was skipped");
    return;
  }
  const uint64_t missing = header.sequence - next_sequence_;
  // No more blocks can be missing than there is room for headers in the damaged bytes.
  if (missing_blocks_ + misplaced_blocks_ + missing > damaged_bytes_ / kBlockHeaderBytes) {
    lose(offset, bytes, "a block with an impossible number was skipped");
    return;
  }
  missing_blocks_ += missing;
  next_sequence_ = header.sequence + 1;
  if (missing != 0) {
    // If the range before this block is damaged, the loss was already reported; now its size is
    // known.
    if (!losses_.empty() && losses_.back().offset + losses_.back().bytes == offset) {
      losses_.back().reason += " (" + blocksLost(missing) + ")";
    } else {
      losses_.push_back({offset, 0, blocksLost(missing)});
    }
  }
  switch (header.kind) {
    case BlockKind::kIndex:
    case BlockKind::kEnd:
      if (header.kind == BlockKind::kEnd) {
        complete_ = true;
        end_offset_ = offset;
      }
      if (header.required_flags != 0) {
        index_is_newer_ = true;
        skipped_.push_back({offset, bytes, "the index needs a feature of a newer version"});
      }
      return;
    case BlockKind::kTable:
      break;
    default:
      foreign_.push_back({offset, header});
      skipped_.push_back({offset, bytes,
                          fmt::format("a block of kind {} was written by a newer version",
                                      static_cast<int>(header.kind))});
      return;
  }
  uint64_t& rows = rows_[header.table];
  // No more rows can be missing than the missing blocks could hold.
  if (header.first_row < rows || header.first_row - rows > missing_blocks_ * kMaxBlockRows) {
    ++misplaced_blocks_;
    lose(offset, bytes, "a block claims an impossible row number");
    return;
  }
  if (header.first_row > rows) {
    losses_.push_back({offset, 0,
                       fmt::format("{} rows of table {} were lost before this block",
                                   header.first_row - rows, tableName(header.table))});
  }
  rows = header.first_row + header.rows;
  if (header.required_flags != 0) {
    foreign_.push_back({offset, header});
    skipped_.push_back({offset, bytes, "a block needs a feature of a newer version"});
    return;
  }
  blocks_.push_back({offset, header});
}

uint64_t BlockLog::findNext(uint64_t from) {
  Bytes chunk(static_cast<size_t>(std::min<uint64_t>(kSearchBytes, size_ - from)));
  while (from + kBlockHeaderBytes <= size_) {
    auto read = readAt(file_, from, chunk, path_);
    if (!read || *read < kBlockHeaderBytes) break;
    // Examine only headers that are completely in this chunk, and compare the tag before the
    // checksum: a file full of markers must not take long.
    const uint8_t* p = chunk.data();
    const uint8_t* const last = p + *read - kBlockHeaderBytes;
    while (p <= last) {
      p = static_cast<const uint8_t*>(std::memchr(p, kSync[0], static_cast<size_t>(last - p) + 1));
      if (p == nullptr) break;
      const uint64_t offset = from + static_cast<uint64_t>(p - chunk.data());
      BlockHeader header;
      const bool ours = !tag_known_ || loadFixed<uint64_t>(p + kTagOffset) == tag_;
      if (ours && decodeBlockHeader(p, offset, header)) return offset;
      ++p;
    }
    from += *read - (kBlockHeaderBytes - 1);
  }
  return size_;
}

void BlockLog::scan() {
  cut_bytes_ = 0;
  tail_loss_.clear();
  while (position_ < size_) {
    BlockHeader header;
    if (readHeader(position_, header)) {
      if (header.totalBytes() > size_ - position_) {
        cut_bytes_ = size_ - position_;
        return;
      }
      accept(position_, header);
      position_ += header.totalBytes();
      continue;
    }
    const uint64_t left = size_ - position_;
    std::array<uint8_t, kSync.size()> mark{};
    auto read = readAt(file_, position_, mark, path_);
    if (left < kBlockHeaderBytes && read &&
        std::equal(mark.begin(), mark.begin() + *read, kSync.begin())) {
      cut_bytes_ = left;  // the start of a header
      return;
    }
    const uint64_t next = findNext(position_ + 1);
    if (next == size_) {
      tail_loss_.push_back({position_, left, "the bytes at the end are not a block"});
      return;
    }
    lose(position_, next - position_, "damaged bytes were skipped");
    position_ = next;
  }
}

bool BlockLog::loadIndex() {
  if (size_ < header_.header_bytes + kBlockHeaderBytes) return false;
  const uint64_t end_offset = size_ - kBlockHeaderBytes;
  BlockHeader end;
  if (!readHeader(end_offset, end) || end.kind != BlockKind::kEnd || end.directory_bytes != 0 ||
      end.data_bytes != 0 || end.required_flags != 0) {
    return false;
  }
  std::vector<LogBlock> found;
  if (!readIndex(end, end_offset, found)) {
    kernel_names_.reset();
    return false;
  }

  uint64_t previous = header_.header_bytes;
  for (const LogBlock& block : found) {
    if (block.offset > previous) {
      lose(previous, block.offset - previous, "damaged bytes were skipped");
    }
    accept(block.offset, block.header);
    previous = block.end();
  }
  next_sequence_ = end.sequence + 1;
  complete_ = true;
  position_ = size_;
  return true;
}

void BlockLog::readKernelNames(BlockContents& index) {
  kernel_names_.reset();
  const ColumnEntry* const entry = index.find(kKernelNamesHint);
  ByteView bytes;
  std::vector<StringId> names;
  if (entry == nullptr || entry->encoded_bytes > kMostKernelNamesBytes ||
      index.bytes(*entry, bytes) || !decodeNames(bytes, names)) {
    return;
  }
  kernel_names_ = std::move(names);
}

bool BlockLog::readIndex(const BlockHeader& end, uint64_t end_offset,
                         std::vector<LogBlock>& found) {
  BlockContents contents;
  IndexColumns columns;
  uint64_t at = end.first_row;
  for (uint32_t i = 0; i < end.rows; ++i) {
    BlockHeader header;
    if (at < header_.header_bytes || at >= end_offset || !readHeader(at, header) ||
        header.kind != BlockKind::kIndex || header.required_flags != 0 ||
        header.totalBytes() > end_offset - at) {
      return false;
    }
    if (contents.load(file_, path_, at, header)) return false;
    // Each entry describes a block of at least the size of a header.
    if (found.size() + header.rows > size_ / kBlockHeaderBytes) return false;
    if (!columns.read(contents, header.rows)) return false;
    if (i == 0) readKernelNames(contents);
    for (size_t row = 0; row < header.rows; ++row) {
      LogBlock block;
      if (!columns.makeBlock(row, size_, block)) return false;
      block.header.tag = end.tag;
      const uint64_t previous = found.empty() ? header_.header_bytes : found.back().end();
      if (block.offset < previous || block.offset > end.first_row ||
          block.header.totalBytes() > end.first_row - block.offset) {
        return false;
      }
      found.push_back(block);
    }
    at += header.totalBytes();
  }
  return at == end_offset;
}

Result<size_t> BlockLog::refresh() {
  TS_TRY(const uint64_t size, sbt::fileSize(file_, path_));
  if (size == size_) return size_t{0};
  const size_t before = blocks_.size();
  size_ = size;
  // A writer that failed truncates its incomplete block, and a writer that resumed removes the
  // index. Both may have written something else there since. In that case everything known is
  // checked again.
  bool same = size >= position_ && !complete_;
  if (same && !blocks_.empty()) {
    const BlockHeader& known = blocks_.back().header;
    BlockHeader now;
    same = readHeader(blocks_.back().offset, now) && now.sequence == known.sequence &&
           now.totalBytes() == known.totalBytes();
  }
  if (!same) {
    reset();
    ++resets_;
  }
  scan();
  return blocks_.size() > before ? blocks_.size() - before : size_t{0};
}

}  // namespace tracesmith::sbt
