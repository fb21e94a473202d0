// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/column.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdlib>
#include <cstring>
#include <new>

namespace tracesmith::column_memory {

#ifdef __linux__

namespace {

// AddressSanitizer sees every access only in memory of its own. ThreadSanitizer does not see that
// mremap() moves pages to where the stack of an ended thread was.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TS_SANITIZED_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TS_SANITIZED_MEMORY 1
#endif
#endif
#if defined(TS_SANITIZED_MEMORY)
constexpr size_t kOwnPagesFrom = ~size_t{0};
#else
constexpr size_t kOwnPagesFrom = 256u << 10;
#endif
constexpr size_t kHugePage = 2u << 20;

/// The size to map for `bytes`: rounded up to whole huge pages if that wastes little.
size_t mapped(size_t bytes) {
  return bytes < kHugePage ? bytes : (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

void adviseHugePages(void* pages, size_t bytes) {
  if (bytes >= kHugePage) (void)madvise(pages, bytes, MADV_HUGEPAGE);
}

}  // namespace

void* allocate(size_t bytes) {
  if (bytes < kOwnPagesFrom) {
    void* const buffer = std::calloc(bytes, 1);
    if (buffer == nullptr) throw std::bad_alloc();
    return buffer;
  }
  bytes = mapped(bytes);
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  adviseHugePages(pages, bytes);
  return pages;
}

void* grow(void* buffer, size_t old_bytes, size_t new_bytes) {
  if (old_bytes >= kOwnPagesFrom) {
    new_bytes = mapped(new_bytes);
    void* const pages = mremap(buffer, mapped(old_bytes), new_bytes, MREMAP_MAYMOVE);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    adviseHugePages(pages, new_bytes);
    return pages;
  }
  void* const larger = allocate(new_bytes);
  std::memcpy(larger, buffer, old_bytes);
  std::free(buffer);
  return larger;
}

void release(void* buffer, size_t bytes) noexcept {
  if (buffer == nullptr) return;
  if (bytes < kOwnPagesFrom) {
    std::free(buffer);
  } else {
    munmap(buffer, mapped(bytes));
  }
}

#else

// Pages are moved to grow only on Linux.
void* allocate(size_t bytes) {
  void* const buffer = std::calloc(bytes, 1);
  if (buffer == nullptr) throw std::bad_alloc();
  return buffer;
}

void* grow(void* buffer, size_t old_bytes, size_t new_bytes) {
  void* const larger = std::realloc(buffer, new_bytes);
  if (larger == nullptr) throw std::bad_alloc();
  std::memset(static_cast<char*>(larger) + old_bytes, 0, new_bytes - old_bytes);
  return larger;
}

void release(void* buffer, size_t) noexcept { std::free(buffer); }

#endif

}  // namespace tracesmith::column_memory
