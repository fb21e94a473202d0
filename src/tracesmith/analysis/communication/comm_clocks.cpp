// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/communication/comm_clocks.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {

CommClocks::CommClocks(const Trace& trace) {
  const RankLookup ranks(trace);
  for (size_t i = 0; i < trace.clock_snapshot.size(); ++i) {
    const int64_t error = trace.clock_snapshot.error_ns[i];
    uint64_t& worst = device_errors_ns_[ranks.of(trace.clock_snapshot, i)];
    worst = std::max(worst, static_cast<uint64_t>(std::max<int64_t>(error, 0)));
  }
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
  return sumOfErrors(errors_ns_[i], errors_ns_[j]);
}

uint64_t CommClocks::deviceError(RankId rank) const {
  const auto known = device_errors_ns_.find(rank);
  return known == device_errors_ns_.end() ? 0 : known->second;
}

}  // namespace tracesmith
