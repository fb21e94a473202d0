// SPDX-License-Identifier: Apache-2.0
// Tracks the last uses of an allocation's bytes: ranges of bytes, each with its last writer and all
// readers since. A write merges the ranges it covers into one, so the number of ranges stays
// proportional to the number of significant boundaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tracesmith/analysis/races/race_program.hpp"

namespace tracesmith::races {

struct Use {
  StepId step = kNone;
  Grade grade = Grade::kProven;
};

/// Reference-counted lists of readers that share their older part. 0 is the empty list. Only the
/// last reader of each chain counts: what is ordered after it is also ordered after the earlier
/// ones.
class ReaderLists {
 public:
  using List = uint32_t;
  ReaderLists() : nodes_(1) {}

  List retain(List list) {
    if (list != 0) ++nodes_[list].references;
    return list;
  }
  void release(List list) {
    while (list != 0 && --nodes_[list].references == 0) {
      const List next = nodes_[list].next;
      nodes_[list].next = free_;
      free_ = list;
      list = next;
    }
  }
  /// Replaces `list` (giving it up) by one that also contains `use`, of `chain`.
  List added(List list, Use use, uint32_t chain);
  /// Calls f(use) for the last reader of each chain.
  template <class F>
  void forEach(List list, F&& f) {
    if (list == 0) return;
    ++round_;
    for (; list != 0; list = nodes_[list].next) {
      if (isFirstOf(nodes_[list].chain)) f(nodes_[list].use);
    }
  }

 private:
  struct Node {
    Use use;
    uint32_t chain = 0;
    uint32_t next = 0;
    uint32_t references = 0;
    uint32_t length = 0;  // from this node on
    uint32_t limit = 0;   // length at which superseded readers are removed
  };
  static constexpr uint32_t kLeastLimit = 16;
  bool isFirstOf(uint32_t chain) {
    if (chain >= seen_.size()) seen_.resize(chain + 1, 0);
    if (seen_[chain] == round_) return false;
    seen_[chain] = round_;
    return true;
  }
  List prepended(List list, Use use, uint32_t chain, uint32_t limit);
  List shortened(List list);

  std::vector<Node> nodes_;
  List free_ = 0;
  std::vector<uint64_t> seen_;  // by chain
  uint64_t round_ = 0;
};

/// The uses of one allocation. Each step must report its writes before its reads. Ranges are stored
/// in chunks, mostly one, so that insertion and traversal stay fast with many ranges.
class AccessMap {
 public:
  AccessMap() : chunks_(1, Chunk(1)) {}

  /// Calls conflict(use, wrote, begin, end) for each range: for the last writer and each reader
  /// since, except this step.
  template <class F>
  void write(uint64_t begin, uint64_t end, Use use, ReaderLists& lists, F&& conflict) {
    const auto [from, to] = cutOut(begin, end, lists);
    forEach(from, to, end, [&](Interval& s, uint64_t interval_end) {
      if (s.writer.step != kNone && s.writer.step != use.step) {
        conflict(s.writer, true, s.begin, interval_end);
      }
      if (s.readers == 0) return;
      lists.forEach(s.readers, [&](Use reader) {
        if (reader.step != use.step) conflict(reader, false, s.begin, interval_end);
      });
      lists.release(s.readers);
      s.readers = 0;
    });
    chunks_[from.chunk][from.index].writer = use;
    eraseAfter(from, to);
  }

  /// Calls conflict(use, true, begin, end) for the last writer of each range, except this step.
  template <class F>
  void read(uint64_t begin, uint64_t end, Use use, uint32_t chain, ReaderLists& lists,
            F&& conflict) {
    const auto [from, to] = cutOut(begin, end, lists);
    forEach(from, to, end, [&](Interval& s, uint64_t interval_end) {
      if (s.writer.step == use.step) return;  // it conflicts with even more as a writer
      if (s.writer.step != kNone) conflict(s.writer, true, s.begin, interval_end);
      s.readers = lists.added(s.readers, use, chain);
    });
  }

  size_t intervals() const {
    size_t n = 0;
    for (const Chunk& chunk : chunks_) n += chunk.size();
    return n;
  }

 private:
  struct Interval {
    uint64_t begin = 0;  // ends at the start of the next one
    Use writer;
    ReaderLists::List readers = 0;
  };
  using Chunk = std::vector<Interval>;  // never empty
  struct Place {
    size_t chunk;
    size_t index;
  };
  static constexpr size_t kMostInChunk = 256;

  /// Finds the range that contains `at`.
  Place find(uint64_t at) const;
  /// Splits ranges so that one starts at `at`.
  void cut(uint64_t at, ReaderLists& lists);
  /// Splits at `begin` and `end`; returns the first range and the one after the last.
  std::pair<Place, Place> cutOut(uint64_t begin, uint64_t end, ReaderLists& lists);
  void eraseAfter(Place from, Place to);
  /// Calls f(range, its end) from `from` until `to`, which starts at `end`.
  template <class F>
  void forEach(Place from, Place to, uint64_t end, F&& f) {
    for (size_t c = from.chunk; c <= to.chunk; ++c) {
      Chunk& chunk = chunks_[c];
      const size_t last = c == to.chunk ? to.index : chunk.size();
      for (size_t i = c == from.chunk ? from.index : 0; i < last; ++i) {
        const bool is_last = c == to.chunk && i + 1 == last;
        f(chunk[i], is_last                  ? end
                    : i + 1 < chunk.size()   ? chunk[i + 1].begin
                    : c + 1 < chunks_.size() ? chunks_[c + 1].front().begin
                                             : end);
      }
    }
  }

  std::vector<Chunk> chunks_;
};

}  // namespace tracesmith::races
