// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/stragglers/job_timeline.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "tracesmith/analysis/communication/collective_sets.hpp"
#include "tracesmith/analysis/communication/comm_bandwidth.hpp"
#include "tracesmith/analysis/stragglers/rank_work.hpp"
#include "tracesmith/model/ranks/ranks.hpp"

namespace tracesmith {
namespace {

/// Time in which the devices of a process did something else than communicating, as sums up to each
/// start, so that any interval is a difference.
class BusyTime {
 public:
  explicit BusyTime(std::vector<std::pair<int64_t, int64_t>> spans) {
    std::sort(spans.begin(), spans.end());
    for (const auto& [begin, end] : spans) {
      if (end <= begin) continue;
      if (!spans_.empty() && begin <= spans_.back().second) {
        spans_.back().second = std::max(spans_.back().second, end);
      } else {
        spans_.emplace_back(begin, end);
      }
    }
    before_.reserve(spans_.size());
    int64_t sum = 0;
    for (const auto& [begin, end] : spans_) {
      before_.push_back(sum);
      sum += end - begin;
    }
  }
  int64_t within(int64_t from, int64_t to) const { return upTo(to) - upTo(from); }

 private:
  int64_t upTo(int64_t time) const {
    const auto after = std::upper_bound(spans_.begin(), spans_.end(), time,
                                        [](int64_t t, const auto& span) { return t < span.first; });
    if (after == spans_.begin()) return 0;
    const auto i = static_cast<size_t>(after - spans_.begin()) - 1;
    return before_[i] + std::min(time, spans_[i].second) - spans_[i].first;
  }

