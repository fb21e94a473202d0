// SPDX-License-Identifier: Apache-2.0
// Which encoder a column gets: the one that makes its values smallest after compression, found by
// trying all on a piece of a block. Columns seldom change their nature, so what was found holds for
// the blocks that follow, until it does worse than it did.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <map>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/format/encoding/column_codec.hpp"

namespace tracesmith::sbt {

class CodecChoice {
 public:
  /// The encoder for a column with this name of its own (say, table and number); its words are not
  /// all the same. `zstd` may be null: then nothing is compressed.
  const ColumnCodec& choose(uint32_t column, ColumnWords words, ElementType type, ZSTD_CCtx* zstd);

  /// What became of it. True: it was so much worse than when it was chosen that choosing again,
  /// which the next call of choose() does, is worth encoding the block again.
  bool disappoints(uint32_t column, size_t rows, size_t stored_bytes);

 private:
  struct Choice {
    const ColumnCodec* codec = nullptr;
    ElementType type{};
    bool had_base = false;
    uint32_t blocks_left = 0;
    double bytes_per_row = 0;
  };
  const ColumnCodec& tryAll(ColumnWords words, ElementType type, ZSTD_CCtx* zstd);

  std::map<uint32_t, Choice> choices_;
  Bytes encoded_;
  Bytes compressed_;
};

}  // namespace tracesmith::sbt
