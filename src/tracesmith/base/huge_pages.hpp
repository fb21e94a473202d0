// SPDX-License-Identifier: Apache-2.0
// Large arrays that are filled at once: with large pages, the system takes a fraction of the time
// to provide them.
#pragma once

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tracesmith {

/// Reserves room for `size` values, in large pages if the system has some. For vectors that are
/// filled soon: a page is there as a whole once any of it is used.
template <class T>
void reserveInLargePages(std::vector<T>& values, size_t size) {
  values.reserve(size);
#ifdef __linux__
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<uintptr_t>(values.data());
  const uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t last = (begin + values.capacity() * sizeof(T)) / kHugePage * kHugePage;
  if (begin == 0 || first >= last) return;
  // It is only advice, so that a failure does not matter.
  (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // NOLINT
#endif
}

}  // namespace tracesmith
