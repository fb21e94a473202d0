// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/member_numbers.hpp"

#include <algorithm>
#include <charconv>

namespace tracesmith {

MemberNumbers::MemberNumbers(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    uint32_t first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) return;
    uint32_t last = first;
    if (read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
      if (read.ec != std::errc() || last < first) return;
    }
    runs_.push_back({count_, first});
    count_ += uint64_t{last} - first + 1;
    if (read.ptr == end || *read.ptr != ',') return;
    at = read.ptr + 1;
  }
}

std::optional<uint32_t> MemberNumbers::at(int64_t rank) const {
  if (rank < 0 || static_cast<uint64_t>(rank) >= count_) return std::nullopt;
  const auto wanted = static_cast<uint64_t>(rank);
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), wanted,
                       [](uint64_t value, const Run& run) { return value < run.first_rank; });
  const Run& run = *(after - 1);
  return run.first_number + static_cast<uint32_t>(wanted - run.first_rank);
}

}  // namespace tracesmith
