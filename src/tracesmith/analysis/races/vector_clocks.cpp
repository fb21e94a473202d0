// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/races/vector_clocks.hpp"

#include <algorithm>

namespace tracesmith::races {

uint32_t ClockForest::at(Root root, uint32_t chain) const {
  if (root == 0 || isBeyond(chain, nodes_[root].level)) return 0;
  for (uint32_t level = nodes_[root].level; level > 0; --level) {
    root = nodes_[root].slots[slotOf(chain, level)];
    if (root == 0) return 0;
  }
  return nodes_[root].slots[slotOf(chain, 0)];
}

ClockForest::Root ClockForest::make(uint32_t level) {
  Root root = free_;
  if (root != 0) {
    free_ = nodes_[root].slots[0];
    --free_count_;
    nodes_[root] = Node{};
  } else {
    root = static_cast<Root>(nodes_.size());
    nodes_.emplace_back();
  }
  nodes_[root].references = 1;
  nodes_[root].level = level;
  return root;
}

void ClockForest::release(Root root) {
  if (root == 0 || --nodes_[root].references > 0) return;
  if (nodes_[root].level > 0) {
    for (const Root below : nodes_[root].slots) release(below);  // at most eight levels deep
  }
  nodes_[root].slots[0] = free_;
  free_ = root;
  ++free_count_;
}

ClockForest::Root ClockForest::ownCopy(Root root) {
  if (nodes_[root].references == 1) return root;
  const Root copy = make(nodes_[root].level);
  nodes_[copy].slots = nodes_[root].slots;
  if (nodes_[copy].level > 0) {
    for (const Root below : nodes_[copy].slots) retain(below);
  }
  --nodes_[root].references;
  return copy;
}

ClockForest::Root ClockForest::advanced(Root root, uint32_t chain, uint32_t time) {
  if (at(root, chain) >= time) return root;
  if (root == 0) root = make(0);
  while (isBeyond(chain, nodes_[root].level)) {
    const Root above = make(nodes_[root].level + 1);
    nodes_[above].slots[0] = root;
    root = above;
  }
  root = ownCopy(root);
  Root node = root;
  for (uint32_t level = nodes_[root].level; level > 0; --level) {
    const uint32_t slot = slotOf(chain, level);
    Root below = nodes_[node].slots[slot];
    below = below == 0 ? make(level - 1) : ownCopy(below);
    nodes_[node].slots[slot] = below;
    node = below;
  }
  nodes_[node].slots[slotOf(chain, 0)] = time;
  return root;
}

ClockForest::Root ClockForest::joined(Root a, Root b) {
  if (a == b || b == 0) return retain(a);
  if (a == 0) return retain(b);
  if (nodes_[a].level < nodes_[b].level) std::swap(a, b);
  const uint32_t level = nodes_[a].level;
  if (level > nodes_[b].level) {
    // The lower clock covers only the first chains.
    const Root first = nodes_[a].slots[0];
    const Root both = joined(first, b);
    if (both == first) {
      release(both);
      return retain(a);
    }
    const Root result = ownCopy(retain(a));  // copies if `a` is shared
    release(nodes_[result].slots[0]);
    nodes_[result].slots[0] = both;
    return result;
  }
  std::array<uint32_t, 16> slots;
  for (uint32_t i = 0; i < 16; ++i) {
    const uint32_t of_a = nodes_[a].slots[i];
    const uint32_t of_b = nodes_[b].slots[i];
    slots[i] = level > 0 ? joined(of_a, of_b) : std::max(of_a, of_b);
  }
  const Root same = slots == nodes_[a].slots ? a : slots == nodes_[b].slots ? b : 0;
  if (same != 0) {
    if (level > 0) {
      for (const Root below : slots) release(below);
    }
    return retain(same);
  }
  const Root result = make(level);
  nodes_[result].slots = slots;
  return result;
}

}  // namespace tracesmith::races
