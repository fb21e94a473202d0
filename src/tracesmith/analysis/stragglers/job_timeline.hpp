// SPDX-License-Identifier: Apache-2.0
// A job as its synchronisations and what each rank did between them.
//
// Only durations count: how long a rank worked on its own before it came to a collective or
// message, and how long the transfer took once all were there. So no two clocks are compared
// (StageFrontier, 2026, accounts for the stages of a step like this).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tracesmith/analysis/communication/comm_operations.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// No index.
inline constexpr uint32_t kNoPart = ~uint32_t{0};

/// One rank's part in a synchronisation.
struct RankPart {
  uint32_t node = 0;
  uint32_t rank = 0;
  /// The part of the same rank that ended last before this one began; kNoPart: this is the first.
  uint32_t after = kNoPart;
  int64_t duration_ns = 0;
  /// Between the end of `after` and the start of this: the rank's own work.
  int64_t own_ns = 0;
  int64_t busy_ns = 0;  ///< of these the device computed or copied
  int64_t begin_ns = 0;
  uint32_t operation = 0;  ///< index in the operations
};

/// Whom a part waits for.
enum class WaitsFor : uint8_t { kNobody, kRoot, kAll };

/// A collective, or a message with both ends.
struct SyncNode {
  uint32_t first = 0, count = 0;  ///< in JobTimeline::by_node
  uint32_t communicator = 0;
  StringId function{};
  uint64_t bytes = 0;
  CollectiveOp op{};
  bool is_message = false;
  WaitsFor root_waits = WaitsFor::kAll, others_wait = WaitsFor::kAll;
  uint32_t root = kNoPart;  ///< a part; kNoPart: it has none, or that is not in the trace
  /// The shortest of the parts that wait: how long it took once all had come.
  int64_t transfer_ns = 0;
};

struct JobTimeline {
  std::vector<uint32_t> ranks;  ///< of JobCommunicators::ranks(), by their place here
  std::vector<std::string> labels;
  std::vector<uint32_t> host_of;                     ///< by rank: equal for ranks of one host
  std::vector<RankPart> parts;                       ///< by rank, then time
  std::vector<std::pair<uint32_t, uint32_t>> lanes;  ///< by rank: first part, number of parts
  std::vector<SyncNode> nodes;
  std::vector<uint32_t> by_node;  ///< parts of each node
  uint64_t left_out = 0;          ///< operations without a partner in the trace
  uint64_t without_start = 0;     ///< parts that are taken to have begun when the typical one did

  std::span<const RankPart> laneOf(uint32_t rank) const {
    return {parts.data() + lanes[rank].first, lanes[rank].second};
  }
  std::span<const uint32_t> partsOf(const SyncNode& node) const {
    return {by_node.data() + node.first, node.count};
  }
};

/// Of ranks that have at least one operation with others. Takes O(n log n).
JobTimeline jobTimeline(const Trace& trace, const std::vector<CommOperation>& operations,
                        const JobCommunicators& communicators, const DeviceOps& ops);

}  // namespace tracesmith
