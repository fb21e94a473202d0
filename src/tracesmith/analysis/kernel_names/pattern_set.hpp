// SPDX-License-Identifier: Apache-2.0
// Finds many short texts in one pass over a name, ignoring case (Aho and Corasick, "Efficient
// string matching", CACM 18(6), 1975). One table look-up per byte, however many texts there are.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tracesmith {

class PatternSet {
 public:
  /// The number of a pattern is its place in `patterns`; they are in lower case and not empty.
  explicit PatternSet(const std::vector<std::string_view>& patterns);

  /// Calls found(pattern, end) for each occurrence; `end` is the offset after it.
  template <class Found>
  void search(std::string_view text, Found&& found) const {
    uint32_t state = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const uint32_t next = edges_[state + class_of_[static_cast<uint8_t>(text[i])]];
      state = next & ~kMatches;
      if ((next & kMatches) == 0) continue;
      const uint32_t number = state / kClasses;
      for (uint32_t at = first_[number]; at < first_[number + 1]; ++at) found(ends_[at], i + 1);
    }
  }

 private:
  // Letters, digits, underscore, colon, and any other byte.
  static constexpr uint32_t kClasses = 40;

  std::array<uint8_t, 256> class_of_{};
  static constexpr uint32_t kMatches = 1u << 31;

  // edges_[state + class] is the next state, whose number is multiplied by kClasses already, with
  // kMatches if a pattern ends there.
  std::vector<uint32_t> edges_;
  std::vector<uint32_t> first_;  // ends_[first_[state]] to ends_[first_[state + 1]]: matches
  std::vector<uint16_t> ends_;
};

}  // namespace tracesmith
