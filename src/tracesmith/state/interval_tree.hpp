// SPDX-License-Identifier: Apache-2.0
// Interval tree of address ranges that may overlap, each with its owner. Finds the ranges that
// overlap a query without visiting the others. Implemented as a treap ordered by start, with the
// maximum end in each subtree.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tracesmith/model/ids.hpp"

namespace tracesmith {

class UsedStretches {
 public:
  struct Stretch {
    uint64_t begin;
    uint64_t end;
    StreamId owner;
  };

  void add(const Stretch& stretch);

  /// Removes the ranges that overlap [begin, end) and appends them to `taken`.
  void take(uint64_t begin, uint64_t end, std::vector<Stretch>& taken) {
    root_ = take(root_, begin, end, taken);
  }

 private:
  using Node = uint32_t;
  static constexpr Node kNone = ~Node{0};
  struct Entry {
    Stretch stretch;
    uint64_t last_end;  // maximum end in the subtree
    uint32_t priority;
    Node left = kNone;
    Node right = kNone;
  };

  Node take(Node node, uint64_t begin, uint64_t end, std::vector<Stretch>& taken);
  Node merge(Node left, Node right);
  /// Splits into the ranges that start before `begin` and the others.
  void split(Node node, uint64_t begin, Node& before, Node& behind);
  void update(Node node);

  std::vector<Entry> entries_;
  std::vector<Node> free_;
  Node root_ = kNone;
  std::minstd_rand chance_;
};

}  // namespace tracesmith
