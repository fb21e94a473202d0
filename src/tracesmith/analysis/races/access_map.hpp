// SPDX-License-Identifier: Apache-2.0
// Who used the bytes of an allocation last: stretches of bytes, each with its last writer and all
// who read it since. A write makes one stretch of what it covers, so that as many stretches remain
// as there are edges that matter.
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

/// Lists of readers of which many share their older part. 0 is the empty list; lists are held and
/// given up. Of each chain only the last reader counts: what is ordered after it, is ordered after
/// those before it.
class ReaderLists {
 public:
  using List = uint32_t;
  ReaderLists() : nodes_(1) {}

  List hold(List list) {
    if (list != 0) ++nodes_[list].holders;
    return list;
  }
  void giveUp(List list) {
    while (list != 0 && --nodes_[list].holders == 0) {
      const List next = nodes_[list].next;
      nodes_[list].next = free_;
      free_ = list;
      list = next;
    }
  }
  /// Gives up `list` for one with `use`, of `chain`, too.
  List added(List list, Use use, uint32_t chain);
  /// Calls f(use) for the last of each chain.
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
    uint32_t holders = 0;
    uint32_t length = 0;  // from here on
    uint32_t limit = 0;   // when it is this long, it is freed of those that do not count
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

/// The uses of one allocation. Each step tells its writes before its reads. Stretches lie in
/// chunks, mostly one, so that neither many of them nor walking along them is slow.
class AccessMap {
 public:
  AccessMap() : chunks_(1, Chunk(1)) {}

  /// Calls conflict(use, wrote, begin, end) for the last writer and each reader since, other than
  /// this step, of each stretch.
  template <class F>
  void write(uint64_t begin, uint64_t end, Use use, ReaderLists& lists, F&& conflict) {
    const auto [from, to] = cutOut(begin, end, lists);
    forEach(from, to, end, [&](Stretch& s, uint64_t stretch_end) {
      if (s.writer.step != kNone && s.writer.step != use.step) {
        conflict(s.writer, true, s.begin, stretch_end);
      }
      if (s.readers == 0) return;
      lists.forEach(s.readers, [&](Use reader) {
        if (reader.step != use.step) conflict(reader, false, s.begin, stretch_end);
      });
      lists.giveUp(s.readers);
      s.readers = 0;
    });
    chunks_[from.chunk][from.index].writer = use;
    eraseAfter(from, to);
  }

  /// Calls conflict(use, true, begin, end) for the last writer, other than this step, of each
  /// stretch.
  template <class F>
  void read(uint64_t begin, uint64_t end, Use use, uint32_t chain, ReaderLists& lists,
            F&& conflict) {
    const auto [from, to] = cutOut(begin, end, lists);
    forEach(from, to, end, [&](Stretch& s, uint64_t stretch_end) {
      if (s.writer.step == use.step) return;  // as a writer it conflicts with even more
      if (s.writer.step != kNone) conflict(s.writer, true, s.begin, stretch_end);
      s.readers = lists.added(s.readers, use, chain);
    });
  }

  size_t stretches() const {
    size_t n = 0;
    for (const Chunk& chunk : chunks_) n += chunk.size();
    return n;
  }

 private:
  struct Stretch {
    uint64_t begin = 0;  // ends where the next one begins
    Use writer;
    ReaderLists::List readers = 0;
  };
  using Chunk = std::vector<Stretch>;  // never empty
  struct Place {
    size_t chunk;
    size_t index;
  };
  static constexpr size_t kMostInChunk = 256;

  /// The stretch that has `at` in it.
  Place find(uint64_t at) const;
  /// Makes a stretch begin at `at`.
  void cut(uint64_t at, ReaderLists& lists);
  /// The stretches of [begin, end): from the first to the one behind the last.
  std::pair<Place, Place> cutOut(uint64_t begin, uint64_t end, ReaderLists& lists);
  void eraseAfter(Place from, Place to);
  /// Calls f(stretch, end of it) from `from` until `to`, where `end` is.
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
