// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/stragglers/job_steps.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tracesmith {
namespace {

/// What an operation is, whichever ranks it is with.
uint64_t signatureOf(const JobTimeline& timeline, const RankPart& part) {
  const SyncNode& node = timeline.nodes[part.node];
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29);
  };
  mix(static_cast<uint64_t>(node.op));
  mix(static_cast<uint64_t>(node.function));
  mix(node.bytes);
  mix(node.is_message && &timeline.parts[node.root == kNoPart ? 0 : node.root] == &part ? 2 : 1);
  return hash;
}

bool repeatsAfter(const std::vector<uint64_t>& items, size_t period) {
  if (period == 0 || items.size() < 3 * period) return false;
  size_t equal = 0;
  for (size_t i = period; i < items.size(); ++i) equal += items[i] == items[i - period] ? 1 : 0;
  return equal * 100 >= (items.size() - period) * 97;
}

}  // namespace

size_t periodOf(const std::vector<uint64_t>& items) {
  std::unordered_map<uint64_t, size_t> counts;
  for (const uint64_t item : items) ++counts[item];
  // The distances of the rarest item that comes at least three times: it comes seldom in a step.
  const uint64_t* rarest = nullptr;
  for (const uint64_t& item : items) {
    if (counts[item] >= 3 && (rarest == nullptr || counts[item] < counts[*rarest])) rarest = &item;
  }
  if (rarest == nullptr) return 0;
  std::vector<size_t> places;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i] == *rarest) places.push_back(i);
  }
  constexpr size_t kMostInAStep = 16;
  size_t best = 0;
  for (size_t k = 1; k <= kMostInAStep && k < places.size(); ++k) {
    std::map<size_t, size_t> distances;
    for (size_t i = k; i < places.size(); ++i) ++distances[places[i] - places[i - k]];
    const auto most =
        std::max_element(distances.begin(), distances.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (repeatsAfter(items, most->first) && (best == 0 || most->first < best)) best = most->first;
  }
  return best;
}

JobSteps jobSteps(const JobTimeline& timeline) {
  JobSteps steps;
  const size_t ranks = timeline.ranks.size();
  steps.step_of.assign(timeline.parts.size(), kNoPart);
  steps.place_of.assign(timeline.parts.size(), 0);
  steps.places.assign(ranks, 0);
  steps.role_of.assign(ranks, 0);
  std::map<std::vector<uint64_t>, uint32_t> roles;
  std::vector<int64_t> offset(ranks, INT64_MIN);  // of the rank's own step numbers
  for (uint32_t r = 0; r < ranks; ++r) {
    std::vector<uint64_t> items;
    for (const RankPart& part : timeline.laneOf(r)) items.push_back(signatureOf(timeline, part));
    const size_t period = periodOf(items);
    if (period == 0) return {};
    steps.places[r] = static_cast<uint32_t>(period);
    std::vector<uint64_t> role(items.begin(), items.begin() + static_cast<ptrdiff_t>(period));
    std::sort(role.begin(), role.end());
    steps.role_of[r] = roles.try_emplace(role, static_cast<uint32_t>(roles.size())).first->second;
    for (uint32_t i = 0; i < items.size() / period * period; ++i) {
      steps.step_of[timeline.lanes[r].first + i] = i / steps.places[r];
      steps.place_of[timeline.lanes[r].first + i] = i % steps.places[r];
    }
  }
  steps.roles = static_cast<uint32_t>(roles.size());
  if (ranks == 0) return steps;
  // Ranks whose recordings began in different steps: an operation belongs to one step of all.
  offset[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const SyncNode& node : timeline.nodes) {
      const RankPart* known = nullptr;
      uint32_t known_at = 0;
      for (const uint32_t i : timeline.partsOf(node)) {
        if (steps.step_of[i] == kNoPart || offset[timeline.parts[i].rank] == INT64_MIN) continue;
        known = &timeline.parts[i];
        known_at = i;
        break;
      }
      if (known == nullptr) continue;
      for (const uint32_t i : timeline.partsOf(node)) {
        int64_t& of = offset[timeline.parts[i].rank];
        if (of != INT64_MIN || steps.step_of[i] == kNoPart) continue;
        of = offset[known->rank] + steps.step_of[known_at] - int64_t{steps.step_of[i]};
        changed = true;
      }
    }
  }
  int64_t lowest = INT64_MAX, first = INT64_MIN, last = INT64_MAX;
  for (uint32_t r = 0; r < ranks; ++r) {
    if (offset[r] == INT64_MIN) offset[r] = 0;
    lowest = std::min(lowest, offset[r]);
  }
  // Only steps that all ranks have.
  for (uint32_t r = 0; r < ranks; ++r) {
    const int64_t begin = offset[r] - lowest;
    first = std::max(first, begin);
    last = std::min(last, begin + timeline.lanes[r].second / steps.places[r]);
  }
  for (size_t i = 0; i < steps.step_of.size(); ++i) {
    if (steps.step_of[i] == kNoPart) continue;
    const int64_t step = int64_t{steps.step_of[i]} + offset[timeline.parts[i].rank] - lowest;
    steps.step_of[i] = step >= first && step < last ? static_cast<uint32_t>(step - first) : kNoPart;
  }
  steps.count = last > first ? static_cast<uint32_t>(last - first) : 0;
  return steps;
}

}  // namespace tracesmith
