// SPDX-License-Identifier: Apache-2.0
// Kinds of bytes in names, independent of the locale.
#pragma once

namespace tracesmith::name_bytes {

inline bool isDigit(char c) { return c >= '0' && c <= '9'; }
inline bool isLower(char c) { return c >= 'a' && c <= 'z'; }
inline bool isUpper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool isLetter(char c) { return isLower(c) || isUpper(c); }

}  // namespace tracesmith::name_bytes
