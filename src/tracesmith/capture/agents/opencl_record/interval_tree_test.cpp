// SPDX-License-Identifier: Apache-2.0
// Compares the recording agent's interval tree with a linear search.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tracesmith/capture/agents/opencl_record/interval_tree.hpp"

namespace tracesmith::record {
namespace {

TEST(Places, FindWhatMeetsAStretchAsLookingAtAllOfThemDoes) {
  std::mt19937_64 random(1);
  for (const uint64_t longest : {1u, 40u, 2000u}) {
    Places places;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> all;
    uint64_t next = 1;
    const auto stretch = [&] {
      const uint64_t begin = random() % 5000;
      return std::pair(begin, begin + 1 + random() % longest);
    };
    for (int i = 0; i < 20'000; ++i) {
      if (all.size() < 60 && random() % 3 != 0) {
        const auto [begin, end] = stretch();
        ASSERT_TRUE(places.add(begin, end, next));
        all[next++] = {begin, end};
      } else if (!all.empty()) {
        auto it = all.lower_bound(random() % next);
        if (it == all.end()) it = all.begin();
        places.remove(it->second.first, it->first);
        all.erase(it);
      }
      const auto [begin, end] = stretch();
      const auto meets = [b = begin, e = end](const std::pair<uint64_t, uint64_t>& s) {
        return s.first < e && b < s.second;
      };
      bool any = false;
      for (const auto& [number, s] : all) any = any || meets(s);
      const uint64_t found = places.find(begin, end);
      ASSERT_EQ(found != 0, any);
      if (any) {
        ASSERT_TRUE(meets(all.at(found)));
      }
    }
    places.free();
  }
}

}  // namespace
}  // namespace tracesmith::record
