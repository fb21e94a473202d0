// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/interval_tree.hpp"

#include <algorithm>

namespace tracesmith {

void UsedStretches::add(const Stretch& stretch) {
  Node node = static_cast<Node>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    node = free_.back();
    free_.pop_back();
  }
  entries_[node] = {
      .stretch = stretch, .last_end = stretch.end, .priority = static_cast<uint32_t>(chance_())};
  Node before = kNone;
  Node behind = kNone;
  split(root_, stretch.begin, before, behind);
  root_ = merge(merge(before, node), behind);
}

UsedStretches::Node UsedStretches::take(Node node, uint64_t begin, uint64_t end,
                                        std::vector<Stretch>& taken) {
  if (node == kNone || entries_[node].last_end <= begin) return node;
  const Stretch stretch = entries_[node].stretch;
  const Node left = take(entries_[node].left, begin, end, taken);
  entries_[node].left = left;
  if (stretch.begin < end) {
    const Node right = take(entries_[node].right, begin, end, taken);
    entries_[node].right = right;
    if (stretch.end > begin) {
      taken.push_back(stretch);
      free_.push_back(node);
      return merge(left, right);
    }
  }
  update(node);
  return node;
}

UsedStretches::Node UsedStretches::merge(Node left, Node right) {
  if (left == kNone) return right;
  if (right == kNone) return left;
  const bool left_on_top = entries_[left].priority > entries_[right].priority;
  const Node top = left_on_top ? left : right;
  if (left_on_top) {
    entries_[left].right = merge(entries_[left].right, right);
  } else {
    entries_[right].left = merge(left, entries_[right].left);
  }
  update(top);
  return top;
}

void UsedStretches::split(Node node, uint64_t begin, Node& before, Node& behind) {
  if (node == kNone) {
    before = behind = kNone;
    return;
  }
  Node inner = kNone;
  if (entries_[node].stretch.begin < begin) {
    split(entries_[node].right, begin, inner, behind);
    entries_[node].right = inner;
    before = node;
  } else {
    split(entries_[node].left, begin, before, inner);
    entries_[node].left = inner;
    behind = node;
  }
  update(node);
}

void UsedStretches::update(Node node) {
  Entry& entry = entries_[node];
  entry.last_end = entry.stretch.end;
  for (const Node below : {entry.left, entry.right}) {
    if (below != kNone) entry.last_end = std::max(entry.last_end, entries_[below].last_end);
  }
}

}  // namespace tracesmith
