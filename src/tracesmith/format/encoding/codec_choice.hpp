// SPDX-License-Identifier: Apache-2.0
// Chooses the encoder of a column: the one with the smallest result after compression, found by
// trying all on a part of a block. A column's values rarely change their nature, so the choice is
// kept for the following blocks until its results get worse.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <map>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/format/encoding/column_codec.hpp"

namespace tracesmith::sbt {

class CodecChoice {
 public:
  /// The encoder for the column identified by `column` (such as table and number); its words are
  /// not all equal. `zstd` may be null: then nothing is compressed.
  const ColumnCodec& choose(uint32_t column, ColumnWords words, ElementType type, ZSTD_CCtx* zstd);

  /// Reports the result. Returns true if it is so much worse than when the encoder was chosen that
  /// encoding the block again pays; the next call of choose() then chooses anew.
  bool shouldEncodeAgain(uint32_t column, size_t rows, size_t stored_bytes);

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
