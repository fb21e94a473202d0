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
      state = edges_[state + class_of_[static_cast<uint8_t>(text[i])]];
      if (state < first_match_) continue;
      const uint32_t match = (state - first_match_) / kClasses;
      for (uint32_t at = first_[match]; at < first_[match + 1]; ++at) found(ends_[at], i + 1);
    }
  }

 private:
  // Letters, digits, underscore, colon, and any other byte.
  static constexpr uint32_t kClasses = 40;

  std::array<uint8_t, 256> class_of_{};

  // A state is its number times kClasses, and edges_[state + class] is the next one. States at
  // which a pattern ends have the highest numbers, so that one comparison finds them.
  std::vector<uint32_t> edges_;
  uint32_t first_match_ = 0;
  std::vector<uint32_t> first_;  // of the n-th such state: ends_[first_[n]] to ends_[first_[n + 1]]
  std::vector<uint16_t> ends_;
};

}  // namespace tracesmith
