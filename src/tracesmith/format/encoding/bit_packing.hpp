// SPDX-License-Identifier: Apache-2.0
// Bit packing: words in groups of 128, each stored as its distance from the group's minimum in as
// many bits as the largest distance needs. For numbers that are close to their neighbours but have
// noisy low bits.
//
//   for each group of m words: [smallest: varint][width w: 1 byte, 0 to 64][m*w bits, lowest first]
#pragma once

#include <cstdint>
#include <span>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith::sbt {

constexpr size_t kPackedGroup = 128;

/// Needs 8 bytes per word and 11 per group; returns the end.
uint8_t* putPacked(std::span<const uint64_t> words, uint8_t* out);

/// Fills `words`; false if `bytes` does not have exactly that many words, or if a word may not fit.
bool takePacked(ByteView bytes, std::span<uint64_t> words);
bool takePacked(ByteView bytes, std::span<uint32_t> words);

}  // namespace tracesmith::sbt
