// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json/json_recovery.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tracesmith/import/json/json_token.hpp"

namespace tracesmith::import {
namespace {

constexpr size_t kMostOpen = 4096;  // brackets
constexpr size_t kLongestName = 256;

}  // namespace

bool isEventAhead(const char* at, const char* end) {
  end = std::min(end, at + kBoundaryBytes);
  at = skipSpaces(at, end);
  if (at == end || *at != '{') return false;
  const char* const object = at + 1;
  at = skipSpaces(object, end);
  if (at == end || *at != '"') return false;
  // A name must follow. Inside a text, what looks like an event has an escaped quote here.
  const auto length = std::min<size_t>(static_cast<size_t>(end - at - 1), kLongestName);
  const auto* quote = static_cast<const char*>(std::memchr(at + 1, '"', length));
  if (quote == nullptr) return false;
  at = skipSpaces(quote + 1, end);
  if (at == end || *at != ':') return false;
  std::string_view head(object, static_cast<size_t>(end - object));
  head = head.substr(0, head.find('}'));
  const size_t phase = head.find("\"ph\"");
  if (phase == std::string_view::npos) return false;
  const size_t colon = head.find_first_not_of(" \t\r\n", phase + 4);
  if (colon == std::string_view::npos || head[colon] != ':') return false;
  const size_t text = head.find_first_not_of(" \t\r\n", colon + 1);
  return text != std::string_view::npos && head[text] == '"';
}

/// Whether `c` closes the outermost bracket. After a bracket of the wrong kind, brackets are no
/// longer trusted.
bool JsonRecovery::closes(char c) {
  const char opened = c == '}' ? '{' : '[';
  if (open_.empty() || open_.back() != opened) {
    by_brackets_ = false;
    return false;
  }
  open_.pop_back();
  return open_.empty();
}

/// Whether the open brackets match up to the end of the value, and the list of events continues
/// there. If so, something that looks like an event inside is part of the value.
bool JsonRecovery::closesWell(const char* at, const char* end, size_t before) const {
  if (!by_brackets_ || text_ || open_.size() < 2 || open_.back() != '[') return false;
  // Looks ahead a small multiple of the value's length, so that the cost of much damage is not
  // quadratic.
  const size_t reach = std::max(kBoundaryBytes, 16 * before);
  end = at + std::min(reach, static_cast<size_t>(end - at));
  JsonRecovery brackets = *this;
  brackets.closes_well_ = true;
  if (brackets.scan(at, end, true) != Found::kEnd) return false;
  at = skipSpaces(at, end);
  return at < end && (*at == ']' || (*at == ',' && isEventAhead(at + 1, end)));
}

JsonRecovery::Found JsonRecovery::scan(const char*& at, const char* end, bool last) {
  const char* const begin = at;
  const auto passed = [&] { return passed_ + static_cast<size_t>(at - begin); };
  for (; at < end; ++at) {
    if (!last && static_cast<size_t>(end - at) < kBoundaryBytes) {
      passed_ = passed();
      return Found::kNothing;
    }
    const char c = *at;
    if (c == ',' && before_ == '}' && !closes_well_ && isEventAhead(at + 1, end)) {
      closes_well_ = closesWell(at, end, passed());
      if (!closes_well_) return Found::kEvent;
    }
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') before_ = c;
    if (!by_brackets_) continue;
    if (text_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        text_ = false;
      }
    } else if (c == '"') {
      text_ = true;
    } else if (c == '{' || c == '[') {
      open_ += c;
      if (open_.size() > kMostOpen) by_brackets_ = false;
    } else if ((c == '}' || c == ']') && closes(c)) {
      ++at;
      return Found::kEnd;
    }
  }
  return Found::kNothing;
}

}  // namespace tracesmith::import
