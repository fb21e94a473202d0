// SPDX-License-Identifier: Apache-2.0
// Blocks of table 18: how the rows of one block of another table stood in the document that they
// were imported from (model/source_rows.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/format/block_builder.hpp"
#include "tracesmith/format/block_contents.hpp"
#include "tracesmith/model/source_rows.hpp"

namespace tracesmith::sbt {

/// Reused from block to block.
class SourceBlockWriter {
 public:
  struct Piece {
    TableId table{};
    uint64_t first_row = 0;           ///< in the file, of the first row that is written
    size_t begin = 0;                 ///< in memory, of the table's block
    size_t next = 0;                  ///< of the block's rows, the first to write
    size_t count = 0;                 ///< of the block's rows
    const uint32_t* order = nullptr;  ///< of the block's rows in the file; nullptr: as they are
  };
  /// Begins a block in `builder` and adds its columns. Returns how many rows it took: fewer than
  /// there are where a block cannot have so many leaves.
  size_t fill(BlockBuilder& builder, const SourceRows& sources, const SourceTable& rows,
              const Piece& piece);

 private:
  struct Leaf {
    StringId name{};
    Buffer<uint64_t> words;
  };
  /// Which leaves, in which order, the values of a shape go to; empty and not known at first.
  struct ShapeLeaves {
    bool known = false;
    std::vector<uint32_t> leaves;
  };
  std::vector<Leaf> leaves_;
  size_t used_leaves_ = 0;
  std::vector<ShapeLeaves> shapes_;
  std::vector<uint32_t> leaf_of_name_;  // by string id; 0: none, else place + 1
  Buffer<uint64_t> shape_words_;
};

/// Reads what fill() wrote.
Problem readSourceBlock(BlockContents& contents, const StringTable& strings, SourceShapes& shapes,
                        SourceBlock& out);

}  // namespace tracesmith::sbt
