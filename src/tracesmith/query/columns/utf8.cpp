// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/columns/utf8.hpp"

#include <cstdint>

namespace tracesmith {
namespace {

/// Length of the UTF-8 character at the start of `text`; 0 if there is none.
size_t characterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto continues = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xbf) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool second = continues(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf);
    return second && continues(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool second = continues(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf);
    return second && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

void appendUtf8(std::vector<char>& out, std::string_view text) {
  size_t good = 0;  // valid bytes that are not appended yet
  size_t at = 0;
  const auto flush = [&] { out.insert(out.end(), text.begin() + good, text.begin() + at); };
  while (at < text.size()) {
    const size_t bytes = characterBytes(text.substr(at));
    if (bytes != 0) {
      at += bytes;
      continue;
    }
    flush();
    constexpr std::string_view kReplacement = "\xef\xbf\xbd";
    out.insert(out.end(), kReplacement.begin(), kReplacement.end());
    good = ++at;
  }
  flush();
}

}  // namespace tracesmith
