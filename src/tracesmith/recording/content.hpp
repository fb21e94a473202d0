// SPDX-License-Identifier: Apache-2.0
// Bytes transferred between a program and its device, addressed by content: split into chunks, each
// identified by its hash, so that repeated uploads are stored once. Agents include this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace tracesmith::recording {

/// A payload is split into chunks of this size; the last one may be shorter.
constexpr uint64_t kChunkBytes = 1u << 20;

/// XXH3, 128 bits, seed 0. All zero: no content (real content with this improbable hash is not
/// stored).
struct ContentHash {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const ContentHash&, const ContentHash&) = default;
  bool empty() const { return low == 0 && high == 0; }
};
static_assert(sizeof(ContentHash) == 16);

struct HashOfContentHash {
  size_t operator()(const ContentHash& h) const { return static_cast<size_t>(h.low); }
};

/// Bytes described by their chunks: chunks.size() is bytes / kChunkBytes, rounded up. Bytes without
/// chunks: the content is unknown.
struct Payload {
  uint64_t bytes = 0;
  std::span<const ContentHash> chunks;
  bool known() const { return bytes == 0 || !chunks.empty(); }
};

constexpr uint64_t chunkCount(uint64_t bytes) {
  return bytes / kChunkBytes + (bytes % kChunkBytes != 0 ? 1 : 0);
}

}  // namespace tracesmith::recording
