// SPDX-License-Identifier: Apache-2.0
// Walks through a JSON document in memory, member by member, and reads only what is asked for. It
// repairs in place what it can (see JsonMending) and stops at any other fault.
#pragma once

#include <string_view>

#include "tracesmith/import/json/json_token.hpp"

namespace tracesmith::import {

class JsonWalker {
 public:
  /// kJsonPadding zeros must follow `text`.
  explicit JsonWalker(std::string_view text, JsonMending* mended = nullptr)
      : at_(text.data()), end_(text.data() + text.size()), mended_(mended) {
    at_ = skipSpaces(at_, end_);
  }

  /// The first character of the value here ('{', '[', '"', …); 0 at the end.
  char peek() const { return at_ < end_ ? *at_ : '\0'; }
  /// Enters the object (`open` is '{') or list ('[') here. Returns false if the value is something
  /// else.
  bool enter(char open) {
    if (failed() || peek() != open) return false;
    at_ = skipSpaces(at_ + 1, end_);
    first_ = true;
    return true;
  }
  /// Moves to the value of the next member of the innermost entered object. The caller must then
  /// read that value, or enter it and read all of it. Returns false at a fault, or after the last
  /// member; the object is then left.
  bool member(std::string_view& key);
  /// The same for a list.
  bool element() { return next(']'); }
  /// Reads the whole value here.
  JsonToken value();

  bool failed() const { return fault_ != JsonFault::kNone; }
  JsonFault fault() const { return fault_; }
  const char* place() const { return at_; }

 private:
  bool next(char close);
  bool fail(JsonFault fault) {
    fault_ = fault;
    return false;
  }

  const char* at_;
  const char* end_;
  JsonMending* mended_;
  bool first_ = false;  // nothing read yet of the innermost entered value
  JsonFault fault_ = JsonFault::kNone;
};

/// A value as it appears in the document: a text with its quotes.
inline std::string_view wholeValue(const JsonToken& token) {
  return token.text ? std::string_view(token.raw.data() - 1, token.raw.size() + 2) : token.raw;
}

/// Calls each(key, value) for the members of the object `raw`.
template <class Each>
void forMembers(std::string_view raw, const Each& each) {
  JsonWalker walker(raw);
  if (!walker.enter('{')) return;
  for (std::string_view key; walker.member(key);) each(key, walker.value());
}

/// Calls each(value) for the elements of the list `raw`.
template <class Each>
void forElements(std::string_view raw, const Each& each) {
  JsonWalker walker(raw);
  if (!walker.enter('[')) return;
  while (walker.element()) each(walker.value());
}

}  // namespace tracesmith::import
