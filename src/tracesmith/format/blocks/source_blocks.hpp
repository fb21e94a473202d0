// SPDX-License-Identifier: Apache-2.0
// Blocks of table 18 (source): the original form of the rows of another table's block in the
// document from which they were imported (model/source_rows.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/format/blocks/block_builder.hpp"
#include "tracesmith/format/blocks/block_contents.hpp"
#include "tracesmith/model/source_rows.hpp"

namespace tracesmith::sbt {

/// Reused from block to block.
class SourceBlockWriter {
 public:
  struct Piece {
    TableId table{};
    uint64_t first_row = 0;           ///< number, in the file, of the first row to write
    size_t begin = 0;                 ///< index in memory of the block's first row
    size_t next = 0;                  ///< first row of the block to write
    size_t count = 0;                 ///< rows of the block
    const uint32_t* order = nullptr;  ///< order of the block's rows in the file; nullptr: unchanged
  };
  /// Starts a block in `builder` and adds its columns. Returns the number of rows it took: fewer
  /// than requested if a block cannot have that many leaves.
  size_t fill(BlockBuilder& builder, const SourceRows& sources, const SourceTable& rows,
              const Piece& piece);

 private:
  struct Leaf {
    StringId name{};
    Buffer<uint64_t> words;
  };
  /// The leaves to which a shape's values go, in order; empty until `known`.
  struct ShapeLeaves {
    bool known = false;
    std::vector<uint32_t> leaves;
  };
  std::vector<Leaf> leaves_;
  size_t used_leaves_ = 0;
  std::vector<ShapeLeaves> shapes_;
  std::vector<uint32_t> leaf_of_name_;  // by string id: 0: none, else index + 1
  Buffer<uint64_t> shape_words_;
};

/// Reads a block written by fill().
Problem readSourceBlock(BlockContents& contents, const StringTable& strings, SourceShapes& shapes,
                        SourceBlock& out);

}  // namespace tracesmith::sbt
