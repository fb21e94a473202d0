// SPDX-License-Identifier: Apache-2.0
// Words in groups of 128, each as its distance from the group's smallest in as many bits as the
// largest distance needs. For numbers whose neighbours are alike but whose low bits are noise.
//
//   for each group of m words: [smallest: varint][width w: 1 byte, 0 to 64][m*w bits, lowest first]
#pragma once

#include <cstdint>
#include <span>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith::sbt {

constexpr size_t kPackedGroup = 128;

/// Needs 8 bytes for each word and 11 for each group; returns the end.
uint8_t* putPacked(std::span<const uint64_t> words, uint8_t* out);

/// Fills `words`; false when `bytes` is not exactly that, or when a word may be too large for them.
bool takePacked(ByteView bytes, std::span<uint64_t> words);
bool takePacked(ByteView bytes, std::span<uint32_t> words);

}  // namespace tracesmith::sbt
