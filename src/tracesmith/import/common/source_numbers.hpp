// SPDX-License-Identifier: Apache-2.0
// Converts numbers and bytes of other tools' files to the types of a trace.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace tracesmith::import {

/// Negative values become 0.
inline uint64_t positive(int64_t value) {
  return static_cast<uint64_t>(std::max<int64_t>(value, 0));
}

/// The nearest value that fits in 32 bits.
inline uint32_t small(int64_t value) {
  return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<uint32_t>::max()));
}

/// Sums and differences of values from damaged files may overflow; these wrap as unsigned numbers.
inline int64_t wrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrappingDifference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

/// Parses `text` as a number, ignoring spaces around it. nullopt if it is empty or anything else
/// ("100a", "nan" and "inf" included).
inline std::optional<double> realNumber(std::string_view text) {
  const auto isSpace = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && isSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && isSpace(text.back())) text.remove_suffix(1);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, value);
  // A value too small for a double becomes 0; one too large is rejected below.
  if (error == std::errc::result_out_of_range)
    value = std::strtod(std::string(text).c_str(), nullptr);
  if (error == std::errc::invalid_argument || behind != end || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

/// Two lower-case digits for each byte.
inline std::string hexOf(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    hex += kDigits[static_cast<uint8_t>(c) >> 4];
    hex += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return hex;
}

}  // namespace tracesmith::import
