// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/check/typed_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tracesmith {
namespace {

/// Bit layout of a floating-point type.
struct FloatFormat {
  unsigned bits;
  unsigned mantissa;
};

constexpr FloatFormat formatOf(ElementType type) {
  if (type == ElementType::kF16) return {16, 10};
  if (type == ElementType::kF32) return {32, 23};
  return {64, 52};
}

bool isFloat(ElementType type) {
  return type == ElementType::kF16 || type == ElementType::kF32 || type == ElementType::kF64;
}

uint64_t load(ByteView bytes, uint64_t at, uint64_t size) {
  uint64_t v = 0;
  std::memcpy(&v, bytes.data() + at, size);
  return v;
}

bool isNan(uint64_t bits, FloatFormat f) {
  const uint64_t magnitude = bits & ((uint64_t{1} << (f.bits - 1)) - 1);
  const uint64_t infinity = ((uint64_t{1} << (f.bits - 1 - f.mantissa)) - 1) << f.mantissa;
  return magnitude > infinity;
}

/// Position of a number in the order of all numbers, from the most negative: neighbours are one
/// apart.
int64_t place(uint64_t bits, FloatFormat f) {
  const uint64_t sign = uint64_t{1} << (f.bits - 1);
  const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

uint64_t apart(int64_t a, int64_t b) {
  return a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
               : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
}

double halfValue(uint64_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const auto exponent = static_cast<int>((bits >> 10) & 0x1f);
  const auto mantissa = static_cast<double>(bits & 0x3ff);
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

std::string valueOf(uint64_t bits, ElementType type) {
  switch (type) {
    case ElementType::kBytes:
    case ElementType::kU8:
    case ElementType::kU16:
    case ElementType::kU32:
    case ElementType::kU64:
      return std::to_string(bits);
    case ElementType::kI8:
      return std::to_string(static_cast<int8_t>(bits));
    case ElementType::kI16:
      return std::to_string(static_cast<int16_t>(bits));
    case ElementType::kI32:
      return std::to_string(static_cast<int32_t>(bits));
    case ElementType::kI64:
      return std::to_string(static_cast<int64_t>(bits));
    case ElementType::kF16:
      return fmt::format("{:.5g}", halfValue(bits));
    case ElementType::kF32:
      return fmt::format("{:.9g}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case ElementType::kF64:
      return fmt::format("{:.17g}", std::bit_cast<double>(bits));
  }
  return {};
}

}  // namespace

double elementValue(ByteView element, ElementType type) {
  const uint64_t bits = load(element, 0, elementBytes(type));
  switch (type) {
    case ElementType::kI8:
      return static_cast<int8_t>(bits);
    case ElementType::kI16:
      return static_cast<int16_t>(bits);
    case ElementType::kI32:
      return static_cast<int32_t>(bits);
    case ElementType::kI64:
      return static_cast<double>(static_cast<int64_t>(bits));
    case ElementType::kF16:
      return halfValue(bits);
    case ElementType::kF32:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case ElementType::kF64:
      return std::bit_cast<double>(bits);
    default:
      return static_cast<double>(bits);
  }
}

uint64_t elementBytes(ElementType type) {
  switch (type) {
    case ElementType::kBytes:
    case ElementType::kI8:
    case ElementType::kU8:
      return 1;
    case ElementType::kI16:
    case ElementType::kU16:
    case ElementType::kF16:
      return 2;
    case ElementType::kI32:
    case ElementType::kU32:
    case ElementType::kF32:
      return 4;
    default:
      return 8;
  }
}

const char* toString(ElementType type) {
  constexpr const char* kNames[] = {"byte", "char", "uchar", "short", "ushort", "int",
                                    "uint", "long", "ulong", "half",  "float",  "double"};
  return kNames[static_cast<size_t>(type)];
}

ElementType elementTypeOf(std::string_view argument_type) {
  constexpr std::string_view kSkipped[] = {"global", "__global", "constant", "__constant",
                                           "const",  "volatile", "restrict", "__local",
                                           "local",  "unsigned", "signed",   "struct"};
  bool is_unsigned = false;
  std::string word;
  const auto isWord = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (size_t at = 0; at < argument_type.size();) {
    if (!isWord(argument_type[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < argument_type.size() && isWord(argument_type[at])) ++at;
    const std::string_view next = argument_type.substr(begin, at - begin);
    is_unsigned = is_unsigned || next == "unsigned";
    if (std::find(std::begin(kSkipped), std::end(kSkipped), next) == std::end(kSkipped)) {
      word = next;
      break;
    }
  }
  // "float4" is treated as floats.
  while (!word.empty() && word.back() >= '0' && word.back() <= '9') word.pop_back();
  for (const ElementType type :
       {ElementType::kI8, ElementType::kU8, ElementType::kI16, ElementType::kU16, ElementType::kI32,
        ElementType::kU32, ElementType::kI64, ElementType::kU64, ElementType::kF16,
        ElementType::kF32, ElementType::kF64}) {
    if (word != toString(type)) continue;
    if (is_unsigned && !isFloat(type) && word[0] != 'u') {
      return static_cast<ElementType>(static_cast<uint8_t>(type) + 1);
    }
    return type;
  }
  if (word.empty() && is_unsigned) return ElementType::kU32;
  return ElementType::kBytes;
}

std::string elementText(ByteView element, ElementType type) {
  return valueOf(load(element, 0, elementBytes(type)), type);
}

TypedDifference compareTyped(ByteView one, ByteView other, ElementType type) {
  TypedDifference d;
  d.type = type;
  const uint64_t size = elementBytes(type);
  d.elements = std::min(one.size(), other.size()) / size;
  const FloatFormat format = formatOf(type);
  for (uint64_t i = 0; i < d.elements; ++i) {
    const uint64_t at = i * size;
    if (std::memcmp(one.data() + at, other.data() + at, size) == 0) continue;
    const uint64_t a = load(one, at, size);
    const uint64_t b = load(other, at, size);
    const bool first = d.differing++ == 0;
    if (first) {
      d.first_element = i;
      d.first_byte = at;
      while (one[d.first_byte] == other[d.first_byte]) ++d.first_byte;
      d.one = valueOf(a, type);
      d.other = valueOf(b, type);
    }
    if (!isFloat(type)) continue;
    const bool nan_a = isNan(a, format);
    const bool nan_b = isNan(b, format);
    if (nan_a && nan_b) {
      ++d.nan_payloads;
    } else if (nan_a || nan_b) {
      ++d.nan_in_one;
    } else {
      const uint64_t ulps = apart(place(a, format), place(b, format));
      if (ulps == 0) {
        ++d.zero_signs;
        continue;
      }
      if (first) d.first_ulps = ulps;
      d.most_ulps = std::max(d.most_ulps, ulps);
      const auto bucket = static_cast<size_t>(std::bit_width(ulps - 1));
      ++d.ulps[std::min(bucket, d.ulps.size() - 1)];
    }
  }
  return d;
}

}  // namespace tracesmith
