// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_clocks.hpp"

#include <limits>
#include <map>
#include <string_view>

#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {

CommClocks::CommClocks(const Trace& trace) {
  if (!isMerged(trace)) return;
  are_comparable_ = haveOneClock(trace).has_value();
  std::map<std::string_view, uint32_t> known;
  for (size_t i = 0; i < trace.rank.size(); ++i) {
    const auto clock = trace.metadataValue(rankMetadataPrefix(trace.rank.number[i]) + "clock_id");
    // A clock without a name is one of its own.
    const auto next = static_cast<uint32_t>(trace.rank.size() + i);
    clock_of_.push_back(
        clock.empty() ? next : known.try_emplace(clock, static_cast<uint32_t>(i)).first->second);
    errors_ns_.push_back(trace.rank.clock_error_ns[i]);
  }
}

uint64_t CommClocks::apart(RankId a, RankId b) const {
  if (a == b || a == RankId::kNone || b == RankId::kNone) return 0;
  const uint32_t i = indexOf(a), j = indexOf(b);
  if (i >= clock_of_.size() || j >= clock_of_.size() || clock_of_[i] == clock_of_[j]) return 0;
  uint64_t sum = 0;
  return __builtin_add_overflow(errors_ns_[i], errors_ns_[j], &sum)
             ? std::numeric_limits<uint64_t>::max()
             : sum;
}

}  // namespace tracesmith
