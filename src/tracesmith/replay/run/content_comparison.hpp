// SPDX-License-Identifier: Apache-2.0
// Compares bytes with the hashes of recorded content.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/recording/content.hpp"

namespace tracesmith {

/// Index of the first chunk of `bytes` whose hash differs from that in `chunks`; nullopt: all are
/// equal. `chunks` has the hashes of all chunks of `bytes`. Large contents are hashed by several
/// threads.
std::optional<size_t> firstDifferentChunk(ByteView bytes,
                                          std::span<const recording::ContentHash> chunks);

}  // namespace tracesmith
