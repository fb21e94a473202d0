// SPDX-License-Identifier: Apache-2.0
// Big-endian numbers of packets. The caller has checked the sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tracesmith {

inline uint64_t numberAt(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

inline void putNumber(std::string& bytes, size_t at, size_t size, uint64_t value) {
  for (size_t i = size; i-- > 0; value >>= 8) bytes[at + i] = static_cast<char>(value & 0xff);
}

}  // namespace tracesmith
