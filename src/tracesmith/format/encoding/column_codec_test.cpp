// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/format/encoding/column_codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tracesmith/format/encoding/codec_choice.hpp"
#include "tracesmith/format/encoding/column_words.hpp"

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

/// Group keys or durations: small, so that several are equal.
BaseWords randomBase(std::mt19937_64& random, size_t count) {
  const uint64_t kinds = 1 + random() % 40;
  const uint64_t scale = random() % 3 == 0 ? uint64_t{1} << (random() % 60) : 1;
  BaseWords base;
  base.words.resize(count);
  for (uint64_t& word : base.words) word = random() % kinds * scale;
  return base;
}

bool applies(const ColumnCodec& codec, const std::vector<uint64_t>& words, ElementType type) {
  if (!codec.applies(type)) return false;
  return codec.number != kConstantEncoding ||
         std::all_of(words.begin(), words.end(), [&](uint64_t w) { return w == words[0]; });
}

Bytes encoded(const ColumnCodec& codec, ColumnWords column, ElementType type) {
  Bytes bytes(encodedBound(column.words.size()));
  const uint8_t* end = codec.encode(column, type, bytes.data());
  const auto size = static_cast<size_t>(end - bytes.data());
  EXPECT_LE(size, bytes.size()) << codec.name;
  bytes.resize(size);
  return bytes;
}

TEST(ColumnCodec, EveryCodecGivesEveryTypeBackAndKeepsItsBound) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2'000; ++round) {
    const ElementType type = kTypes[random() % std::size(kTypes)];
    const std::vector<uint64_t> words = randomWords(random, type, 1 + random() % 300);
    BaseWords base = randomBase(random, words.size());
    for (const ColumnCodec& codec : allCodecs()) {
      if (!applies(codec, words, type)) continue;
      const Bytes bytes = encoded(codec, {words, &base}, type);
      std::vector<uint64_t> decoded(words.size(), 0xbad);
      ASSERT_TRUE(codec.decode(bytes, type, &base, decoded)) << codec.name;
      ASSERT_EQ(words, decoded) << codec.name;
    }
  }
}

TEST(ColumnCodec, DecodesInto32BitsWhatFitsAndRefusesTheRest) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2'000; ++round) {
    const ElementType type = kTypes[random() % std::size(kTypes)];
    // Also more than a decoder's piece, with runs of equal values.
    const size_t count = 1 + random() % (round % 50 == 0 ? 5'000 : 300);
    std::vector<uint64_t> words = randomWords(random, type, count);
    if (round % 3 == 0)
      std::fill(words.begin() + static_cast<ptrdiff_t>(count / 3), words.end(), 5);
    BaseWords base = randomBase(random, count);
    const bool narrow =
        std::all_of(words.begin(), words.end(), [](uint64_t w) { return w <= UINT32_MAX; });
    for (const ColumnCodec& codec : allCodecs()) {
      if (!applies(codec, words, type)) continue;
      const Bytes bytes = encoded(codec, {words, &base}, type);
      std::vector<uint32_t> decoded(count, 0xbad);
      const bool ok = codec.decode32(bytes, type, &base, decoded);
      if (!narrow) {
        EXPECT_FALSE(ok) << codec.name;
        continue;
      }
      // Decoders may reject packed groups that only seem too large because of their width.
      if (!ok) {
        EXPECT_GT(*std::max_element(words.begin(), words.end()), UINT32_MAX / 2) << codec.name;
        continue;
      }
      ASSERT_TRUE(std::equal(words.begin(), words.end(), decoded.begin())) << codec.name;
      EXPECT_FALSE(codec.decode32(ByteView(bytes).first(bytes.size() - 1), type, &base, decoded));
    }
  }
}

TEST(ColumnCodec, BytesThatAreCutOrTooManyAreRefused) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    const ElementType type = kTypes[random() % std::size(kTypes)];
    const std::vector<uint64_t> words = randomWords(random, type, 1 + random() % 20);
    BaseWords base = randomBase(random, words.size());
    for (const ColumnCodec& codec : allCodecs()) {
      if (!applies(codec, words, type)) continue;
      Bytes bytes = encoded(codec, {words, &base}, type);
      std::vector<uint64_t> decoded(words.size());
      for (size_t cut = 0; cut < bytes.size(); ++cut) {
        EXPECT_FALSE(codec.decode(ByteView(bytes).first(cut), type, &base, decoded)) << codec.name;
      }
      bytes.push_back(0);
      EXPECT_FALSE(codec.decode(bytes, type, &base, decoded)) << codec.name;
    }
  }
}

TEST(ColumnCodec, VarintsOfMoreThan64BitsAndWidthsBeyondAWordAreRefused) {
  const Bytes too_long(10, 0xff);
  std::vector<uint64_t> one(1);
  BaseWords base;
  base.words = {0};
  for (uint8_t number : {3, 4, 5, 7, 8}) {
    EXPECT_FALSE(findCodec(number)->decode(too_long, ElementType::kU64, &base, one));
  }
  EXPECT_FALSE(findCodec(6)->decode(Bytes(10, 9), ElementType::kU64, nullptr, one));
  Bytes wide(20, 0);
  wide[1] = 65;
  EXPECT_FALSE(findCodec(9)->decode(wide, ElementType::kU64, nullptr, one));
}

