// SPDX-License-Identifier: Apache-2.0
// Appends blocks to an SBT file. It remembers the blocks' offsets for the index, and can undo a
// write that failed. The callers produce the blocks' contents.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracesmith/format/block_log.hpp"
#include "tracesmith/format/blocks/block_builder.hpp"
#include "tracesmith/format/blocks/file_io.hpp"

namespace tracesmith::sbt {

class BlockAppender {
 public:
  /// Creates `path` (replacing an existing file) and writes the header.
  static Result<BlockAppender> create(const std::string& path);
  /// Prepares to append after the last intact block up to `keep_until`; needs an intact header. The
  /// file is unchanged until cut() removes everything after that block, including index and end
  /// marker.
  static Result<BlockAppender> resume(const std::string& path, uint64_t keep_until);
  Status cut() { return truncateTo(file_, at_.offset, path_); }

  /// The state of the file and its index.
  struct Position {
    uint64_t offset = 0;
    uint64_t sequence = 0;
    size_t index_size = 0;
    std::map<uint16_t, uint64_t> rows;  // by table
  };
  const Position& position() const { return at_; }
  uint64_t rows(uint16_t table) const;

  /// Writes one block. Fills in the header's offset, sequence number, tag, sizes and checksums.
  Status append(BlockHeader header, const BlockBuilder::Contents& contents);
  /// Runs `body`. If it fails, the file is truncated to its previous size, so that it stays
  /// readable and the same rows can be written again.
  template <class Body>
  Status appendAtomically(Body body) {
    const Position before = at_;
    Status status = body();
    if (!status) rewind(before);
    return status;
  }
  /// Writes the index and the end marker, using `builder`, and syncs to disk. `kernel_names`: the
  /// hint for the first block of the index, if any.
  Status writeIndexAndEnd(BlockBuilder& builder, ByteView kernel_names = {});

  const std::string& path() const { return path_; }
  FileHandle& file() { return file_; }

 private:
  BlockAppender() = default;
  void rewind(const Position& to);

  std::string path_;
  FileHandle file_;
  uint64_t tag_ = 0;
  Position at_;
  std::vector<LogBlock> index_;
  Bytes block_bytes_;
};

}  // namespace tracesmith::sbt
