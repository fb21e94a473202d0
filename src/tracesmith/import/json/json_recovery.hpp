// SPDX-License-Identifier: Apache-2.0
// Where reading may go on behind an event that could not be used: at the end of its brackets, if
// they match, or where the text alone shows that another event begins, whichever comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tracesmith::import {

/// So many bytes behind a place tell whether an event begins there.
constexpr size_t kBoundaryBytes = 4096;

/// Whether an event begins at `at`, spaces aside:  { "name" :  and, before any object within it
/// ends, "ph" : "  with a text. Objects within events look like events otherwise.
bool isEventAhead(const char* at, const char* end);

class JsonRecovery {
 public:
  enum class Found : uint8_t {
    kNothing,  ///< so far: the bytes that were looked at are lost
    kEnd,      ///< one past what the value's brackets close
    kEvent,    ///< the comma in front of another event
  };
  /// `by_brackets` false: what lies there has no brackets that could be trusted.
  explicit JsonRecovery(bool by_brackets) : by_brackets_(by_brackets) {}

  /// Goes on with the bytes at [at, end); `last`: no others will follow. `at` is afterwards at what
  /// was found, or at the first byte that has to be seen again.
  Found scan(const char*& at, const char* end, bool last);

 private:
  bool closes(char c);
  bool closesWell(const char* at, const char* end, size_t before) const;

  bool by_brackets_;
  bool closes_well_ = false;  // the end of the value is known to come
  size_t passed_ = 0;         // bytes of earlier calls
  bool text_ = false;
  bool escaped_ = false;
  char before_ = 0;   // the last byte that was no space
  std::string open_;  // brackets
};

}  // namespace tracesmith::import
