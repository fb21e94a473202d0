// SPDX-License-Identifier: Apache-2.0
// Lists the blocks of a file and their offsets: from the index if there is a valid one, else by
// reading all block headers. After damage it continues with the next block that verifies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/format/blocks/block_contents.hpp"
#include "tracesmith/format/blocks/file_io.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith::sbt {

struct LogBlock {
  uint64_t offset = 0;
  BlockHeader header;
  uint64_t end() const { return offset + header.totalBytes(); }
};

class BlockLog {
 public:
  /// `use_index` false: read all headers, as after a crash.
  static Result<BlockLog> open(const std::string& path, bool use_index = true);

  /// Looks for appended blocks; returns the number of new table blocks.
  Result<size_t> refresh();

  const FileHandle& file() const { return file_; }
  const std::string& path() const { return path_; }
  const FileHeader& header() const { return header_; }
  bool headerIntact() const { return header_intact_; }
  uint64_t tag() const { return tag_; }
  uint64_t fileBytes() const { return size_; }
  /// The blocks of kind kTable, in file order.
  const std::vector<LogBlock>& blocks() const { return blocks_; }
  /// Blocks of unknown kinds, or with unknown required flags; resume() keeps them.
  const std::vector<LogBlock>& foreignBlocks() const { return foreign_; }
  bool complete() const { return complete_; }
  /// The distinct names of all kernels; empty if the index does not have them.
  const std::optional<std::vector<StringId>>& kernelNames() const { return kernel_names_; }
  /// Bytes at the end that start a block whose rest is missing (or not written yet).
  uint64_t cutBytes() const { return cut_bytes_; }
  /// How often refresh() found that the file had been replaced or truncated, and started again.
  uint32_t resets() const { return resets_; }

  /// What could not be read, including the tail.
  std::vector<DataLoss> losses() const;
  /// Parts of a newer version that were skipped.
  const std::vector<DataLoss>& skipped() const { return skipped_; }

 private:
  BlockLog() = default;
  void reset();
  void lose(uint64_t offset, uint64_t bytes, std::string reason);
  bool loadIndex();
  /// Reads the blocks listed by the index before the end marker; false if the index is damaged.
  bool readIndex(const BlockHeader& end, uint64_t end_offset, std::vector<LogBlock>& found);
  void readKernelNames(BlockContents& index);
  void scan();
  void accept(uint64_t offset, const BlockHeader& header);
  bool readHeader(uint64_t offset, BlockHeader& header);
  /// Offset of the next block that verifies at or after `from`; fileBytes() if there is none.
  uint64_t findNext(uint64_t from);

  FileHandle file_;
  std::string path_;
  FileHeader header_;
  bool header_intact_ = false;
  bool tag_known_ = false;
  uint64_t tag_ = 0;
  uint64_t size_ = 0;
  uint64_t position_ = 0;  // first byte that has not been read yet
  bool complete_ = false;
  bool index_is_newer_ = false;
  uint64_t end_offset_ = 0;  // offset of the end marker, once scanning has found it
  uint64_t cut_bytes_ = 0;
  uint64_t next_sequence_ = 0;
  uint64_t missing_blocks_ = 0;
  /// Blocks skipped because of their row number. An index written later does not have them, so
  /// without it they must also count among the missing blocks.
  uint64_t misplaced_blocks_ = 0;
  uint64_t damaged_bytes_ = 0;
  uint32_t resets_ = 0;
  std::map<uint16_t, uint64_t> rows_;  // number of rows of each table before position_
  std::vector<LogBlock> blocks_;
  std::vector<LogBlock> foreign_;
  std::optional<std::vector<StringId>> kernel_names_;
  std::vector<DataLoss> header_losses_;
  std::vector<DataLoss> losses_;
  std::vector<DataLoss> tail_loss_;  // none or one; determined anew by each refresh
  std::vector<DataLoss> skipped_;
};

}  // namespace tracesmith::sbt
