// SPDX-License-Identifier: Apache-2.0
// Appends blocks to an SBT file: keeps their places for the index, and can take back what a failed
// write has begun. What the blocks hold is the business of whoever writes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracesmith/format/block_builder.hpp"
#include "tracesmith/format/block_log.hpp"
#include "tracesmith/format/file_io.hpp"

namespace tracesmith::sbt {

class BlockAppender {
 public:
  /// Creates `path` (replacing a file that is there) and writes the header.
  static Result<BlockAppender> create(const std::string& path);
  /// To append to a file after its last intact block up to `keep_until`; needs an intact header.
  /// The file is as it was until cut() removes what lies behind that place, index and end included.
  static Result<BlockAppender> resume(const std::string& path, uint64_t keep_until);
  Status cut() { return truncateTo(file_, at_.offset, path_); }

  /// Where the file stands.
  struct Position {
    uint64_t offset = 0;
    uint64_t sequence = 0;
    size_t index_size = 0;
    std::map<uint16_t, uint64_t> rows;  // of each table
  };
  const Position& position() const { return at_; }
  uint64_t rows(uint16_t table) const;

  /// Writes one block; its place in the file, number, tag, sizes and checksums are filled in.
  Status append(BlockHeader header, const BlockBuilder::Contents& contents);
  /// Runs `body`; when it fails the file is cut back to where it was, so that it stays readable and
  /// the same rows may be written again.
  template <class Body>
  Status wholeOrNothing(Body body) {
    const Position before = at_;
    Status status = body();
    if (!status) rewind(before);
    return status;
  }
  /// Writes index and end marker with the help of `builder`, and flushes to the device.
  Status writeIndexAndEnd(BlockBuilder& builder);

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
