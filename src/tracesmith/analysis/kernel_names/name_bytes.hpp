// SPDX-License-Identifier: Apache-2.0
// Kinds of bytes in names, independent of the locale.
#pragma once

namespace tracesmith::name_bytes {

constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool isLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool isUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool isLetter(char c) { return isLower(c) || isUpper(c); }

}  // namespace tracesmith::name_bytes
