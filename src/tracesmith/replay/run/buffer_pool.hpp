// SPDX-License-Identifier: Apache-2.0
// Reuses large buffers: page faults in a fresh buffer cost more than copying the data into it.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith {

class BufferPool {
 public:
  /// Returns a buffer of `bytes` bytes with undefined content. Throws std::bad_alloc.
  Buffer<uint8_t> take(size_t bytes) {
    // Choose the smallest one that fits, unless it is far too large.
    auto best = spare_.end();
    for (auto it = spare_.begin(); bytes >= kLeastBytes && it != spare_.end(); ++it) {
      const bool fits = it->capacity() >= bytes && it->capacity() / 4 <= bytes;
      if (fits && (best == spare_.end() || it->capacity() < best->capacity())) best = it;
    }
    if (best == spare_.end()) return made(bytes);
    Buffer<uint8_t> buffer = std::move(*best);
    spare_.erase(best);
    buffer.resize(bytes);
    return buffer;
  }

  void give(Buffer<uint8_t> buffer) {
    if (buffer.capacity() < kLeastBytes) return;
    spare_.push_back(std::move(buffer));
    if (spare_.size() > kMostBuffers) spare_.erase(spare_.begin());  // the oldest
  }

 private:
  static Buffer<uint8_t> made(size_t bytes) {
    constexpr uintptr_t kPage = 4096;
    Buffer<uint8_t> buffer(bytes);
    if (bytes >= (4u << 20)) {  // one fault for 2 MiB
      const uintptr_t begin =
          (reinterpret_cast<uintptr_t>(buffer.data()) + kPage - 1) & ~(kPage - 1);
      madvise(reinterpret_cast<void*>(begin), (bytes - kPage) & ~(kPage - 1), MADV_HUGEPAGE);
    }
    return buffer;
  }

  // Smaller ones come from the heap and are not pooled.
  static constexpr size_t kLeastBytes = 64u << 10;
  static constexpr size_t kMostBuffers = 4;
  std::vector<Buffer<uint8_t>> spare_;
};

/// Read-only zeros that occupy no memory.
class ZeroPages {
 public:
  explicit ZeroPages(size_t bytes) : bytes_(bytes) {
    if (bytes_ == 0) return;
    void* p = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return;
    p_ = p;
    madvise(p_, bytes_, MADV_HUGEPAGE);  // one fault for 2 MiB
  }
  ~ZeroPages() {
    if (p_ != nullptr) munmap(p_, bytes_);
  }
  ZeroPages(const ZeroPages&) = delete;
  ZeroPages& operator=(const ZeroPages&) = delete;
  /// Empty if the mapping failed.
  ByteView view() const { return {static_cast<const uint8_t*>(p_), p_ == nullptr ? 0 : bytes_}; }

 private:
  void* p_ = nullptr;
  size_t bytes_;
};

}  // namespace tracesmith
