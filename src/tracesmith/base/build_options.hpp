// SPDX-License-Identifier: Apache-2.0
// Parses the options of clBuildProgram() and clCompileProgram(). All code that looks for folders
// and macros in them uses this parser: the agent that records included files, their replay, and the
// analysis of sources.
//
// - White space separates words; so does a NUL, which some programs count as part of the text.
// - White space between double quotes does not separate; the quotes are not part of the word.
// - A backslash takes the next character literally, also between quotes.
// - The value of -I, -D and -U follows directly or is the next word.
//
// Agents use this too: it allocates nothing and needs no library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tracesmith {

enum class BuildOptionKind : uint8_t {
  kFolder,    ///< -I
  kDefine,    ///< -D NAME or NAME=TEXT
  kUndefine,  ///< -U
  kOther,
};

/// One option. Its views refer to the parsed text.
struct BuildOption {
  BuildOptionKind kind = BuildOptionKind::kOther;
  std::string_view text;  ///< the option as written, including a separate value

  /// Calls put(char) for each character of the value, without quotes and backslashes; for kOther,
  /// of the word. Calls nothing if the value is missing.
  template <class Put>
  void value(Put&& put) const {
    size_t skipped = 0;
    forEachChar(value_text, [&](char c) {
      if (skipped == skipped_chars) {
        put(c);
      } else {
        ++skipped;
      }
    });
  }
  /// Copies the value to `out`, truncated to fit, and ends it with a NUL. Returns the full length;
  /// a length of `room` or more means that it was truncated.
  size_t copyValue(char* out, size_t room) const {
    size_t length = 0;
    value([&](char c) {
      if (length + 1 < room) out[length] = c;
      ++length;
    });
    if (room > 0) out[length < room ? length : room - 1] = 0;
    return length;
  }
  template <class String>
  String valueAs() const {
    String all;
    value([&](char c) { all += c; });
    return all;
  }

  /// Calls put(char) for each character of a written word, without quotes and backslashes.
  template <class Put>
  static void forEachChar(std::string_view word, Put&& put) {
    for (size_t i = 0; i < word.size(); ++i) {
      if (word[i] == '"') continue;
      if (word[i] == '\\' && i + 1 < word.size()) ++i;
      put(word[i]);
    }
  }

  std::string_view value_text;  // the word that contains the value
  size_t skipped_chars = 0;     // characters of "-I" in that word, which are not part of the value
};

class BuildOptions {
 public:
  explicit BuildOptions(std::string_view text) : text_(text) {}

  static constexpr bool isSpace(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';  // \t \n \v \f \r
  }

  /// Reads the next option; false if there are no more.
  bool next(BuildOption& out) {
    const size_t begin = skipSpace(at_);
    if (begin == text_.size()) return false;
    at_ = wordEnd(begin);
    const std::string_view word = text_.substr(begin, at_ - begin);
    char start[2] = {};
    size_t length = 0;
    BuildOption::forEachChar(word, [&](char c) {
      if (length < 2) start[length] = c;
      ++length;
    });
    out = {.text = word, .value_text = word};
    if (start[0] == '-') {
      out.kind = start[1] == 'I'   ? BuildOptionKind::kFolder
                 : start[1] == 'D' ? BuildOptionKind::kDefine
                 : start[1] == 'U' ? BuildOptionKind::kUndefine
                                   : BuildOptionKind::kOther;
    }
    if (out.kind == BuildOptionKind::kOther) return true;
    out.skipped_chars = 2;
    if (length > 2) return true;
    const size_t second = skipSpace(at_);
    at_ = wordEnd(second);
    out.skipped_chars = 0;
    out.value_text = text_.substr(second, at_ - second);
    out.text = text_.substr(begin, at_ - begin);
    return true;
  }

 private:
  size_t skipSpace(size_t at) const {
    while (at < text_.size() && isSpace(text_[at])) ++at;
    return at;
  }
  size_t wordEnd(size_t at) const {
    for (bool quoted = false; at < text_.size() && (quoted || !isSpace(text_[at])); ++at) {
      if (text_[at] == '"') {
        quoted = !quoted;
      } else if (text_[at] == '\\' && at + 1 < text_.size()) {
        ++at;
      }
    }
    return at;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace tracesmith
