// SPDX-License-Identifier: Apache-2.0
// Stretches of addresses that may overlap, each with whose it is: which of them lie in a range is
// found without a look at the others. A treap by where they begin, that knows where they end.
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

  /// Takes out those that overlap [begin, end), and appends them to `taken`.
  void take(uint64_t begin, uint64_t end, std::vector<Stretch>& taken) {
    root_ = take(root_, begin, end, taken);
  }

 private:
  using Node = uint32_t;
  static constexpr Node kNone = ~Node{0};
  struct Entry {
    Stretch stretch;
    uint64_t last_end;  // of it, and of what is below it
    uint32_t priority;
    Node left = kNone;
    Node right = kNone;
  };

  Node take(Node node, uint64_t begin, uint64_t end, std::vector<Stretch>& taken);
  Node merge(Node left, Node right);
  /// Those that begin before `begin`, and the others.
  void split(Node node, uint64_t begin, Node& before, Node& behind);
  void update(Node node);

  std::vector<Entry> entries_;
  std::vector<Node> free_;
  Node root_ = kNone;
  std::minstd_rand chance_;
};

}  // namespace tracesmith
