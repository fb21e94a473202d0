// SPDX-License-Identifier: Apache-2.0
// The ranks of a group, as PyTorch writes them: "[0, 1, 2, 3]". Long lists may be abbreviated:
// "[0, 1, ..., 127]".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tracesmith::import {

class RankList {
 public:
  /// nullopt if `text` is not a list of numbers.
  static std::optional<RankList> read(std::string_view text);

  uint64_t size() const { return size_; }
  /// False if ranks were left out of the text.
  bool isWhole() const { return is_whole_; }
  /// The place of a rank of the job in this group; -1: it is no member, or not in the text.
  int64_t placeOf(int64_t rank) const;
  /// The ranks in order, consecutive ones together: "0-3,7". Abbreviated lists end in ",...".
  std::string text() const;

 private:
  std::vector<std::pair<int64_t, int64_t>> runs_;  // first rank, number of ranks
  uint64_t size_ = 0;
  bool is_whole_ = true;
};

/// The key of a communicator of which only names are known: equal for equal names and ranks, so
/// that all members derive the same one. Without a whole list of ranks, the name alone counts.
/// Never 0.
uint64_t communicatorKey(std::string_view name, const RankList* ranks);

}  // namespace tracesmith::import
