// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/suggest.hpp"

#include <algorithm>

namespace tracesmith::cli {

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(current);
  }
  return last[b.size()];
}

std::string closest(std::string_view typed, const std::vector<std::string>& candidates) {
  // Nobody mistypes a word of a hundred letters, and the distance is quadratic.
  if (typed.empty() || typed.size() > 100) return "";
  const std::string* best = nullptr;
  size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    size_t distance = editDistance(typed, candidate);
    const bool begun =
        typed.size() >= 2 && std::string_view(candidate).substr(0, typed.size()) == typed;
    if (begun) distance = 1;
    const size_t allowed = std::max<size_t>(1, std::max(typed.size(), candidate.size()) / 3);
    if (distance > allowed || distance >= candidate.size()) continue;
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best == nullptr ? "" : *best;
}

}  // namespace tracesmith::cli
