// SPDX-License-Identifier: Apache-2.0
// Two contents of the same memory, compared as what they are: whole numbers, or floating-point
// numbers with their distance in units of the last place.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith {

enum class ElementType : uint8_t {
  kBytes,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF16,
  kF32,
  kF64
};

/// Of an argument's type: "float*", "global const double4 *", "uint *". kBytes: not known.
ElementType elementTypeOf(std::string_view argument_type);
uint64_t elementBytes(ElementType type);
const char* toString(ElementType type);

/// The value of one element: the shortest digits that tell it from its neighbours.
std::string elementText(ByteView element, ElementType type);
/// The same as a number, rounded where a double cannot hold it.
double elementValue(ByteView element, ElementType type);

struct TypedDifference {
  ElementType type = ElementType::kBytes;
  uint64_t elements = 0;   ///< compared
  uint64_t differing = 0;  ///< elements
  uint64_t first_byte = 0;
  uint64_t first_element = 0;
  std::string one, other;  ///< values of that element

  // Of floating-point types. The distance is that of the two numbers in the order of all numbers of
  // the type, -0 and +0 being one: adjacent numbers are 1 apart.
  uint64_t first_ulps = 0;
  uint64_t most_ulps = 0;
  uint64_t nan_in_one = 0;    ///< elements that are NaN in one of them only
  uint64_t nan_payloads = 0;  ///< NaN in both, with other bits
  uint64_t zero_signs = 0;    ///< +0 in one, -0 in the other
  /// Elements that are so many ulps apart: [0] 1, [i] 2^(i-1)+1 to 2^i, and more in the last.
  std::array<uint64_t, 17> ulps{};
};

/// Compares as many bytes as both have.
TypedDifference compareTyped(ByteView one, ByteView other, ElementType type);

}  // namespace tracesmith
