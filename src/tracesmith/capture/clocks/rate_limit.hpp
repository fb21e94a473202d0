// SPDX-License-Identifier: Apache-2.0
// How often an address may ask (a token bucket for each).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace tracesmith {

class RateLimit {
 public:
  explicit RateLimit(double per_second) : per_second_(per_second) {}

  /// Whether one more is allowed. `now`: ns, of a clock that does not go back.
  bool take(const std::string& address, int64_t now) {
    // Whoever uses many addresses makes all of them start again, with no more than a second's
    // worth.
    if (by_address_.size() >= kMostAddresses && !by_address_.contains(address)) by_address_.clear();
    State& state = by_address_.try_emplace(address, State{per_second_, now}).first->second;
    const double since = static_cast<double>(now - state.at) * 1e-9;
    state.left = std::min(per_second_, state.left + since * per_second_);
    state.at = now;
    if (state.left < 1) return false;
    state.left -= 1;
    return true;
  }

  /// Those that are remembered.
  size_t addresses() const { return by_address_.size(); }
  static constexpr size_t kMostAddresses = 4096;

 private:
  struct State {
    double left = 0;
    int64_t at = 0;
  };

  double per_second_;
  std::map<std::string, State> by_address_;
};

}  // namespace tracesmith
