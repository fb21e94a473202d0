// SPDX-License-Identifier: Apache-2.0
// Intervals of addresses that may overlap: finds one that overlaps a given interval in logarithmic
// time. A treap ordered by start, in which each node knows the greatest end of its subtree (Cormen
// et al., Introduction to Algorithms, 14.3). Never throws, may be constinit: agents use it too.
#pragma once

#include <stdint.h>

#include "tracesmith/base/nothrow_list.hpp"

namespace tracesmith {

struct NoValue {};

/// No destructor: call free().
template <class Value = NoValue>
class IntervalTree {
 public:
  constexpr IntervalTree() = default;

  /// Adds [begin, end). `number` identifies it: not 0, and each only once. False if memory has run
  /// out; the tree is unchanged then.
  bool add(uint64_t begin, uint64_t end, uint64_t number, Value value = {}) {
    uint32_t at = free_;
    if (at != 0) {
      free_ = nodes_[at].left;
    } else {
      if (nodes_.size() == 0 && !nodes_.add({})) return false;  // node 0: none
      at = static_cast<uint32_t>(nodes_.size());
      if (!nodes_.add({})) return false;
    }
    nodes_[at] = {begin, end, end, number, 0, 0, hash(number), value};
    uint32_t before = 0;
    uint32_t after = 0;
    split(root_, begin, number, before, after);
    root_ = merge(merge(before, at), after);
    return true;
  }

  /// Does nothing if there is no interval with this start and number.
  void remove(uint64_t begin, uint64_t number) {
    uint32_t before = 0;
    uint32_t rest = 0;
    uint32_t found = 0;
    uint32_t after = 0;
    split(root_, begin, number, before, rest);
    split(rest, begin, number + 1, found, after);
    root_ = merge(before, after);
    if (found == 0) return;
    nodes_[found].left = free_;
    free_ = found;
  }

  /// The number of an interval that overlaps [begin, end), or 0.
  uint64_t find(uint64_t begin, uint64_t end) const {
    const uint32_t at = locate(begin, end);
    return at == 0 ? 0 : nodes_[at].number;
  }

  /// Removes all intervals that overlap [begin, end). Calls taken(begin, end, value) for each, in
  /// no particular order; it must not change the tree.
  template <class Taken>
  void take(uint64_t begin, uint64_t end, Taken&& taken) {
    while (const uint32_t at = locate(begin, end)) {
      const Node node = nodes_[at];
      remove(node.begin, node.number);
      taken(node.begin, node.end, node.value);
    }
  }

  void free() {
    nodes_.free();
    root_ = free_ = 0;
  }

 private:
  struct Node {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t greatest_end = 0;  // of its subtree
    uint64_t number = 0;
    uint32_t left = 0;
    uint32_t right = 0;
    uint32_t priority = 0;
    [[no_unique_address]] Value value{};
  };

  static uint32_t hash(uint64_t number) {
    number = (number ^ number >> 31) * 0x9E3779B97F4A7C15ull;
    return static_cast<uint32_t>(number >> 32);
  }
  uint32_t locate(uint64_t begin, uint64_t end) const {
    for (uint32_t at = root_; at != 0;) {
      const Node& n = nodes_[at];
      if (n.begin < end && begin < n.end) return at;
      // If an interval on the left ends after `begin` and does not overlap, it starts at or after
      // `end`, and so do all on the right.
      at = n.left != 0 && nodes_[n.left].greatest_end > begin ? n.left : n.right;
    }
    return 0;
  }
  void update(uint32_t at) {
    Node& n = nodes_[at];
    n.greatest_end = n.end;
    for (const uint32_t child : {n.left, n.right}) {
      if (nodes_[child].greatest_end > n.greatest_end) n.greatest_end = nodes_[child].greatest_end;
    }
  }
  /// Splits into nodes before (begin, number), and the rest.
  void split(uint32_t at, uint64_t begin, uint64_t number, uint32_t& before, uint32_t& after) {
    if (at == 0) {
      before = after = 0;
      return;
    }
    Node& n = nodes_[at];
    if (n.begin < begin || (n.begin == begin && n.number < number)) {
      split(n.right, begin, number, n.right, after);
      before = at;
    } else {
      split(n.left, begin, number, before, n.left);
      after = at;
    }
    update(at);
  }
  uint32_t merge(uint32_t a, uint32_t b) {
    if (a == 0 || b == 0) return a != 0 ? a : b;
    const uint32_t top = nodes_[a].priority > nodes_[b].priority ? a : b;
    if (top == a) {
      nodes_[a].right = merge(nodes_[a].right, b);
    } else {
      nodes_[b].left = merge(a, nodes_[b].left);
    }
    update(top);
    return top;
  }

  NothrowList<Node> nodes_;
  uint32_t root_ = 0;
  uint32_t free_ = 0;  // first of the free nodes, linked by `left`
};

}  // namespace tracesmith
