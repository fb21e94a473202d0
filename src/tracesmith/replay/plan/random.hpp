// SPDX-License-Identifier: Apache-2.0
// Random numbers that are identical on every machine for the same seed.
#pragma once

#include <cstdint>

namespace tracesmith {

/// splitmix64 (Steele, Lea, Flood 2014): small and portable.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// A number below `n`, without bias.
  uint64_t below(uint64_t n) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    for (;;) {
      const uint64_t v = next();
      if (v < limit) return v % n;
    }
  }

 private:
  uint64_t state_;
};

}  // namespace tracesmith
