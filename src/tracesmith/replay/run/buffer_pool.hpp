// SPDX-License-Identifier: Apache-2.0
// Large buffers that are used again: the pages of a fresh one cost more than what is copied into
// them.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith {

class BufferPool {
 public:
  /// A buffer of that size. What it holds means nothing. Throws std::bad_alloc.
  Buffer<uint8_t> take(size_t bytes) {
    // The smallest that has room, if that is not far too much.
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

  static constexpr size_t kLeastBytes = 64u << 10;  // smaller ones come from the heap
  static constexpr size_t kMostBuffers = 4;
  std::vector<Buffer<uint8_t>> spare_;
};

/// Zeros to be read. They take no memory.
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
  /// Empty: there is no room for them.
  ByteView view() const { return {static_cast<const uint8_t*>(p_), p_ == nullptr ? 0 : bytes_}; }

 private:
  void* p_ = nullptr;
  size_t bytes_;
};

}  // namespace tracesmith
