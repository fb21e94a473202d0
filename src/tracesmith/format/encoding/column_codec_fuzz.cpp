// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as the data of a column, for every decoder; arbitrary bytes as words, for every
// encoder.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tracesmith/format/encoding/column_codec.hpp"

using namespace tracesmith;       // NOLINT: a program of few functions
using namespace tracesmith::sbt;  // NOLINT

namespace {

constexpr size_t kHeadBytes = 6;
constexpr size_t kMostRows = 2048;

/// The words in `bytes`, 0 to 8 bytes each, repeated until there are `count`.
std::vector<uint64_t> wordsFrom(ByteView bytes, size_t count, size_t width, ElementType type) {
  const uint64_t mask =
      elementBytes(type) == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * elementBytes(type))) - 1;
  std::vector<uint64_t> words(count, 0);
  if (bytes.size() < 8) return words;
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(&words[i], bytes.data() + i * width % (bytes.size() - 7), width);
    words[i] &= mask;
  }
  return words;
}

void checkRoundTrip(const ColumnCodec& codec, ElementType type, BaseWords* base,
                    const std::vector<uint64_t>& words) {
  // Exactly the guaranteed size, so that writing one byte more is noticed.
  const std::vector<uint64_t> given = words;
  Bytes room(encodedBound(words.size()));
  room.shrink_to_fit();
  const uint8_t* end = codec.encode({given, base}, type, room.data());
  const ByteView bytes(room.data(), static_cast<size_t>(end - room.data()));
  std::vector<uint64_t> back(words.size());
  if (!codec.decode(bytes, type, base, back) || back != words) std::abort();
  if (!bytes.empty() && codec.decode(bytes.first(bytes.size() - 1), type, base, back)) {
    std::abort();  // with a byte less it cannot have the same number of values
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kHeadBytes) return 0;
  constexpr ElementType kTypes[] = {ElementType::kU8, ElementType::kU32, ElementType::kI64,
                                    ElementType::kU64, ElementType::kF64};
  const auto codecs = allCodecs();
  const ColumnCodec& codec = codecs[data[0] % codecs.size()];
  const ElementType type = kTypes[data[1] % std::size(kTypes)];
  if (!codec.applies(type)) return 0;
  const size_t rows = 1 + loadFixed<uint16_t>(data + 2) % kMostRows;
  const size_t width = 1 + data[4] % 8;
  const ByteView all(data + kHeadBytes, size - kHeadBytes);
  const size_t of_base = codec.needs_base ? all.size() / 2 : 0;

  BaseWords base;
  BaseWords* const used = codec.needs_base ? &base : nullptr;
  const auto base_words = wordsFrom(all.first(of_base), rows, width, type);
  base.words.assign(base_words.begin(), base_words.end());
  if (data[5] % 2 == 0) {
    std::vector<uint64_t> words(rows);
    std::vector<uint32_t> narrow(rows);
    const bool decoded = codec.decode(all.subspan(of_base), type, used, words);
    if (codec.decode32(all.subspan(of_base), type, used, narrow) &&
        (!decoded || !std::equal(words.begin(), words.end(), narrow.begin()))) {
      std::abort();
    }
    if (!decoded) return 0;
    if (codec.number == kConstantEncoding) return 0;
    const uint64_t fits =
        elementBytes(type) == 8 ? ~uint64_t{0} : uint64_t{1} << (8 * elementBytes(type));
    if (std::any_of(words.begin(), words.end(), [&](uint64_t w) { return w >= fits; })) return 0;
    checkRoundTrip(codec, type, used, words);
  } else {
    auto words = wordsFrom(all.subspan(of_base), rows, width, type);
    if (codec.number == kConstantEncoding) std::fill(words.begin(), words.end(), words[0]);
    checkRoundTrip(codec, type, used, words);
  }
  return 0;
}
