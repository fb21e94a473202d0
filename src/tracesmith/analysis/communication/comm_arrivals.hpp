// SPDX-License-Identifier: Apache-2.0
// Which rank came last to collectives, and how long the others waited for it.
//
// A rank arrives when its operation starts: where it runs on a device there, else with the call.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/communication/collective_sets.hpp"
#include "tracesmith/analysis/communication/comm_clocks.hpp"
#include "tracesmith/analysis/timing/distribution.hpp"

namespace tracesmith {

/// Of one collective.
struct CollectiveArrival {
  uint32_t set = 0;  ///< in CollectiveSets::sets
  int64_t first_ns = 0;
  int64_t spread_ns = 0;  ///< from the first rank to the last
  uint64_t apart_ns = 0;  ///< the clocks of these two tell times that are further apart than this
  /// Call of the last rank, in CollectiveSets::calls; kNone: the clocks do not tell which was last.
  uint32_t last = CommOperation::kNone;
  int64_t waited_ns = 0;  ///< by all ranks together for others that came later

  bool isResolved() const { return spread_ns > 0 && static_cast<uint64_t>(spread_ns) > apart_ns; }
};

/// Of one rank in one function of a communicator.
struct RankArrivals {
  uint32_t member = 0;
  StringId function{};
  uint64_t calls = 0;       ///< of which another rank's is in the trace
  uint64_t times_last = 0;  ///< and the clocks tell that it was
  int64_t late_ns = 0;      ///< in sum, by how much it came later than the one before it
  int64_t latest_ns = 0;    ///< the most of these
  int64_t waited_ns = 0;    ///< by this rank for others
  int64_t caused_ns = 0;    ///< by others for this one, where it was the one they waited for
};

/// Of all collectives of one function in a communicator.
struct FunctionArrivals {
  uint32_t communicator = 0;
  StringId function{};
  CollectiveOp op{};
  uint64_t collectives = 0;
  uint64_t whole = 0;      ///< to which all ranks of the communicator came
  uint64_t compared = 0;   ///< of which the spread is larger than the clocks' bound
  Distribution spread_ns;  ///< of those with several ranks
  int64_t waited_ns = 0;
};

struct CommArrivals {
  bool are_comparable = true;  ///< false: clocks were not compared, and all times below are missing
  std::vector<CollectiveArrival> collectives;  ///< with at least two ranks
  std::vector<RankArrivals> ranks;             ///< by communicator, function and rank
  std::vector<FunctionArrivals> functions;     ///< by communicator and function
};

/// How long ranks waited is known of operations whose definition says whom they need: all others;
/// the root of a broadcast or scatter; for the root of a reduce or gather, all others. A rank waits
/// at most as long as its operation took.
CommArrivals commArrivals(const Trace& trace, const std::vector<CommOperation>& operations,
                          const JobCommunicators& communicators, const CollectiveSets& sets);

}  // namespace tracesmith
