// SPDX-License-Identifier: Apache-2.0
// Writes what CUPTI could not deliver to the trace, and reads it again in a collector that resumes
// another's session.
#include <algorithm>
#include <charconv>

#include "tracesmith/capture/join/recorded_cuda.hpp"

namespace tracesmith {
namespace {

struct LossText {
  uint64_t CudaTotals::*count;
  std::string_view what;  // after the number
  bool is_work;           // it counts device work that is in no row
};

constexpr LossText kLossTexts[] = {
    {&CudaTotals::dropped, "were dropped by CUPTI, which had no buffer for them", true},
    {&CudaTotals::untimed, "have no times: the device had no room for them", true},
    {&CudaTotals::other_clock, "have times of another clock than the one that CUPTI was given",
     true},
    {&CudaTotals::never_came, "kernels were launched and not seen to end", true},
    {&CudaTotals::unfinished,
     "copies, sets and kernels of graphs had not ended when the program was killed", true},
    {&CudaTotals::interrupted, "were lost with the collector that was killed", true},
    {&CudaTotals::undefined, "names or devices found no room to be told", false},
    {&CudaTotals::refused, "times there was no buffer for CUPTI", false},
    {&CudaTotals::unreadable, "buffers of the killed program could not be read to their end",
     false},
    {&CudaTotals::unmatched,
     "waits for events have no edge: which recording they were for is not known", false},
    {&CudaTotals::unmatched_memory,
     "calls of the virtual memory API name memory whose creation was not recorded", false},
    {&CudaTotals::without_call, "belong to no call that was recorded", false},
};

constexpr std::string_view kBetween = "; ";

/// Null: not one of these.
const LossText* readPart(std::string_view part, uint64_t& count) {
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), count);
  const auto digits = static_cast<size_t>(end - part.data());
  if (error != std::errc() || digits == part.size() || part[digits] != ' ') return nullptr;
  for (const LossText& loss : kLossTexts) {
    if (loss.what == part.substr(digits + 1)) return &loss;
  }
  return nullptr;
}

}  // namespace

RecordedCuda::Losses RecordedCuda::losses() const {
  Losses out;
  if (!any_) return out;
  out.reason = problem_;
  for (const LossText& loss : kLossTexts) {
    const uint64_t count = totals_.*loss.count;
    // The call may still come, until everything has been seen.
    if (count == 0 || (loss.count == &CudaTotals::without_call && !finished_)) continue;
    const bool may_be_both =
        loss.count == &CudaTotals::dropped || loss.count == &CudaTotals::never_came;
    if (loss.is_work && !may_be_both) out.lost += count;
    out.reason += (out.reason.empty() ? "" : kBetween);
    out.reason += std::to_string(count) + ' ';
    out.reason += loss.what;
  }
  // A kernel whose record CUPTI dropped also counts as one that never came, so add only the larger.
  out.lost += std::max(totals_.dropped, totals_.never_came);
  return out;
}

void RecordedCuda::restoreLosses(std::string_view reason) {
  any_ = true;
  problem_.clear();
  while (!reason.empty()) {
    const std::string_view part = reason.substr(0, reason.find(kBetween));
    reason.remove_prefix(std::min(reason.size(), part.size() + kBetween.size()));
    uint64_t count = 0;
    if (const LossText* const loss = readPart(part, count)) {
      totals_.*loss->count = count;
    } else {
      problem_ += (problem_.empty() ? "" : kBetween);
      problem_ += part;
    }
  }
  restored_losses_ = {totals_.undefined, totals_.refused};
  restored_unmatched_ = totals_.unmatched;
}

}  // namespace tracesmith