TEST(ColumnCodec, ACodecThatNeedsABaseDoesNotDecodeWithoutOne) {
  for (const ColumnCodec& codec : allCodecs()) {
    if (!codec.needs_base) continue;
    const std::vector<uint64_t> words = {5, 6, 7};
    BaseWords base;
    base.words = {1, 2, 1};
    const Bytes bytes = encoded(codec, {words, &base}, ElementType::kU64);
    std::vector<uint64_t> decoded(3);
    EXPECT_FALSE(codec.decode(bytes, ElementType::kU64, nullptr, decoded)) << codec.name;
    base.words.pop_back();
    EXPECT_FALSE(codec.decode(bytes, ElementType::kU64, &base, decoded)) << codec.name;
  }
}

TEST(ColumnCodec, NumbersOnDiskAreThoseOfTheNorm) {
  constexpr std::string_view kNames[] = {"raw",    "constant",      "varint",      "zigzag",
                                         "delta",  "split",         "delta split", "gap split",
                                         "packed", "grouped packed"};
  uint8_t number = 0;
  for (const std::string_view name : kNames) {
    ASSERT_NE(findCodec(++number), nullptr);
    EXPECT_EQ(findCodec(number)->name, name);
  }
  EXPECT_EQ(allCodecs().size(), std::size(kNames));
  EXPECT_EQ(findCodec(0), nullptr);
  EXPECT_EQ(findCodec(200), nullptr);
}

TEST(ColumnCodec, BytesAreThoseOfTheNormsExamples) {
  const auto of = [](uint8_t number, std::vector<uint64_t> words,
                     std::vector<uint64_t> base_words = {}) {
    BaseWords base;
    base.words.assign(base_words.begin(), base_words.end());
    return encoded(*findCodec(number), {words, &base}, ElementType::kU64);
  };
  EXPECT_EQ(of(6, {0x0102, 0x0304}), (Bytes{2, 0x02, 0x04, 0x01, 0x03}));
  EXPECT_EQ(of(7, {1000, 1010, 1005}), (Bytes{0xd0, 0x0f, 1, 20, 9}));
  EXPECT_EQ(of(8, {100, 112, 125}, {10, 10, 10}), (Bytes{0xc8, 0x01, 1, 4, 6}));
  EXPECT_EQ(of(9, {7, 8, 10}), (Bytes{7, 2, 0b110100}));
  EXPECT_EQ(of(10, {7, 90, 8}, {1, 2, 1}), (Bytes{7, 7, 0x80, 0xc0, 0x14}));
}

class CodecChoiceTest : public ::testing::Test {
 protected:
  ~CodecChoiceTest() override { ZSTD_freeCCtx(zstd_); }
  std::string_view chosen(const std::vector<uint64_t>& words, std::vector<uint64_t> base_words = {},
                          ElementType type = ElementType::kI64) {
    BaseWords base;
    base.words.assign(base_words.begin(), base_words.end());
    return CodecChoice().choose(1, {words, base.words.empty() ? nullptr : &base}, type, zstd_).name;
  }
  ZSTD_CCtx* zstd_ = ZSTD_createCCtx();
};

TEST_F(CodecChoiceTest, TakesWhatSuitsTheValues) {
  std::vector<uint64_t> times, ids, noise, ends, durations, shapes, by_shape;
  std::mt19937_64 random(3);
  uint64_t end = 1'000'000'000'000;
  for (uint64_t i = 0; i < 5'000; ++i) {
    times.push_back(1'000'000'000'000 + i * 70'000 + random() % 1000);
    ids.push_back(random() % 100);
    noise.push_back(random());
    ends.push_back(end + random() % 500);
    durations.push_back(random() % 1'000'000);
    end = ends.back() + durations.back();
    shapes.push_back(random() % 50);
    by_shape.push_back(shapes.back() * 100'000 + random() % 64);
  }
  EXPECT_EQ(chosen(times), "delta split");
  EXPECT_EQ(chosen(noise), "raw");
  EXPECT_EQ(chosen(noise, {}, ElementType::kF64), "raw");
  EXPECT_EQ(chosen(ends, durations), "gap split");
  EXPECT_EQ(chosen(by_shape, shapes), "grouped packed");
  EXPECT_EQ(chosen(ids), "split");
}

TEST_F(CodecChoiceTest, WhatBecomesWorseIsChosenAgain) {
  CodecChoice choice;
  std::mt19937_64 random(4);
  std::vector<uint64_t> small(1'000), noise(1'000);
  for (uint64_t& word : small) word = random() % 8;
  for (uint64_t& word : noise) word = random();
  const ColumnCodec& first = choice.choose(1, {small}, ElementType::kU64, zstd_);
  EXPECT_FALSE(choice.shouldEncodeAgain(1, 1'000, 375));
  EXPECT_EQ(&choice.choose(1, {noise}, ElementType::kU64, zstd_), &first) << "not yet known";
  EXPECT_TRUE(choice.shouldEncodeAgain(1, 1'000, 9'000));
  EXPECT_EQ(choice.choose(1, {noise}, ElementType::kU64, zstd_).name, "raw");
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
