// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/select/name_pattern.hpp"

#include <cstddef>

namespace tracesmith {
namespace {

/// Reads the character class that starts at pattern[i] = '['. Returns false if it has no end, so
/// that '[' is an ordinary character.
bool readClass(std::string_view pattern, size_t& i, char c, bool& in) {
  size_t at = i + 1;
  const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (negated) ++at;
  bool found = false;
  for (const size_t first = at; at < pattern.size(); ++at) {
    if (pattern[at] == ']' && at != first) {
      in = found != negated;
      i = at + 1;
      return true;
    }
    if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
      found = found || (c >= pattern[at] && c <= pattern[at + 2]);
      at += 2;
    } else {
      found = found || c == pattern[at];
    }
  }
  return false;
}

/// Matches one character of the text with the pattern element at `p`; moves `p` past it.
bool matchesOne(std::string_view pattern, size_t& p, char c) {
  bool in = false;
  if (pattern[p] == '[' && readClass(pattern, p, c, in)) return in;
  const bool same = pattern[p] == '?' || pattern[p] == c;
  ++p;
  return same;
}

/// Backtracks only to the last star, so the time is at most pattern length times text length.
bool globMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
      continue;
    }
    size_t next = p;
    if (p < pattern.size() && matchesOne(pattern, next, text[t])) {
      p = next;
      ++t;
      continue;
    }
    if (star == std::string_view::npos) return false;
    p = star + 1;
    t = ++star_text;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool NamePattern::matches(std::string_view name) const {
  if (text_.empty()) return true;
  return glob_ ? globMatches(text_, name) : name.find(text_) != std::string_view::npos;
}

}  // namespace tracesmith
