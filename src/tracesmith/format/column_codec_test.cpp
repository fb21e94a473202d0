// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/column_codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tracesmith/format/words.hpp"

namespace tracesmith::sbt {
namespace {

constexpr ElementType kTypes[] = {ElementType::kU8, ElementType::kU32, ElementType::kI64,
                                  ElementType::kU64, ElementType::kF64};

std::vector<uint64_t> randomWords(std::mt19937_64& random, ElementType type, size_t count) {
  const uint64_t mask =
      elementBytes(type) == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * elementBytes(type))) - 1;
  const uint64_t behaviour = random() % 4;
  std::vector<uint64_t> words(count);
  uint64_t running = random();
  for (uint64_t& word : words) {
    word = behaviour == 0   ? 77
           : behaviour == 1 ? running += random() % 500
           : behaviour == 2 ? random() >> (random() % 64)
                            : ~(random() >> (random() % 64));
    word &= mask;
  }
  return words;
}

bool applies(const ColumnCodec& codec, std::span<const uint64_t> words, ElementType type) {
  return codec.estimate(words, type) != ~uint64_t{0};
}

TEST(ColumnCodec, EveryCodecGivesEveryTypeBackAndKeepsItsBound) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2'000; ++round) {
    const ElementType type = kTypes[random() % std::size(kTypes)];
    const std::vector<uint64_t> words = randomWords(random, type, 1 + random() % 300);
    for (const ColumnCodec& codec : allCodecs()) {
      if (!applies(codec, words, type)) continue;
      Bytes bytes(encodedBound(words.size()));
      const uint8_t* end = codec.encode(words, type, bytes.data());
      const auto size = static_cast<size_t>(end - bytes.data());
      ASSERT_LE(size, words.size() * codec.max_value_bytes + 16) << codec.name;
      std::vector<uint64_t> decoded(words.size());
      ASSERT_TRUE(codec.decode(ByteView(bytes).first(size), type, decoded)) << codec.name;
      ASSERT_EQ(words, decoded) << codec.name;
    }
  }
}

TEST(ColumnCodec, BytesThatAreCutOrTooManyAreRefused) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    const ElementType type = kTypes[random() % std::size(kTypes)];
    const std::vector<uint64_t> words = randomWords(random, type, 1 + random() % 20);
    for (const ColumnCodec& codec : allCodecs()) {
      if (!applies(codec, words, type)) continue;
      Bytes bytes(encodedBound(words.size()));
      const uint8_t* end = codec.encode(words, type, bytes.data());
      bytes.resize(static_cast<size_t>(end - bytes.data()));
      std::vector<uint64_t> decoded(words.size());
      for (size_t cut = 0; cut < bytes.size(); ++cut) {
        EXPECT_FALSE(codec.decode(ByteView(bytes).first(cut), type, decoded)) << codec.name;
      }
      bytes.push_back(0);
      EXPECT_FALSE(codec.decode(bytes, type, decoded)) << codec.name;
    }
  }
}

TEST(ColumnCodec, VarintsOfMoreThan64BitsAreRefused) {
  const Bytes too_long(10, 0xff);
  std::vector<uint64_t> one(1);
  for (uint8_t number : {3, 4, 5}) {
    EXPECT_FALSE(findCodec(number)->decode(too_long, ElementType::kU64, one));
  }
}

TEST(ColumnCodec, NumbersOnDiskAreThoseOfTheNorm) {
  EXPECT_EQ(findCodec(1)->name, "raw");
  EXPECT_EQ(findCodec(2)->name, "constant");
  EXPECT_EQ(findCodec(3)->name, "varint");
  EXPECT_EQ(findCodec(4)->name, "zigzag");
  EXPECT_EQ(findCodec(5)->name, "delta");
  EXPECT_EQ(findCodec(0), nullptr);
  EXPECT_EQ(findCodec(200), nullptr);
}

TEST(ChooseCodec, TakesWhatSuitsTheValues) {
  std::vector<uint64_t> times;
  std::vector<uint64_t> ids;
  std::vector<uint64_t> negative;
  std::vector<uint64_t> noise;
  std::mt19937_64 random(3);
  for (uint64_t i = 0; i < 5'000; ++i) {
    times.push_back(1'000'000'000'000 + i * 700 + random() % 100);
    ids.push_back(random() % 100);
    negative.push_back(static_cast<uint64_t>(-static_cast<int64_t>(random() % 50)));
    noise.push_back(random());
  }
  auto chosen = [](std::span<const uint64_t> words, Encoding hint) {
    return chooseCodec(words, ElementType::kI64, hint).name;
  };
  EXPECT_EQ(chosen(times, Encoding::kTime), "delta");
  EXPECT_EQ(chosen(ids, Encoding::kId), "varint");
  EXPECT_EQ(chosen(negative, Encoding::kCount), "zigzag");
  EXPECT_EQ(chosen(noise, Encoding::kCount), "raw");
  EXPECT_EQ(chosen(std::vector<uint64_t>(5'000, 9), Encoding::kTime), "constant");
  EXPECT_EQ(chooseCodec(noise, ElementType::kF64, Encoding::kReal).name, "raw");
}

TEST(ChooseCodec, OneDifferentValueOutsideTheSampleIsNotLost) {
  for (size_t place : {size_t{0}, size_t{40}, size_t{33'333}, size_t{65'535}}) {
    std::vector<uint64_t> words(65'536, 5);
    words[place] = 6;
    const ColumnCodec& codec = chooseCodec(words, ElementType::kU64, Encoding::kId);
    Bytes bytes(encodedBound(words.size()));
    const uint8_t* end = codec.encode(words, ElementType::kU64, bytes.data());
    std::vector<uint64_t> decoded(words.size());
    ASSERT_TRUE(codec.decode(ByteView(bytes).first(static_cast<size_t>(end - bytes.data())),
                             ElementType::kU64, decoded));
    EXPECT_EQ(words, decoded);
  }
}

TEST(Words, ValuesThatDoNotFitTheColumnAreRefused) {
  const uint64_t large[] = {uint64_t{1} << 40};
  uint32_t narrow;
  EXPECT_FALSE(fromWords<uint32_t>(large, ElementType::kU64, &narrow));
  const uint64_t small[] = {7};
  EXPECT_TRUE(fromWords<uint32_t>(small, ElementType::kU64, &narrow));
  EXPECT_EQ(narrow, 7u);
  const uint64_t minus_one[] = {~uint64_t{0}};
  int64_t as_signed;
  uint64_t as_unsigned;
  EXPECT_TRUE(fromWords<int64_t>(minus_one, ElementType::kI64, &as_signed));
  EXPECT_EQ(as_signed, -1);
  EXPECT_FALSE(fromWords<uint64_t>(minus_one, ElementType::kI64, &as_unsigned));
  EXPECT_FALSE(fromWords<int64_t>(minus_one, ElementType::kU64, &as_signed));
  double real;
  EXPECT_FALSE(fromWords<double>(small, ElementType::kU64, &real));
}

}  // namespace
}  // namespace tracesmith::sbt
