// SPDX-License-Identifier: Apache-2.0
// OpenCL C source as the compiler sees it after the preprocessor: comments removed, macros
// expanded, conditions decided, files included. If a result is unknown (a missing file, a condition
// on what only the compiler defines), it is reported, or all possibilities are tried.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tracesmith::races {

enum class TokenKind : uint8_t { kWord, kNumber, kText, kSign };

struct Token {
  std::string_view text;
  TokenKind kind = TokenKind::kSign;
  bool starts_line = false;
  bool is(std::string_view t) const { return text == t && kind != TokenKind::kText; }
};

/// Tokens of a program for one choice of its undecided conditions. They point into the source, the
/// options, and `made`.
struct SourceTokens {
  std::vector<Token> tokens;
  std::deque<std::string> made;
  bool understood = true;  ///< false: the tokens are unknown
};

/// Larger sources are not read.
constexpr size_t kMostSourceBytes = 4u << 20;

/// Known files that a source may include.
struct IncludedFiles {
  std::string folder;  ///< base of relative names
  std::map<std::string, std::string> by_path;
};

/// One result for each choice of the undecidable conditions, of which there may be four. Time and
/// memory are linear in the source and its includes. `source` and `options` must outlive the
/// result.
std::vector<SourceTokens> tokensOfSource(std::string_view source, std::string_view options,
                                         const IncludedFiles& files = {});

}  // namespace tracesmith::races
