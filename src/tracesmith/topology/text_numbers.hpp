// SPDX-License-Identifier: Apache-2.0
// Numbers in files and tables.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace tracesmith::topology {

/// A decimal number that is the whole text.
inline std::optional<int64_t> integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One that fits 32 bits.
inline std::optional<int32_t> smallInteger(std::string_view text) {
  const auto value = integer(text);
  if (!value || *value < INT32_MIN || *value > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*value);
}

/// The number at the start of a text such as "16 GT/s"; 0 if there is none.
inline double numberAtStart(std::string_view text) {
  return std::strtod(std::string(text).c_str(), nullptr);
}

}  // namespace tracesmith::topology
