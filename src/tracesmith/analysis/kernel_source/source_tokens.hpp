// SPDX-License-Identifier: Apache-2.0
// OpenCL C source as the compiler sees it after its preprocessor: comments gone, macros expanded,
// conditions decided, files included. Where that cannot be known (a file that is not there, a
// condition about what only the compiler defines), it is said, or all possibilities are tried.
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

/// Tokens of a program as one choice of its open conditions has it. They point into the source, the
/// options, and `made`.
struct SourceTokens {
  std::vector<Token> tokens;
  std::deque<std::string> made;
  bool understood = true;  ///< false: what the tokens are is not known
};

/// Beyond it a source is not read.
constexpr size_t kMostSourceBytes = 4u << 20;

/// What a source may include, as far as that is known.
struct IncludedFiles {
  std::string folder;  ///< that relative names are about
  std::map<std::string, std::string> by_path;
};

/// One for each choice of the conditions that cannot be decided, of which there may be four. Time
/// and memory linear in the source and what it includes. Source and options must outlive the
/// answer.
std::vector<SourceTokens> tokensOfSource(std::string_view source, std::string_view options,
                                         const IncludedFiles& files = {});

}  // namespace tracesmith::races
