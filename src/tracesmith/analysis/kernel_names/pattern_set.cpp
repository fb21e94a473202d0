// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/pattern_set.hpp"

namespace tracesmith {

PatternSet::PatternSet(const std::vector<std::string_view>& patterns) {
  class_of_.fill(kClasses - 1);
  for (uint8_t i = 0; i < 26; ++i) class_of_['a' + i] = class_of_['A' + i] = i;
  for (uint8_t i = 0; i < 10; ++i) class_of_['0' + i] = static_cast<uint8_t>(26 + i);
  class_of_['_'] = 36;
  class_of_[':'] = 37;

  // The tree of all patterns. State 0 is its root, so 0 also means "no child yet".
  std::vector<uint16_t> next(kClasses, 0);
  std::vector<std::vector<uint16_t>> ends(1);
  for (size_t p = 0; p < patterns.size(); ++p) {
    uint32_t state = 0;
    for (const char c : patterns[p]) {
      const size_t edge = state * kClasses + class_of_[static_cast<uint8_t>(c)];
      if (next[edge] == 0) {
        next[edge] = static_cast<uint16_t>(ends.size());
        ends.emplace_back();
        next.resize(next.size() + kClasses, 0);
      }
      state = next[edge];
    }
    ends[state].push_back(static_cast<uint16_t>(p));
  }

  // Breadth first: `suffix` is the state of the longest proper suffix that is in the tree.
  std::vector<uint32_t> suffix(ends.size(), 0);
  std::vector<uint32_t> order;
  for (uint32_t c = 0; c < kClasses; ++c) {
    if (next[c] != 0) order.push_back(next[c]);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t state = order[i];
    const std::vector<uint16_t>& inherited = ends[suffix[state]];
    ends[state].insert(ends[state].end(), inherited.begin(), inherited.end());
    for (uint32_t c = 0; c < kClasses; ++c) {
      const uint16_t beside = next[suffix[state] * kClasses + c];
      uint16_t& child = next[state * kClasses + c];
      if (child == 0) {
        child = beside;
      } else {
        suffix[child] = beside;
        order.push_back(child);
      }
    }
  }

  // The states' new numbers.
  std::vector<uint32_t> number(ends.size());
  uint32_t count = 0;
  for (size_t state = 0; state < ends.size(); ++state) {
    if (ends[state].empty()) number[state] = count++;
  }
  first_match_ = count * kClasses;
  for (size_t state = 0; state < ends.size(); ++state) {
    if (ends[state].empty()) continue;
    number[state] = count++;
    first_.push_back(static_cast<uint32_t>(ends_.size()));
    ends_.insert(ends_.end(), ends[state].begin(), ends[state].end());
  }
  first_.push_back(static_cast<uint32_t>(ends_.size()));
  edges_.resize(next.size());
  for (size_t edge = 0; edge < next.size(); ++edge) {
    const size_t from = number[edge / kClasses] * kClasses + edge % kClasses;
    edges_[from] = number[next[edge]] * kClasses;
  }
}

}  // namespace tracesmith
