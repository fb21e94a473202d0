// SPDX-License-Identifier: Apache-2.0
// Compares the tree with a linear search.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tracesmith/base/interval_tree.hpp"

namespace tracesmith {
namespace {

TEST(IntervalTree, FindsAndTakesWhatALinearSearchFinds) {
  std::mt19937_64 random(1);
  for (const uint64_t longest : {1u, 40u, 2000u}) {
    IntervalTree<int> tree;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> all;
    uint64_t next = 1;
    const auto stretch = [&] {
      const uint64_t begin = random() % 5000;
      return std::pair(begin, begin + 1 + random() % longest);
    };
    for (int i = 0; i < 20'000; ++i) {
      if (all.size() < 60 && random() % 3 != 0) {
        const auto [begin, end] = stretch();
        ASSERT_TRUE(tree.add(begin, end, next, static_cast<int>(next)));
        all[next++] = {begin, end};
      } else if (!all.empty()) {
        auto it = all.lower_bound(random() % next);
        if (it == all.end()) it = all.begin();
        tree.remove(it->second.first, it->first);
        all.erase(it);
      }
      const auto [begin, end] = stretch();
      const auto meets = [b = begin, e = end](const std::pair<uint64_t, uint64_t>& s) {
        return s.first < e && b < s.second;
      };
      bool any = false;
      for (const auto& [number, s] : all) any = any || meets(s);
      const uint64_t found = tree.find(begin, end);
      ASSERT_EQ(found != 0, any);
      if (any) {
        ASSERT_TRUE(meets(all.at(found)));
      }
      if (i % 50 != 0) continue;
      std::map<uint64_t, std::pair<uint64_t, uint64_t>> taken;
      tree.take(begin, end, [&](uint64_t from, uint64_t to, int number) {
        taken.emplace(number, std::pair(from, to));
      });
      std::map<uint64_t, std::pair<uint64_t, uint64_t>> expected;
      for (const auto& [number, s] : all) {
        if (meets(s)) expected.emplace(number, s);
      }
      ASSERT_EQ(taken, expected);
      for (const auto& [number, s] : expected) all.erase(number);
    }
    tree.free();
  }
}

}  // namespace
}  // namespace tracesmith
