// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/check/typed_difference.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tracesmith {
namespace {

template <class T>
ByteView viewOf(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

TEST(ElementTypes, AreReadFromArgumentTypes) {
  const std::pair<const char*, ElementType> cases[] = {
      {"float*", ElementType::kF32},
      {"float4*", ElementType::kF32},
      {"double16 *", ElementType::kF64},
      {"half*", ElementType::kF16},
      {"unsigned int", ElementType::kU32},
      {"unsigned*", ElementType::kU32},
      {"unsigned long *", ElementType::kU64},
      {"signed char*", ElementType::kI8},
      {"uint2*", ElementType::kU32},
      {"global const uchar *", ElementType::kU8},
      {"__global volatile ushort* restrict", ElementType::kU16},
      {"global const double4 *", ElementType::kF64},
      {"short3*", ElementType::kI16},
      {"long*", ElementType::kI64},
      {"int*", ElementType::kI32},
      {"struct particle*", ElementType::kBytes},
      {"image2d_t", ElementType::kBytes},
      {"floats*", ElementType::kBytes},
      {"", ElementType::kBytes},
      {"****", ElementType::kBytes},
  };
  for (const auto& [text, type] : cases) {
    EXPECT_STREQ(toString(elementTypeOf(text)), toString(type)) << text;
  }
}

TEST(TypedDifference, OfEqualBytesThereIsNone) {
  const std::vector<float> a = {1, NAN, -0.0f};
  const TypedDifference d = compareTyped(viewOf(a), viewOf(a), ElementType::kF32);
  EXPECT_EQ(d.elements, 3u);
  EXPECT_EQ(d.differing, 0u);
}

TEST(TypedDifference, DistancesCountTheNumbersBetween) {
  std::vector<float> a(6, 1.0f), b = a;
  b[1] = std::nextafter(1.0f, 2.0f);
  b[2] = std::nextafter(1.0f, 0.0f);
  b[3] = std::nextafter(std::nextafter(std::nextafter(1.0f, 2.0f), 2.0f), 2.0f);
  a[4] = -std::numeric_limits<float>::denorm_min();
  b[4] = std::numeric_limits<float>::denorm_min();  // with one zero in between
  a[5] = std::numeric_limits<float>::max();
  b[5] = std::numeric_limits<float>::infinity();
  const TypedDifference d = compareTyped(viewOf(a), viewOf(b), ElementType::kF32);
  EXPECT_EQ(d.differing, 5u);
  EXPECT_EQ(d.first_element, 1u);
  EXPECT_EQ(d.first_byte, 4u);
  EXPECT_EQ(d.one, "1");
  EXPECT_EQ(d.other, "1.00000012");
  EXPECT_EQ(d.first_ulps, 1u);
  EXPECT_EQ(d.most_ulps, 3u);
  EXPECT_EQ(d.ulps[0], 3u);
  EXPECT_EQ(d.ulps[1], 1u);  // 2
  EXPECT_EQ(d.ulps[2], 1u);  // 3 to 4
}

TEST(TypedDifference, NotANumberAndTheSignOfZeroAreCountedApart) {
  const auto nan = std::bit_cast<float>(0x7fc00000u), other_nan = std::bit_cast<float>(0xffc00001u);
  const std::vector<float> a = {nan, nan, 1.0f, 0.0f}, b = {other_nan, 2.0f, nan, -0.0f};
  const TypedDifference d = compareTyped(viewOf(a), viewOf(b), ElementType::kF32);
  EXPECT_EQ(d.differing, 4u);
  EXPECT_EQ(d.nan_payloads, 1u);
  EXPECT_EQ(d.nan_in_one, 2u);
  EXPECT_EQ(d.zero_signs, 1u);
  EXPECT_EQ(d.most_ulps, 0u);
}

TEST(TypedDifference, FarEndsDoNotOverflow) {
  const std::vector<double> a = {-INFINITY}, b = {INFINITY};
  const TypedDifference d = compareTyped(viewOf(a), viewOf(b), ElementType::kF64);
  EXPECT_EQ(d.most_ulps, 2u * 0x7ff0000000000000u);
  EXPECT_EQ(d.ulps.back(), 1u);
}

TEST(TypedDifference, HalvesHaveTheirOwnDistancesAndValues) {
  const std::vector<uint16_t> a = {0x3c00, 0x0001, 0x7c00, 0xc000},
                              b = {0x3c01, 0x8001, 0x7c01, 0xc000};
  const TypedDifference d = compareTyped(viewOf(a), viewOf(b), ElementType::kF16);
  EXPECT_EQ(d.differing, 3u);
  EXPECT_EQ(d.one, "1");
  EXPECT_EQ(d.other, "1.001");
  EXPECT_EQ(d.first_ulps, 1u);
  EXPECT_EQ(d.most_ulps, 2u);
  EXPECT_EQ(d.nan_in_one, 1u);  // an infinity is a number
}

TEST(TypedDifference, UlpsAgreeWithSteppingFromOneToTheOther) {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    const auto from = std::bit_cast<float>(bits);
    if (!std::isfinite(from)) continue;
    float to = from;
    const unsigned steps = 1 + random() % 40;
    for (unsigned s = 0; s < steps; ++s) to = std::nextafter(to, INFINITY);
    const std::vector<float> a = {from}, b = {to};
    if (from == 0 && to == 0) continue;
    EXPECT_EQ(compareTyped(viewOf(a), viewOf(b), ElementType::kF32).most_ulps, steps) << from;
  }
}

TEST(TypedDifference, WholeNumbersAreShownAsTheirTypeHasThemAndAPartialLastOneIsLeftOut) {
  const std::vector<uint8_t> a = {1, 255, 255, 255, 255, 9, 9}, b = {1, 255, 255, 255, 254, 9, 8};
  const TypedDifference ints = compareTyped(viewOf(a), viewOf(b), ElementType::kI32);
  EXPECT_EQ(ints.elements, 1u);
  EXPECT_EQ(ints.differing, 0u);
  const TypedDifference chars = compareTyped(viewOf(a), viewOf(b), ElementType::kI8);
  EXPECT_EQ(chars.differing, 2u);
  EXPECT_EQ(chars.one, "-1");
  EXPECT_EQ(chars.other, "-2");
  EXPECT_EQ(chars.most_ulps, 0u);
}

}  // namespace
}  // namespace tracesmith
