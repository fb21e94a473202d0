// SPDX-License-Identifier: Apache-2.0
// The ordinals of devices, or of streams, by the numbers that a source gives them: those that a
// platform counts with are kept; one that no ordinal can hold (a handle, say), or whose ordinal
// another number has, gets one of its own.
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
      // -1 and the like are the ordinals at the end, as they are in 32 bits.
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

/// The system's number of a process or thread; 0 where it can be none.
inline uint32_t systemNumber(int64_t number) {
  return number >= INT32_MIN && number <= UINT32_MAX ? static_cast<uint32_t>(number) : 0;
}

}  // namespace tracesmith::import
