// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/rank_in_name.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

namespace tracesmith::import {

std::optional<uint32_t> rankInName(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kWord = "rank";
  for (size_t at = name.rfind(kWord); at != std::string::npos;
       at = at == 0 ? std::string::npos : name.rfind(kWord, at - 1)) {
    size_t digits = at + kWord.size();
    if (digits < name.size() && std::string_view("-_.=").find(name[digits]) != std::string::npos) {
      ++digits;
    }
    uint32_t number = 0;
    const auto [end, error] =
        std::from_chars(name.data() + digits, name.data() + name.size(), number);
    if (error == std::errc() && isRank(number)) return number;
  }
  return std::nullopt;
}

}  // namespace tracesmith::import
