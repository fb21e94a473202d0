// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/hash128.hpp"

#include <atomic>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tracesmith {
namespace {

Hash128 hashPlainly(const void* at, uint64_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(at, bytes);
  return {hash.low64, hash.high64};
}

HashFunction fastest() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this may run before other constructors
  if (__builtin_cpu_supports("avx2")) {
    if (const HashFunction wide = hash128Avx2()) return wide;
  }
#endif
  return hashPlainly;
}

}  // namespace

Hash128 hash128(const void* at, uint64_t bytes) {
  static constinit std::atomic<HashFunction> known{nullptr};
  HashFunction hash = known.load(std::memory_order_relaxed);
  if (hash == nullptr) {
    hash = fastest();
    known.store(hash, std::memory_order_relaxed);
  }
  return hash(at, bytes);
}

}  // namespace tracesmith
