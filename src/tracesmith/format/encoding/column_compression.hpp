// SPDX-License-Identifier: Apache-2.0
// Whether the bytes of a column are compressed, decided in one place.
#pragma once

#include <zstd.h>

#include <cstddef>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith::sbt {

/// Compresses to `out`, which has ZSTD_compressBound() bytes. 0: it does not pay, and the bytes are
/// to be stored as they are; also when `zstd` is null.
inline size_t compressColumn(ZSTD_CCtx* zstd, ByteView encoded, uint8_t* out) {
  // Less costs more (frame header, time) than it saves.
  constexpr size_t kMinCompressBytes = 48;
  if (zstd == nullptr || encoded.size() < kMinCompressBytes) return 0;
  const size_t stored =
      ZSTD_compress2(zstd, out, ZSTD_compressBound(encoded.size()), encoded.data(), encoded.size());
  // Less than a sixteenth saved is not worth the reader's time.
  return ZSTD_isError(stored) || stored > encoded.size() - encoded.size() / 16 ? 0 : stored;
}

}  // namespace tracesmith::sbt
