// SPDX-License-Identifier: Apache-2.0
// Goes through a JSON document that lies in memory, member by member, and reads only what is asked
// for. What can be mended is mended where it stands (see JsonMending); at anything else it stops.
#pragma once

#include <string_view>

#include "tracesmith/import/json/json_token.hpp"

namespace tracesmith::import {

class JsonWalker {
 public:
  /// kJsonPadding zeros have to be behind `text`.
  explicit JsonWalker(std::string_view text, JsonMending* mended = nullptr)
      : at_(text.data()), end_(text.data() + text.size()), mended_(mended) {
    at_ = skipSpaces(at_, end_);
  }

  /// '{', '[', '"' or what else the value begins with; 0 at the end.
  char peek() const { return at_ < end_ ? *at_ : '\0'; }
  /// Goes into the object ('{') or list ('[') that stands here. False: it is something else.
  bool enter(char open) {
    if (failed() || peek() != open) return false;
    at_ = skipSpaces(at_ + 1, end_);
    first_ = true;
    return true;
  }
  /// To the next member of the object that was entered last, up to its value, which has to be
  /// entered and gone through, or read. False: it has no more, and is left; or a fault.
  bool member(std::string_view& key);
  /// The same for a list.
  bool element() { return next(']'); }
  /// The value that stands here, whole.
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
  bool first_ = false;  // nothing of what was entered last has been read
  JsonFault fault_ = JsonFault::kNone;
};

/// each(key, value) for the members of the object `raw`; what it does not read is passed over.
template <class Each>
void forMembers(std::string_view raw, const Each& each) {
  JsonWalker walker(raw);
  if (!walker.enter('{')) return;
  for (std::string_view key; walker.member(key);) each(key, walker.value());
}

/// each(value) for the elements of the list `raw`.
template <class Each>
void forElements(std::string_view raw, const Each& each) {
  JsonWalker walker(raw);
  if (!walker.enter('[')) return;
  while (walker.element()) each(walker.value());
}

}  // namespace tracesmith::import
