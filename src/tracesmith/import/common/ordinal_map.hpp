// SPDX-License-Identifier: Apache-2.0
// Assigns ordinals to devices or streams by the numbers that a source uses. Numbers from 0 to
// INT32_MAX are kept. Any other number gets a new ordinal if it does not fit (a handle, say) or if
// its ordinal is already taken.
#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace tracesmith::import {

class PlaceOrdinals {
 public:
  uint32_t of(int64_t number) {
    if (number >= 0 && number <= INT32_MAX) return static_cast<uint32_t>(number);
    const auto [it, fresh] = others_.try_emplace(number);
    if (fresh) {
      // Small negative numbers become the highest ordinals: their 32-bit two's complement.
      const auto same = static_cast<uint32_t>(number);
      const bool fits = number >= INT32_MIN && number <= UINT32_MAX;
      it->second = fits && taken_.insert(same).second ? same : nextFree();
    }
    return it->second;
  }

 private:
  uint32_t nextFree() {
    while (!taken_.insert(next_).second) ++next_;
    return next_;
  }

  std::map<int64_t, uint32_t> others_;
  std::set<uint32_t> taken_;
  uint32_t next_ = 1u << 31;
};

/// The operating system's process or thread id; 0 if `number` is not a valid one.
inline uint32_t systemNumber(int64_t number) {
  return number >= INT32_MIN && number <= UINT32_MAX ? static_cast<uint32_t>(number) : 0;
}

}  // namespace tracesmith::import
