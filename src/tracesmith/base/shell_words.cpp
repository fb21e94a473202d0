// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/shell_words.hpp"

#include <algorithm>

namespace tracesmith {

std::string shellQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string shellWord(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./-+:,@%").find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x80;
  });
  return plain ? std::string(text) : shellQuoted(text);
}

}  // namespace tracesmith
