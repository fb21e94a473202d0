// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/stragglers/link_times.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "tracesmith/analysis/stragglers/rank_work.hpp"

namespace tracesmith {
namespace {

constexpr size_t kLeastGroups = 3;
/// Fewer transfers say nothing about a group.
constexpr uint64_t kLeastTransfers = 5;

}  // namespace

LinkTimes linkTimes(const JobTimeline& timeline) {
  LinkTimes links;
  std::map<std::vector<uint32_t>, uint32_t> known;
  links.group_of.reserve(timeline.nodes.size());
  for (const SyncNode& node : timeline.nodes) {
    std::vector<uint32_t> ranks;
    for (const uint32_t i : timeline.partsOf(node)) ranks.push_back(timeline.parts[i].rank);
    std::sort(ranks.begin(), ranks.end());
    const auto [it, is_new] = known.try_emplace(ranks, static_cast<uint32_t>(links.groups.size()));
    if (is_new) {
      LinkGroup group;
      group.ranks = ranks;
      group.communicator = node.communicator;
      group.is_pair = node.is_message;
      std::vector<uint32_t> hosts;
      for (const uint32_t r : ranks) hosts.push_back(timeline.host_of[r]);
      std::sort(hosts.begin(), hosts.end());
      group.hosts = static_cast<uint32_t>(std::unique(hosts.begin(), hosts.end()) - hosts.begin());
      links.groups.push_back(group);
    }
    links.group_of.push_back(it->second);
  }
  // Of one kind of transfer: its time in each group.
  using Kind = std::tuple<CollectiveOp, uint64_t, size_t, bool, uint32_t>;
  std::map<Kind, std::map<uint32_t, std::vector<int64_t>>> kinds;
  const auto kindOf = [&](size_t n) {
    const SyncNode& node = timeline.nodes[n];
    return Kind{node.op, node.bytes, node.count, node.is_message,
                links.groups[links.group_of[n]].hosts};
  };
  for (size_t n = 0; n < timeline.nodes.size(); ++n) {
    const SyncNode& node = timeline.nodes[n];
    if (node.count == 0) continue;
    kinds[kindOf(n)][links.group_of[n]].push_back(node.transfer_ns);
  }
  std::map<Kind, int64_t> typical;
  std::vector<std::vector<double>> ratios(links.groups.size());
  for (const auto& [kind, groups] : kinds) {
    if (groups.size() < kLeastGroups) continue;
    std::vector<int64_t> medians;
    for (const auto& [group, times] : groups) medians.push_back(lowerMedian(times));
    typical[kind] = lowerMedian(medians);
  }
  links.if_typical_ns.reserve(timeline.nodes.size());
  for (size_t n = 0; n < timeline.nodes.size(); ++n) {
    const SyncNode& node = timeline.nodes[n];
    LinkGroup& group = links.groups[links.group_of[n]];
    ++group.transfers;
    group.total_ns += node.transfer_ns;
    const auto found = typical.find(kindOf(n));
    if (found == typical.end() || found->second <= 0) {
      links.if_typical_ns.push_back(node.transfer_ns);
      continue;
    }
    group.is_compared = true;
    group.excess_ns += node.transfer_ns - found->second;
    ratios[links.group_of[n]].push_back(static_cast<double>(node.transfer_ns) /
                                        static_cast<double>(found->second));
    links.if_typical_ns.push_back(std::min(node.transfer_ns, found->second));
  }
  for (size_t g = 0; g < links.groups.size(); ++g) {
    if (ratios[g].size() >= kLeastTransfers) links.groups[g].slowness = lowerMedian(ratios[g]);
  }
  return links;
}

SlowLink findSlowLink(const LinkTimes& links, size_t ranks, double least) {
  SlowLink slow;
  std::vector<double> explained(ranks, 0), ratios;
  std::vector<uint64_t> denied_between(ranks, 0), denied_within(ranks, 0);
  bool many_hosts = false;
  for (uint32_t g = 0; g < links.groups.size(); ++g) {
    const LinkGroup& group = links.groups[g];
    if (!group.is_compared) continue;
    const bool is_slow = group.slowness >= least && group.excess_ns > 0;
    if (is_slow) {
      slow.groups.push_back(g);
      ratios.push_back(group.slowness);
    }
    for (const uint32_t r : group.ranks) {
      if (is_slow) {
        explained[r] += static_cast<double>(group.excess_ns);
        many_hosts = many_hosts || group.hosts > 1;
      } else {
        (group.hosts > 1 ? denied_between : denied_within)[r] += 1;
      }
    }
  }
  if (slow.groups.empty()) return slow;
  slow.slowness = lowerMedian(ratios);
  double best = 0;
  for (uint32_t r = 0; r < ranks; ++r) best = std::max(best, explained[r]);
  // Of those that explain about as much: those that are in fewest groups that are not slow, though
  // they use the same connection. What stays within a host does not use an adapter.
  const std::vector<uint64_t>& denied = many_hosts ? denied_between : denied_within;
  uint64_t fewest = UINT64_MAX;
  for (uint32_t r = 0; r < ranks; ++r) {
    if (explained[r] < 0.8 * best || explained[r] <= 0) continue;
    if (denied[r] < fewest) slow.candidates.clear();
    fewest = std::min(fewest, denied[r]);
    if (denied[r] == fewest) slow.candidates.push_back(r);
  }
  if (slow.candidates.size() == 1) slow.rank = slow.candidates.front();
  return slow;
}

}  // namespace tracesmith
