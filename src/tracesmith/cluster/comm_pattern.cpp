// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/comm_pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace tracesmith {
namespace {

using Pattern = CommAnalysis::CommPattern;

/// Who sends to whom, without ranks that communicate with nobody.
class CommGraphShape {
 public:
  explicit CommGraphShape(const std::vector<std::vector<bool>>& sends)
      : sends_(sends), ranks_(sends.size()), to_(ranks_), from_(ranks_), neighbours_(ranks_) {
    for (size_t a = 0; a < ranks_; ++a) {
      for (size_t b = 0; b < ranks_; ++b) {
        if (a == b || !sends[a][b]) continue;
        ++edges_;
        to_[a].push_back(b);
        from_[b].push_back(a);
        neighbours_[a].push_back(b);
        if (!sends[b][a]) neighbours_[b].push_back(a);
      }
    }
    for (size_t a = 0; a < ranks_; ++a) {
      if (neighbours_[a].empty()) continue;
      ++active_;
      links_ += neighbours_[a].size();
      most_neighbours_ = std::max(most_neighbours_, neighbours_[a].size());
    }
    links_ /= 2;
  }

  Pattern pattern() const {
    if (edges_ == 0) return Pattern::Unknown;
    if (active_ == 2) return Pattern::PointToPoint;
    if (isBroadcast()) return Pattern::Broadcast;
    if (edges_ == ranks_ * (ranks_ - 1)) return Pattern::AllToAll;
    if (isButterfly()) return Pattern::Butterfly;
    if (isRing()) return Pattern::Ring;
    if (isTree()) return Pattern::Tree;
    return most_neighbours_ <= 2 && !hasCircle() ? Pattern::PointToPoint : Pattern::Custom;
  }

 private:
  bool isBroadcast() const {
    return edges_ == ranks_ - 1 && std::any_of(to_.begin(), to_.end(), [&](const auto& to) {
             return to.size() == ranks_ - 1;
           });
  }

  bool isButterfly() const {
    if (ranks_ < 4 || !std::has_single_bit(ranks_)) return false;
    if (edges_ != ranks_ * static_cast<size_t>(std::countr_zero(ranks_))) return false;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      for (size_t bit = 1; bit < ranks_; bit *= 2) {
        if (!sends_[rank][rank ^ bit]) return false;
      }
    }
    return true;
  }

  /// One circle through all ranks, each edge one way, or each both ways.
  bool isRing() const {
    const bool one_way = edges_ == ranks_, both_ways = edges_ == 2 * ranks_;
    if (active_ != ranks_ || links_ != ranks_ || !(one_way || both_ways)) return false;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      const size_t each = one_way ? 1 : 2;
      if (neighbours_[rank].size() != 2 || to_[rank].size() != each || from_[rank].size() != each) {
        return false;
      }
    }
    return parts() == 1;
  }

  /// Connected, without circles, and not a chain. Three ranks are a chain and a tree at the same
  /// time: it is a tree if both outer ones send to the one in the middle.
  bool isTree() const {
    if (links_ != active_ - 1 || parts() != 1) return false;
    if (most_neighbours_ >= 3) return true;
    return active_ == 3 && std::any_of(from_.begin(), from_.end(),
                                       [](const auto& from) { return from.size() == 2; });
  }

  bool hasCircle() const { return links_ != active_ - parts(); }

  /// Connected parts of the graph.
  size_t parts() const {
    std::vector<bool> seen(ranks_, false);
    size_t count = 0;
    for (size_t start = 0; start < ranks_; ++start) {
      if (seen[start] || neighbours_[start].empty()) continue;
      ++count;
      std::vector<size_t> next = {start};
      seen[start] = true;
      while (!next.empty()) {
        const size_t at = next.back();
        next.pop_back();
        for (const size_t other : neighbours_[at]) {
          if (!seen[other]) next.push_back(other);
          seen[other] = true;
        }
      }
    }
    return count;
  }

  const std::vector<std::vector<bool>>& sends_;
  size_t ranks_;
  std::vector<std::vector<size_t>> to_, from_, neighbours_;
  size_t edges_ = 0;            // directed
  size_t links_ = 0;            // pairs that communicate in either direction
  size_t active_ = 0;           // ranks with neighbours
  size_t most_neighbours_ = 0;  // of a rank
};

}  // namespace

CommAnalysis::CommPattern patternOf(const std::vector<std::vector<bool>>& sends) {
  return CommGraphShape(sends).pattern();
}

}  // namespace tracesmith
