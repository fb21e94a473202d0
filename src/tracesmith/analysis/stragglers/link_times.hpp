// SPDX-License-Identifier: Apache-2.0
// How long transfers of one kind took in each group of ranks, once all had come: what a slow
// connection shows in.
#pragma once

#include <cstdint>
#include <vector>

#include "tracesmith/analysis/stragglers/job_timeline.hpp"

namespace tracesmith {

/// A communicator, or two ranks that send to each other.
struct LinkGroup {
  std::vector<uint32_t> ranks;  ///< of the timeline, sorted
  uint32_t communicator = 0;
  bool is_pair = false;
  uint32_t hosts = 1;
  uint64_t transfers = 0;
  int64_t total_ns = 0;
  int64_t excess_ns = 0;  ///< beyond what the same transfers took in the typical group
  double slowness = 1;    ///< median of the ratios to the typical group; 1: nothing to compare with
  bool is_compared = false;
};

struct LinkTimes {
  std::vector<LinkGroup> groups;
  std::vector<uint32_t> group_of;      ///< by node
  std::vector<int64_t> if_typical_ns;  ///< by node: its transfer in the typical group
};

/// Transfers compare if function, bytes and number of ranks are equal, in three groups at least.
LinkTimes linkTimes(const JobTimeline& timeline);

/// The rank that explains most of the excess of slow groups: it is in them, and in no other.
/// kNoPart if there are none, or several ranks explain them equally well; those are in
/// `candidates`.
struct SlowLink {
  uint32_t rank = kNoPart;
  std::vector<uint32_t> candidates;
  std::vector<uint32_t> groups;  ///< the slow ones
  double slowness = 1;           ///< the median of theirs
};
/// `least`: how much slower than typical a group has to be.
SlowLink findSlowLink(const LinkTimes& links, size_t ranks, double least);

}  // namespace tracesmith
