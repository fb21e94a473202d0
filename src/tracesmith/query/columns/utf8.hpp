// SPDX-License-Identifier: Apache-2.0
// Converts texts for consumers that accept only UTF-8.
#pragma once

#include <string_view>
#include <vector>

namespace tracesmith {

/// Appends `text`; bytes that are not UTF-8 become U+FFFD.
void appendUtf8(std::vector<char>& out, std::string_view text);

}  // namespace tracesmith