  std::vector<std::pair<int64_t, int64_t>> spans_;
  std::vector<int64_t> before_;
};

/// Pairs of a send and its receive: in the order in which each side made them.
void addMessages(const std::vector<CommOperation>& operations,
                 const JobCommunicators& communicators, JobTimeline& timeline,
                 std::vector<uint32_t>& node_of) {
  // communicator, sender, receiver, tag
  using Key = std::tuple<uint32_t, int64_t, int64_t, int32_t>;
  std::map<Key, std::pair<std::vector<uint32_t>, std::vector<uint32_t>>> ends;
  for (uint32_t i = 0; i < operations.size(); ++i) {
    const CommOperation& o = operations[i];
    if (o.member == kNoPart || o.peer < 0) continue;
    const int64_t self = communicators.members[o.member].rank;
    if (o.kind == CommKind::kSend) ends[{o.communicator, self, o.peer, o.tag}].first.push_back(i);
    if (o.kind == CommKind::kReceive)
      ends[{o.communicator, o.peer, self, o.tag}].second.push_back(i);
  }
  for (const auto& [key, both] : ends) {
    const size_t pairs = std::min(both.first.size(), both.second.size());
    for (size_t i = 0; i < pairs; ++i) {
      const CommOperation& receive = operations[both.second[i]];
      SyncNode node;
      node.communicator = receive.communicator;
      node.function = receive.function;
      node.bytes = std::max(operations[both.first[i]].bytes, receive.bytes);
      node.op = CollectiveOp::kSendRecv;
      node.is_message = true;
      node.root_waits = WaitsFor::kNobody;  // the sender
      node.others_wait = WaitsFor::kRoot;
      node_of[both.first[i]] = node_of[both.second[i]] =
          static_cast<uint32_t>(timeline.nodes.size());
      timeline.nodes.push_back(node);
    }
  }
}

void addCollectives(const Trace& trace, const std::vector<CommOperation>& operations,
                    const JobCommunicators& communicators, JobTimeline& timeline,
                    std::vector<uint32_t>& node_of) {
  const CollectiveSets sets = collectiveSets(trace, operations, communicators);
  for (const CollectiveSet& set : sets.sets) {
    if (set.count < 2) continue;
    const CommOperation& first = operations[sets.of(set).front().operation];
    SyncNode node;
    node.communicator = first.communicator;
    node.function = first.function;
    node.op = first.op;
    if (!waitsForAll(first.op)) {
      const bool gathers = first.op == CollectiveOp::kReduce || first.op == CollectiveOp::kGather;
      node.root_waits = gathers ? WaitsFor::kAll : WaitsFor::kNobody;
      node.others_wait = gathers ? WaitsFor::kNobody : WaitsFor::kRoot;
    }
    for (const CollectiveCall& call : sets.of(set)) {
      node.bytes = std::max(node.bytes, operations[call.operation].bytes);
      node_of[call.operation] = static_cast<uint32_t>(timeline.nodes.size());
    }
    timeline.nodes.push_back(node);
  }
}

/// Of operations of which only the end is known, by their place: they take as long as the median of
/// their node's other parts, so that nobody comes earlier or later for it.
std::unordered_map<uint32_t, int64_t> typicalStarts(const std::vector<CommOperation>& operations,
                                                    const std::vector<uint32_t>& node_of) {
  std::unordered_map<uint32_t, std::vector<uint32_t>> unknown;  // by node
  for (uint32_t i = 0; i < operations.size(); ++i) {
    const bool has_start = operations[i].error_ns != CommOperation::kStartUnknown;
    if (!has_start && node_of[i] != kNoPart) unknown[node_of[i]].push_back(i);
  }
  std::unordered_map<uint32_t, int64_t> starts;
  if (unknown.empty()) return starts;
  std::unordered_map<uint32_t, std::vector<int64_t>> known;
  for (uint32_t i = 0; i < operations.size(); ++i) {
    const CommOperation& o = operations[i];
    if (o.error_ns == CommOperation::kStartUnknown || !unknown.contains(node_of[i])) continue;
    known[node_of[i]].push_back(std::max<int64_t>(0, lengthOf(o.begin_ns, o.end_ns)));
  }
  for (const auto& [node, places] : unknown) {
    const int64_t length = known[node].empty() ? 0 : lowerMedian(known[node]);
    for (const uint32_t i : places) {
      starts[i] = std::min(operations[i].begin_ns, operations[i].end_ns - length);
    }
  }
  return starts;
}

/// The parts of one rank, by time, each after the last one that had ended when it began.
void linkLane(std::span<RankPart> lane, uint32_t first, const BusyTime& busy) {
  std::sort(lane.begin(), lane.end(), [](const RankPart& a, const RankPart& b) {
    return std::pair(a.begin_ns, endOf(a.begin_ns, a.duration_ns)) <
           std::pair(b.begin_ns, endOf(b.begin_ns, b.duration_ns));
  });
  using End = std::pair<int64_t, uint32_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;  // of parts that began before
  int64_t last_end = 0;
  uint32_t last = kNoPart;
  for (uint32_t i = 0; i < lane.size(); ++i) {
    RankPart& part = lane[i];
    for (; !ends.empty() && ends.top().first <= part.begin_ns; ends.pop()) {
      std::tie(last_end, last) = ends.top();
    }
    part.after = last;
    if (last != kNoPart) {
      part.own_ns = part.begin_ns - last_end;
      part.busy_ns = busy.within(last_end, part.begin_ns);
    }
    ends.emplace(endOf(part.begin_ns, part.duration_ns), first + i);
  }
}

void addParts(const std::vector<CommOperation>& operations, const JobCommunicators& communicators,
              const DeviceOps& ops, const std::vector<uint32_t>& node_of, JobTimeline& timeline) {
  const std::unordered_map<uint32_t, int64_t> starts = typicalStarts(operations, node_of);
  timeline.without_start = starts.size();
  std::map<uint32_t, std::vector<RankPart>> by_rank;
  std::map<uint32_t, ProcessId> process_of;
  for (uint32_t i = 0; i < operations.size(); ++i) {
    const CommOperation& o = operations[i];
    if (node_of[i] == kNoPart) {
      ++timeline.left_out;
      continue;
    }
    const CommMember& member = communicators.members[o.member];
    process_of[member.who] = member.process;
    const auto typical = starts.find(i);
    const int64_t begin = typical == starts.end() ? o.begin_ns : typical->second;
    by_rank[member.who].push_back({.node = node_of[i],
                                   .duration_ns = std::max<int64_t>(0, lengthOf(begin, o.end_ns)),
                                   .begin_ns = begin,
                                   .operation = i});
  }
  std::map<ProcessId, std::vector<std::pair<int64_t, int64_t>>> work;
  for (const DeviceOp& op : ops.ops) {
    if (op.work == WorkClass::kCompute || op.work == WorkClass::kMemory) {
      work[op.process].emplace_back(op.begin_ns, op.end_ns);
    }
  }
  for (auto& [who, lane] : by_rank) {
    const auto first = static_cast<uint32_t>(timeline.parts.size());
    linkLane(lane, first, BusyTime(std::move(work[process_of[who]])));
    for (RankPart& part : lane) part.rank = static_cast<uint32_t>(timeline.ranks.size());
    timeline.parts.insert(timeline.parts.end(), lane.begin(), lane.end());
    timeline.lanes.emplace_back(first, static_cast<uint32_t>(lane.size()));
    timeline.ranks.push_back(who);
    timeline.labels.push_back(communicators.ranks()[who].label);
  }
}

/// How long a node took once everybody whom its parts wait for had come.
void timeTransfers(const std::vector<CommOperation>& operations,
                   const JobCommunicators& communicators, JobTimeline& timeline) {
  std::vector<uint32_t> next(timeline.nodes.size());
  for (const RankPart& part : timeline.parts) ++timeline.nodes[part.node].count;
  uint32_t at = 0;
  for (SyncNode& node : timeline.nodes) {
    node.first = at;
    at += node.count;
  }
  for (size_t i = 0; i < next.size(); ++i) next[i] = timeline.nodes[i].first;
  timeline.by_node.resize(at);
  for (uint32_t i = 0; i < timeline.parts.size(); ++i) {
    timeline.by_node[next[timeline.parts[i].node]++] = i;
  }
  for (SyncNode& node : timeline.nodes) {
    node.transfer_ns = INT64_MAX;
    for (const uint32_t i : timeline.partsOf(node)) {
      const RankPart& part = timeline.parts[i];
      const CommOperation& o = operations[part.operation];
      const bool is_root = node.is_message
                               ? o.kind == CommKind::kSend
                               : o.peer >= 0 && communicators.members[o.member].rank == o.peer;
      if (is_root) node.root = i;
      node.transfer_ns = std::min(node.transfer_ns, part.duration_ns);
    }
    if (node.count == 0) node.transfer_ns = 0;
  }
}

/// Ranks of one host have one clock, or one boot of one machine.
void findHosts(const Trace& trace, const JobCommunicators& communicators, JobTimeline& timeline) {
  std::map<std::string, uint32_t, std::less<>> known;
  for (const uint32_t who : timeline.ranks) {
    const CommRank& rank = communicators.ranks()[who];
    std::string host;
    const auto id = static_cast<size_t>(rank.rank_id);
    if (id != 0 && id <= trace.rank.size()) {
      host = trace.metadataValue(rankMetadataPrefix(trace.rank.number[id - 1]) + "clock_id");
    } else if (const auto p = static_cast<size_t>(rank.process);
               p != 0 && p <= trace.process.size()) {
      host = trace.text(trace.process.boot_id[p - 1]);
    }
    timeline.host_of.push_back(
        known.try_emplace(host, static_cast<uint32_t>(known.size())).first->second);
  }
}

}  // namespace

JobTimeline jobTimeline(const Trace& trace, const std::vector<CommOperation>& operations,
                        const JobCommunicators& communicators, const DeviceOps& ops) {
  JobTimeline timeline;
  std::vector<uint32_t> node_of(operations.size(), kNoPart);
  addCollectives(trace, operations, communicators, timeline, node_of);
  addMessages(operations, communicators, timeline, node_of);
  for (uint32_t i = 0; i < operations.size(); ++i) {
    if (operations[i].member == kNoPart) node_of[i] = kNoPart;
  }
  addParts(operations, communicators, ops, node_of, timeline);
  timeTransfers(operations, communicators, timeline);
  findHosts(trace, communicators, timeline);
  return timeline;
}

}  // namespace tracesmith
