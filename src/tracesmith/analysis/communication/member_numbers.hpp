// SPDX-License-Identifier: Apache-2.0
// The ranks of a communicator by their numbers in the job, as the table `communicator` has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tracesmith {

/// Reads "0-3,7": rank 4 of this communicator is rank 7 of the job. A text that is cut ("0-3,...")
/// or damaged counts up to that place. Takes memory by the length of the text, not by its ranks.
class MemberNumbers {
 public:
  MemberNumbers() = default;
  explicit MemberNumbers(std::string_view text);

  /// The number in the job of a rank of the communicator; nullopt: unknown.
  std::optional<uint32_t> at(int64_t rank) const;
  /// Ranks whose numbers are known.
  uint64_t count() const { return count_; }

 private:
  struct Run {
    uint64_t first_rank = 0;
    uint32_t first_number = 0;
  };
  std::vector<Run> runs_;  // by first_rank
  uint64_t count_ = 0;
};

}  // namespace tracesmith
