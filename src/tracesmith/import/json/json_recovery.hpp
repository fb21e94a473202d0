// SPDX-License-Identifier: Apache-2.0
// Finds the place to continue after an event that could not be used. That is the end of its
// brackets, if they match, or a place where the text alone shows the start of another event,
// whichever comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tracesmith::import {

/// This many bytes are enough to decide whether an event starts at a position.
constexpr size_t kBoundaryBytes = 4096;

/// Whether an event starts at `at`, after optional spaces: `{ "name" :` and then `"ph" : "` with a
/// text, before any nested object ends. Without the second condition objects inside events would
/// look like events.
bool isEventAhead(const char* at, const char* end);

class JsonRecovery {
 public:
  enum class Found : uint8_t {
    kNothing,  ///< nothing yet: the bytes scanned so far are lost
    kEnd,      ///< one past the bracket that closes the value
    kEvent,    ///< the comma in front of another event
  };
  /// `by_brackets` false: brackets are not reliable there.
  explicit JsonRecovery(bool by_brackets) : by_brackets_(by_brackets) {}

  /// Continues with the bytes [at, end); `last`: no more follow. On return `at` is at what was
  /// found, or at the first byte that the next call must see again.
  Found scan(const char*& at, const char* end, bool last);

 private:
  bool closes(char c);
  bool closesWell(const char* at, const char* end, size_t before) const;

  bool by_brackets_;
  bool closes_well_ = false;  // known: the value's brackets match
  size_t passed_ = 0;         // bytes scanned by earlier calls
  bool text_ = false;
  bool escaped_ = false;
  char before_ = 0;   // the last byte that was not a space
  std::string open_;  // open brackets
};

}  // namespace tracesmith::import
