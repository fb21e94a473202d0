// SPDX-License-Identifier: Apache-2.0
// Compares two contents of the same memory by element type: as integers, or as floating-point
// numbers with their distance in units in the last place (ULP).
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

/// Element type for an argument's type: "float*", "global const double4 *", "uint *". kBytes:
/// unknown.
ElementType elementTypeOf(std::string_view argument_type);
uint64_t elementBytes(ElementType type);
const char* toString(ElementType type);

/// The value of one element: the shortest digits that identify it uniquely.
std::string elementText(ByteView element, ElementType type);
/// The value as a number, rounded where a double cannot represent it.
double elementValue(ByteView element, ElementType type);

struct TypedDifference {
  ElementType type = ElementType::kBytes;
  uint64_t elements = 0;   ///< elements compared
  uint64_t differing = 0;  ///< elements that differ
  uint64_t first_byte = 0;
  uint64_t first_element = 0;
  std::string one, other;  ///< values of the first differing element

  // For floating-point types. The distance is counted in the sequence of all numbers of the type,
  // with -0 and +0 as one number: adjacent numbers are 1 apart.
  uint64_t first_ulps = 0;
  uint64_t most_ulps = 0;
  uint64_t nan_in_one = 0;    ///< elements that are NaN in one content only
  uint64_t nan_payloads = 0;  ///< NaN in both, with different bits
  uint64_t zero_signs = 0;    ///< +0 in one content, -0 in the other
  /// Number of elements by distance in ULP. [0]: distance 1; [i]: 2^(i-1)+1 to 2^i; the last also
  /// counts all larger distances.
  std::array<uint64_t, 17> ulps{};
};

/// Compares the bytes up to the shorter length.
TypedDifference compareTyped(ByteView one, ByteView other, ElementType type);

}  // namespace tracesmith
