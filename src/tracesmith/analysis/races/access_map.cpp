// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/races/access_map.hpp"

#include <algorithm>

namespace tracesmith::races {

ReaderLists::List ReaderLists::prepended(List list, Use use, uint32_t chain, uint32_t limit) {
  List node = free_;
  if (node != 0) {
    free_ = nodes_[node].next;
  } else {
    node = static_cast<List>(nodes_.size());
    nodes_.emplace_back();
  }
  const uint32_t length = list == 0 ? 0 : nodes_[list].length;
  nodes_[node] = {use, chain, list, 1, length + 1, limit};
  return node;
}

ReaderLists::List ReaderLists::added(List list, Use use, uint32_t chain) {
  // Usually the chain has read it recently, and the list is not shared.
  constexpr int kLook = 8;
  List at = list;
  for (int i = 0; i < kLook && at != 0 && nodes_[at].references == 1; ++i, at = nodes_[at].next) {
    if (nodes_[at].chain != chain) continue;
    nodes_[at].use = use;
    return list;
  }
  list = prepended(list, use, chain, list == 0 ? kLeastLimit : nodes_[list].limit);
  return nodes_[list].length < nodes_[list].limit ? list : shortened(list);
}

ReaderLists::List ReaderLists::shortened(List list) {
  std::vector<std::pair<Use, uint32_t>> kept;
  ++round_;
  for (List at = list; at != 0; at = nodes_[at].next) {
    if (isFirstOf(nodes_[at].chain)) kept.emplace_back(nodes_[at].use, nodes_[at].chain);
  }
  release(list);
  const uint32_t limit = std::max(kLeastLimit, 2 * static_cast<uint32_t>(kept.size()));
  List shorter = 0;
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) {
    shorter = prepended(shorter, it->first, it->second, limit);
  }
  return shorter;
}

AccessMap::Place AccessMap::find(uint64_t at) const {
  size_t c = 0;
  if (chunks_.size() > 1) {
    const auto after =
        std::upper_bound(chunks_.begin() + 1, chunks_.end(), at,
                         [](uint64_t a, const Chunk& chunk) { return a < chunk.front().begin; });
    c = static_cast<size_t>(after - chunks_.begin()) - 1;
  }
  const Chunk& chunk = chunks_[c];
  const auto after = std::upper_bound(chunk.begin() + 1, chunk.end(), at,
                                      [](uint64_t a, const Interval& s) { return a < s.begin; });
  return {c, static_cast<size_t>(after - chunk.begin()) - 1};
}

void AccessMap::cut(uint64_t at, ReaderLists& lists) {
  auto [c, index] = find(at);
  if (chunks_[c][index].begin == at) return;
  if (chunks_[c].size() >= kMostInChunk) {
    const auto half = static_cast<ptrdiff_t>(chunks_[c].size() / 2);
    Chunk upper(chunks_[c].begin() + half, chunks_[c].end());
    chunks_[c].erase(chunks_[c].begin() + half, chunks_[c].end());
    chunks_.insert(chunks_.begin() + static_cast<ptrdiff_t>(c) + 1, std::move(upper));
    if (index >= static_cast<size_t>(half)) ++c, index -= static_cast<size_t>(half);
  }
  Interval upper = chunks_[c][index];
  upper.begin = at;
  lists.retain(upper.readers);
  chunks_[c].insert(chunks_[c].begin() + static_cast<ptrdiff_t>(index) + 1, upper);
}

std::pair<AccessMap::Place, AccessMap::Place> AccessMap::cutOut(uint64_t begin, uint64_t end,
                                                                ReaderLists& lists) {
  cut(begin, lists);
  cut(end, lists);
  const Place from = find(begin);
  const Chunk& chunk = chunks_[from.chunk];
  // Usually it is one range.
  if (from.index + 1 < chunk.size() && chunk[from.index + 1].begin == end) {
    return {from, {from.chunk, from.index + 1}};
  }
  return {from, find(end)};
}

void AccessMap::eraseAfter(Place from, Place to) {
  const auto at = [](Chunk& chunk, size_t index) {
    return chunk.begin() + static_cast<ptrdiff_t>(index);
  };
  Chunk& first = chunks_[from.chunk];
  if (from.chunk == to.chunk) {
    first.erase(at(first, from.index + 1), at(first, to.index));
    return;
  }
  first.erase(at(first, from.index + 1), first.end());
  Chunk& last = chunks_[to.chunk];
  last.erase(last.begin(), at(last, to.index));  // the range at `to` stays
  chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(from.chunk) + 1,
                chunks_.begin() + static_cast<ptrdiff_t>(to.chunk));
}

}  // namespace tracesmith::races
