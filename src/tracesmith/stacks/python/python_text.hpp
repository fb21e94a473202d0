// SPDX-License-Identifier: Apache-2.0
// Characters of Python's texts.
//
// Runs inside the recorded program: uses only libc, no allocation.
#pragma once

#include <cstdint>

namespace tracesmith::stacks {

/// Writes `c` in UTF-8, at most 4 bytes. Half a surrogate pair, which Python uses for bytes that
/// are not text, becomes the replacement character.
inline uint32_t putUtf8(uint32_t c, char* out) {
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff) c = 0xfffd;
  const uint32_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  out[0] = static_cast<char>(0xff00u >> (more + 1) | c >> 6 * more);
  for (uint32_t i = 1; i <= more; ++i) {
    out[i] = static_cast<char>(0x80 | (c >> 6 * (more - i) & 0x3f));
  }
  return more + 1;
}

}  // namespace tracesmith::stacks
