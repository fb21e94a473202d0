// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/natural_sort.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>

namespace tracesmith {
namespace {

TEST(NaturalSort, SortsRunsOfAnyLengthStably) {
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    const size_t size = random() % 700;
    const unsigned longest = 1 + random() % 200;
    std::vector<std::pair<int, size_t>> values;  // key, place
    while (values.size() < size) {
      std::vector<int> run(1 + random() % longest);
      for (int& key : run) key = static_cast<int>(random() % 50);
      std::sort(run.begin(), run.end());
      for (const int key : run) values.emplace_back(key, values.size());
    }
    auto expected = values;
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(expected.begin(), expected.end(), less);
    naturalSort(values.begin(), values.end(), less);
    ASSERT_EQ(values, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace tracesmith
