// SPDX-License-Identifier: Apache-2.0
// The program's bytes as payloads: cut into chunks, hashed here, and sent to the collector only if
// it does not have them yet. Uploading the same bytes again costs only the hash.
#pragma once

#include "tracesmith/capture/agents/opencl_record/channel.hpp"

namespace tracesmith::record {

/// The location of bytes in the program's memory. Without pitches, one contiguous range.
struct Place {
  const uint8_t* at = nullptr;
  uint64_t row_bytes = 0;
  uint64_t rows = 1;
  uint64_t slices = 1;
  uint64_t row_pitch = 0;
  uint64_t slice_pitch = 0;

  uint64_t bytes() const { return row_bytes * rows * slices; }
  /// Distance from the first byte to the end of the last.
  uint64_t extent() const {
    if (bytes() == 0) return 0;
    return (slices - 1) * slice_pitch + (rows - 1) * row_pitch + row_bytes;
  }
  bool contiguous() const {
    return (rows == 1 || row_pitch == row_bytes) &&
           (slices == 1 || slice_pitch == row_bytes * rows);
  }
};

inline Place stretch(const void* at, uint64_t bytes) {
  return {static_cast<const uint8_t*>(at), bytes, 1, 1, bytes, bytes};
}

enum class Keep : uint8_t { kBytes, kHashes };

class Content {
 public:
  Content() = default;
  ~Content();
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  /// Takes the bytes at `place`; null: none. Call without the state lock. `hashed`: the same
  /// content, if it was hashed a moment ago.
  void take(const Place& place, Keep keep, const Content* hashed = nullptr);
  void take(const void* at, uint64_t bytes) { take(stretch(at, bytes), Keep::kBytes); }
  /// The same piece by piece: all pieces but the last are whole chunks.
  void begin(uint64_t bytes);
  void append(const uint8_t* at, uint64_t bytes, Keep keep);
  /// Adds `bytes` bytes of unknown content.
  void unknown(uint64_t bytes);
  recording::Payload payload() const { return {bytes_, {chunks_, count_}}; }
  /// Hash of the whole content, to detect changes.
  recording::ContentHash summary() const;

 private:
  bool makeRoom(uint64_t count);
  bool isMemorySafe();
  void takeContiguous(const uint8_t* at, uint64_t bytes, Keep keep, const Content* hashed);
  void takeChunk(const uint8_t* at, uint64_t bytes, Keep keep, recording::ContentHash hash);

  static constexpr uint64_t kInline = 16;
  recording::ContentHash inline_[kInline];
  recording::ContentHash* chunks_ = inline_;
  uint64_t capacity_ = kInline;
  uint64_t count_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace tracesmith::record
