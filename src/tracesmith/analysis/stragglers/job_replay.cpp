// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/stragglers/job_replay.hpp"

#include <algorithm>

namespace tracesmith {
namespace {

/// The part whose arrival decides when `part` can leave: itself, the root, or the last of all.
uint32_t decidingPart(const SyncNode& node, uint32_t part, uint32_t last,
                      const std::vector<int64_t>& arrival) {
  const WaitsFor waits = part == node.root ? node.root_waits : node.others_wait;
  if (waits == WaitsFor::kAll) return last;
  if (waits == WaitsFor::kRoot && node.root != kNoPart && arrival[node.root] > arrival[part]) {
    return node.root;
  }
  return part;
}

uint32_t lastToArrive(const JobTimeline& timeline, const SyncNode& node,
                      const std::vector<int64_t>& arrival) {
  uint32_t last = kNoPart;
  for (const uint32_t i : timeline.partsOf(node)) {
    if (last == kNoPart || arrival[i] > arrival[last]) last = i;
  }
  return last;
}

}  // namespace

std::vector<int64_t> ownTimes(const JobTimeline& timeline) {
  std::vector<int64_t> own;
  own.reserve(timeline.parts.size());
  for (const RankPart& part : timeline.parts) own.push_back(part.own_ns);
  return own;
}

std::vector<int64_t> transferTimes(const JobTimeline& timeline) {
  std::vector<int64_t> transfers;
  transfers.reserve(timeline.nodes.size());
  for (const SyncNode& node : timeline.nodes) transfers.push_back(node.transfer_ns);
  return transfers;
}

JobReplay replayJob(const JobTimeline& timeline, const std::vector<int64_t>& own_ns,
                    const std::vector<int64_t>& transfer_ns) {
  JobReplay replay;
  const size_t parts = timeline.parts.size();
  replay.arrival_ns.assign(parts, 0);
  replay.leave_ns.assign(parts, 0);
  // A node can be done when the parts before its own have been.
  std::vector<uint32_t> open(timeline.nodes.size());
  for (size_t i = 0; i < open.size(); ++i) open[i] = timeline.nodes[i].count;
  std::vector<std::pair<uint32_t, uint32_t>> next;  // a part, and the one after it
  for (uint32_t i = 0; i < parts; ++i) {
    const RankPart& part = timeline.parts[i];
    if (part.after == kNoPart) {
      replay.arrival_ns[i] = own_ns[i];
      --open[part.node];
    } else {
      next.emplace_back(part.after, i);
    }
  }
  std::sort(next.begin(), next.end());
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < open.size(); ++i) {
    if (open[i] == 0 && timeline.nodes[i].count > 0) ready.push_back(i);
  }
  size_t done = 0;
  while (!ready.empty()) {
    const uint32_t n = ready.back();
    ready.pop_back();
    ++done;
    const SyncNode& node = timeline.nodes[n];
    const uint32_t last = lastToArrive(timeline, node, replay.arrival_ns);
    for (const uint32_t i : timeline.partsOf(node)) {
      const uint32_t by = decidingPart(node, i, last, replay.arrival_ns);
      replay.leave_ns[i] = replay.arrival_ns[by] + transfer_ns[n];
      replay.length_ns = std::max(replay.length_ns, replay.leave_ns[i]);
      const auto from = std::lower_bound(next.begin(), next.end(), std::pair(i, uint32_t{0}));
      for (auto it = from; it != next.end() && it->first == i; ++it) {
        const uint32_t later = it->second;
        replay.arrival_ns[later] = replay.leave_ns[i] + own_ns[later];
        if (--open[timeline.parts[later].node] == 0) ready.push_back(timeline.parts[later].node);
      }
    }
  }
  const auto with_parts = std::count_if(timeline.nodes.begin(), timeline.nodes.end(),
                                        [](const SyncNode& node) { return node.count > 0; });
  replay.in_circles = static_cast<uint64_t>(with_parts) - done;
  return replay;
}

std::vector<CriticalPiece> criticalPieces(const JobTimeline& timeline, const JobReplay& replay,
                                          const std::vector<int64_t>& own_ns,
                                          const std::vector<int64_t>& transfer_ns) {
  std::vector<CriticalPiece> pieces;
  if (replay.leave_ns.empty()) return pieces;
  auto at = static_cast<uint32_t>(std::max_element(replay.leave_ns.begin(), replay.leave_ns.end()) -
                                  replay.leave_ns.begin());
  for (;;) {
    const uint32_t n = timeline.parts[at].node;
    const SyncNode& node = timeline.nodes[n];
    const uint32_t last = lastToArrive(timeline, node, replay.arrival_ns);
    const uint32_t by = decidingPart(node, at, last, replay.arrival_ns);
    pieces.push_back({by, own_ns[by], transfer_ns[n]});
    if (timeline.parts[by].after == kNoPart) break;
    at = timeline.parts[by].after;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

}  // namespace tracesmith
