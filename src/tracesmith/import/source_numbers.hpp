// SPDX-License-Identifier: Apache-2.0
// Numbers and bytes of other tools' files as a trace holds them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace tracesmith::import {

/// Below zero it is 0.
inline uint64_t positive(int64_t value) {
  return static_cast<uint64_t>(std::max<int64_t>(value, 0));
}

/// The nearest number that 32 bits hold.
inline uint32_t small(int64_t value) {
  return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<uint32_t>::max()));
}

/// Two lower-case digits for each byte.
inline std::string hexOf(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    hex += kDigits[static_cast<uint8_t>(c) >> 4];
    hex += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return hex;
}

}  // namespace tracesmith::import
