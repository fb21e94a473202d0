// SPDX-License-Identifier: Apache-2.0
// An interval tree over address ranges, each with a number: a treap ordered by start, in which
// every node knows the largest end below it (Cormen et al., Introduction to Algorithms, 14.3).
// Finds a range that overlaps a given one in logarithmic time. Never throws.
#pragma once

#include <stdint.h>

#include "tracesmith/capture/agents/opencl_record/table.hpp"

namespace tracesmith::record {

class Places {
 public:
  constexpr Places() = default;

  /// Numbers must be unique and not 0. False: out of memory.
  bool add(uint64_t begin, uint64_t end, uint64_t number) {
    uint32_t at = free_;
    if (at != 0) {
      free_ = nodes_[at].left;
    } else {
      if (nodes_.size() == 0 && !nodes_.add({})) return false;  // node 0: null
      at = static_cast<uint32_t>(nodes_.size());
      if (!nodes_.add({})) return false;
    }
    nodes_[at] = {begin, end, end, number, 0, 0, hash(number)};
    uint32_t before = 0;
    uint32_t after = 0;
    split(root_, begin, number, before, after);
    root_ = merge(merge(before, at), after);
    return true;
  }

  void remove(uint64_t begin, uint64_t number) {
    uint32_t before = 0;
    uint32_t rest = 0;
    uint32_t it = 0;
    uint32_t after = 0;
    split(root_, begin, number, before, rest);
    split(rest, begin, number + 1, it, after);
    root_ = merge(before, after);
    if (it == 0) return;
    nodes_[it].left = free_;
    free_ = it;
  }

  /// The number of a range that overlaps [begin, end), or 0.
  uint64_t find(uint64_t begin, uint64_t end) {
    for (uint32_t at = root_; at != 0;) {
      const Node& n = nodes_[at];
      if (n.begin < end && begin < n.end) return n.number;
      // If a range on the left ends after `begin` and does not overlap, it starts at or after
      // `end`, and so do all ranges on the right.
      at = n.left != 0 && nodes_[n.left].furthest > begin ? n.left : n.right;
    }
    return 0;
  }

  void free() {
    nodes_.free();
    root_ = free_ = 0;
  }

 private:
  struct Node {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t furthest = 0;
    uint64_t number = 0;
    uint32_t left = 0;
    uint32_t right = 0;
    uint32_t priority = 0;
  };

  static uint32_t hash(uint64_t number) {
    number = (number ^ number >> 31) * 0x9E3779B97F4A7C15ull;
    return static_cast<uint32_t>(number >> 32);
  }
  void update(uint32_t at) {
    Node& n = nodes_[at];
    n.furthest = n.end;
    if (nodes_[n.left].furthest > n.furthest) n.furthest = nodes_[n.left].furthest;
    if (nodes_[n.right].furthest > n.furthest) n.furthest = nodes_[n.right].furthest;
  }
  /// Splits into the ranges before (begin, number) and the rest.
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

  List<Node> nodes_;
  uint32_t root_ = 0;
  uint32_t free_ = 0;  // free list, linked by `left`
};

}  // namespace tracesmith::record
