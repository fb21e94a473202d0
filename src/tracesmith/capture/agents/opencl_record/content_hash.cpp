// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl_record/content_hash.hpp"

#include <atomic>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tracesmith::record {

using recording::ContentHash;

namespace {

ContentHash hashPlainly(const void* at, uint64_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(at, bytes);
  return {hash.low64, hash.high64};
}

HashBytes fastest() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this may run before other constructors
  if (__builtin_cpu_supports("avx2")) {
    if (const HashBytes wide = hashBytesAvx2()) return wide;
  }
#endif
  return hashPlainly;
}

}  // namespace

ContentHash hashBytes(const void* at, uint64_t bytes) {
  static constinit std::atomic<HashBytes> known{nullptr};
  HashBytes hash = known.load(std::memory_order_relaxed);
  if (hash == nullptr) {
    hash = fastest();
    known.store(hash, std::memory_order_relaxed);
  }
  return hash(at, bytes);
}

}  // namespace tracesmith::record
