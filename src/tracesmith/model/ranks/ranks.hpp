// SPDX-License-Identifier: Apache-2.0
// The ranks of a merged trace (`tracesmith merge`). If their clocks were compared, all times are of
// the first rank's clock. Otherwise each rank keeps its own, so times of two ranks do not compare:
// analyses take the part of one rank, and viewers align the ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

inline bool isMerged(const Trace& trace) { return !trace.rank.empty(); }

/// Metadata of a rank has the keys of its own trace after this prefix: "rank.3.hostname".
std::string rankMetadataPrefix(uint32_t number);

/// The rank with this number in its job; kNone if there is none.
RankId rankByNumber(const Trace& trace, uint32_t number);
/// "0, 1 and 3".
std::string rankNumbersText(const Trace& trace);

/// For analyses that compare times of all rows: fails if the trace has ranks with different clocks,
/// and says how to get one of them as a trace.
Status haveOneClock(const Trace& trace);

/// A sentence for people on how far times of two ranks compare. Of a merged trace.
std::string clocksText(const Trace& trace);
/// Of ranks whose clocks were not compared.
extern const char* const kRanksHaveOwnClocks;

/// Two groups of ranks; within a group the ranks have the same clock.
struct ClockPair {
  std::string ranks, other_ranks;  ///< "0, 1 and 3"
  uint64_t apart_ns = 0;  ///< events of the two are in the order of their times if further apart
};
/// The pairs of different clocks of a trace whose ranks haveOneClock().
std::vector<ClockPair> clockPairs(const Trace& trace);

/// Finds the rank to which a row belongs. Valid while the trace's dictionaries are unchanged.
class RankLookup {
 public:
  explicit RankLookup(const Trace& trace);

  /// The rank of a row's process; without one that of its stream, thread, device, context, counter
  /// track or clock. kNone: nothing tells.
  template <class Table>
  RankId of(const Table& table, size_t row) const {
    RankId rank{};
    const auto look = [&](const std::vector<RankId>& ranks, auto id) {
      const auto i = static_cast<size_t>(id);
      if (rank == RankId::kNone && i != 0 && i <= ranks.size()) rank = ranks[i - 1];
    };
    if constexpr (requires { table.rank_id; }) rank = table.rank_id[row];
    if constexpr (requires { table.process_id; }) look(process_, table.process_id[row]);
    if constexpr (requires { table.stream_id; }) look(stream_, table.stream_id[row]);
    if constexpr (requires { table.thread_id; }) look(thread_, table.thread_id[row]);
    if constexpr (requires { table.device_id; }) look(device_, table.device_id[row]);
    if constexpr (requires { table.context_id; }) look(context_, table.context_id[row]);
    if constexpr (requires { table.track_id; }) look(track_, table.track_id[row]);
    if constexpr (requires { table.domain_id; }) look(clock_, table.domain_id[row]);
    return rank;
  }

 private:
  template <class Table>
  std::vector<RankId> ranksOf(const Table& table) const {
    std::vector<RankId> ranks(table.size());
    for (size_t i = 0; i < ranks.size(); ++i) ranks[i] = of(table, i);
    return ranks;
  }

  // In this order each looks only at those before it.
  std::vector<RankId> process_, device_, clock_, thread_, context_, stream_, track_;
};

/// Gives the rows that lead to no rank a process of this rank, "events of no process". Losses stay
/// as they are.
void giveProcessOf(Trace& trace, RankId rank);

/// Start of the first and end of the last event of each rank, each in its own clock; {0, 0} for a
/// rank without events.
std::vector<TimeRange> rangesOfRanks(const Trace& trace);

/// A trace of one rank, as its own file would give it: ids count from 1, and metadata has its own
/// keys. Only correlation and flow ids, and times that were converted, remain those of the merged
/// trace.
Trace partOfRank(const Trace& trace, RankId rank);

/// Some ranks of a merged trace, which is merged still. `chosen`: at least one, each once.
Trace partOfRanks(const Trace& trace, const std::vector<RankId>& chosen);

/// Puts all ranks on one time axis, and the rank before the names of processes and devices, for
/// viewers. If their clocks were compared (RankClocks), that is the axis of the first rank.
/// Otherwise all ranks start with their first event at the same time, and pairs of times of two
/// clocks are removed, because they no longer hold. Returns a sentence for people on what the
/// alignment is worth.
std::string alignRanks(Trace& trace);

}  // namespace tracesmith
