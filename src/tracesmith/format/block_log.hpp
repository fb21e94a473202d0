// SPDX-License-Identifier: Apache-2.0
// The blocks of a file and where they lie: from the index when there is one that verifies, else by
// walking the block headers; after damage it goes on at the next block that verifies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracesmith/format/block_contents.hpp"
#include "tracesmith/format/encoding/sbt_layout.hpp"
#include "tracesmith/format/file_io.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith::sbt {

struct LogBlock {
  uint64_t offset = 0;
  BlockHeader header;
  uint64_t end() const { return offset + header.totalBytes(); }
};

class BlockLog {
 public:
  /// `use_index` false walks all headers, as after a crash.
  static Result<BlockLog> open(const std::string& path, bool use_index = true);

  /// Looks for what has been appended; returns the number of new table blocks.
  Result<size_t> refresh();

  const FileHandle& file() const { return file_; }
  const std::string& path() const { return path_; }
  const FileHeader& header() const { return header_; }
  bool headerIntact() const { return header_intact_; }
  uint64_t tag() const { return tag_; }
  uint64_t fileBytes() const { return size_; }
  /// The blocks of kind kTable, in the order of the file.
  const std::vector<LogBlock>& blocks() const { return blocks_; }
  /// Blocks of kinds, or with required flags, that this version does not know: resume() keeps them.
  const std::vector<LogBlock>& foreignBlocks() const { return foreign_; }
  bool complete() const { return complete_; }
  /// Bytes at the end that are the beginning of a block whose rest is not (yet) there.
  uint64_t cutBytes() const { return cut_bytes_; }
  /// How often refresh() found the file changed and began anew.
  uint32_t resets() const { return resets_; }

  /// What could not be read, the tail included.
  std::vector<DataLoss> losses() const;
  /// Things of a newer version that were passed over.
  const std::vector<DataLoss>& skipped() const { return skipped_; }

 private:
  BlockLog() = default;
  void reset();
  void lose(uint64_t offset, uint64_t bytes, std::string reason);
  bool loadIndex();
  /// The blocks that the index before the end marker names; false when it is damaged.
  bool readIndex(const BlockHeader& end, uint64_t end_offset, std::vector<LogBlock>& found);
  void scan();
  void accept(uint64_t offset, const BlockHeader& header);
  bool readHeader(uint64_t offset, BlockHeader& header);
  /// Offset of the next block that verifies at or after `from`; fileBytes() when there is none.
  uint64_t findNext(uint64_t from);

  FileHandle file_;
  std::string path_;
  FileHeader header_;
  bool header_intact_ = false;
  bool tag_known_ = false;
  uint64_t tag_ = 0;
  uint64_t size_ = 0;
  uint64_t position_ = 0;  // first byte that has not been looked at
  bool complete_ = false;
  bool index_is_newer_ = false;
  uint64_t end_offset_ = 0;  // of the end marker, once it was met by scanning
  uint64_t cut_bytes_ = 0;
  uint64_t next_sequence_ = 0;
  uint64_t missing_blocks_ = 0;
  /// Passed over for their row number. They are missing in an index that is written afterwards, so
  /// they must take up room among the missing ones without it, too.
  uint64_t misplaced_blocks_ = 0;
  uint64_t damaged_bytes_ = 0;
  uint32_t resets_ = 0;
  std::map<uint16_t, uint64_t> rows_;  // rows of each table up to position_
  std::vector<LogBlock> blocks_;
  std::vector<LogBlock> foreign_;
  std::vector<DataLoss> header_losses_;
  std::vector<DataLoss> losses_;
  std::vector<DataLoss> tail_loss_;  // none or one: found anew by each refresh
  std::vector<DataLoss> skipped_;
};

}  // namespace tracesmith::sbt
