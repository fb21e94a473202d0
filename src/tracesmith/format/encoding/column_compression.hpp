// SPDX-License-Identifier: Apache-2.0
// Decides, for all writers, whether the bytes of a column are compressed.
#pragma once

#include <zstd.h>

#include <cstddef>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith::sbt {

/// Compresses to `out`, which has ZSTD_compressBound() bytes. Returns 0 if compression does not pay
/// or `zstd` is null; the bytes are then stored uncompressed.
inline size_t compressColumn(ZSTD_CCtx* zstd, ByteView encoded, uint8_t* out) {
  // For fewer bytes, compression costs more (frame header, time) than it saves.
  constexpr size_t kMinCompressBytes = 48;
  if (zstd == nullptr || encoded.size() < kMinCompressBytes) return 0;
  const size_t stored =
      ZSTD_compress2(zstd, out, ZSTD_compressBound(encoded.size()), encoded.data(), encoded.size());
  // Saving less than a sixteenth is not worth the reader's time.
  return ZSTD_isError(stored) || stored > encoded.size() - encoded.size() / 16 ? 0 : stored;
}

}  // namespace tracesmith::sbt
