// SPDX-License-Identifier: Apache-2.0
// Vector clocks with structural sharing: each is a tree with 16 entries per node, copied on write.
// With thousands of streams, two clocks share most nodes, so copying is free and joining costs only
// their differences.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tracesmith::races {

/// All nodes of all clocks. A clock is identified by its root; 0 is the empty clock. Roots are
/// reference counted: a caller that receives one holds it until release(). Use from one thread at a
/// time.
class ClockForest {
 public:
  using Root = uint32_t;

  ClockForest() : nodes_(1) {}

  /// The clock's time for `chain`; 0: none.
  uint32_t at(Root root, uint32_t chain) const;
  Root retain(Root root) {
    if (root != 0) ++nodes_[root].references;
    return root;
  }
  void release(Root root);
  /// Replaces `root` (giving it up) by one with at least `time` for `chain`.
  Root advanced(Root root, uint32_t chain, uint32_t time);
  /// Maximum of both clocks. Gives up neither.
  Root joined(Root a, Root b);

  /// Nodes in use, for tests.
  size_t nodes() const { return nodes_.size() - 1 - free_count_; }

 private:
  static constexpr uint32_t kBits = 4;
  struct Node {
    uint32_t references = 0;
    uint32_t level = 0;                // 0: slots are times; else nodes of the level below
    std::array<uint32_t, 16> slots{};  // slots[0] of an unused node: the next unused
  };
  static uint32_t slotOf(uint32_t chain, uint32_t level) {
    return (chain >> (kBits * level)) & 15u;
  }
  static bool isBeyond(uint32_t chain, uint32_t level) {
    return kBits * (level + 1) < 32 && (chain >> (kBits * (level + 1))) != 0;
  }
  Root make(uint32_t level);
  Root ownCopy(Root root);

  std::vector<Node> nodes_;
  Root free_ = 0;
  size_t free_count_ = 0;
};

/// Owns one reference to a root.
class VectorClock {
 public:
  explicit VectorClock(ClockForest& forest) : forest_(&forest) {}
  VectorClock(ClockForest& forest, ClockForest::Root root)
      : forest_(&forest), root_(forest.retain(root)) {}
  VectorClock(const VectorClock& other)
      : forest_(other.forest_), root_(forest_->retain(other.root_)) {}
  VectorClock(VectorClock&& other) noexcept
      : forest_(other.forest_), root_(std::exchange(other.root_, 0)) {}
  VectorClock& operator=(VectorClock other) noexcept {
    std::swap(forest_, other.forest_);
    std::swap(root_, other.root_);
    return *this;
  }
  ~VectorClock() { forest_->release(root_); }

  uint32_t at(uint32_t chain) const { return forest_->at(root_, chain); }
  void advance(uint32_t chain, uint32_t time) { root_ = forest_->advanced(root_, chain, time); }
  void join(const VectorClock& other) {
    if (other.root_ == root_ || other.root_ == 0) return;
    const ClockForest::Root both = forest_->joined(root_, other.root_);
    forest_->release(root_);
    root_ = both;
  }
  ClockForest::Root root() const { return root_; }

 private:
  ClockForest* forest_;
  ClockForest::Root root_ = 0;
};

}  // namespace tracesmith::races
