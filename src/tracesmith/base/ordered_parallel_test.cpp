// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/ordered_parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tracesmith {
namespace {

class OrderedParallel : public ::testing::TestWithParam<unsigned> {
 protected:
  unsigned threads() const { return GetParam(); }
};

TEST_P(OrderedParallel, TakesAllPartsInTheirOrder) {
  std::vector<size_t> taken;
  std::atomic<size_t> ahead{0};
  const bool all = makeInOrder(
      500, threads(),
      [&](unsigned thread, size_t part) {
        EXPECT_LT(thread, threads());
        ++ahead;
        if (part % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        return part;
      },
      [&](size_t part) {
        taken.push_back(part);
        EXPECT_LE(--ahead, 4 * threads());
        return true;
      });
  EXPECT_TRUE(all);
  ASSERT_EQ(taken.size(), 500u);
  for (size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], i);
}

TEST_P(OrderedParallel, EndsEarly) {
  size_t taken = 0;
  EXPECT_FALSE(makeInOrder(
      500, threads(), [](unsigned, size_t part) { return part; },
      [&](size_t part) {
        ++taken;
        return part < 20;
      }));
  EXPECT_EQ(taken, 21u);
}

TEST_P(OrderedParallel, ExceptionsReachTheCaller) {
  size_t taken = 0;
  const auto make = [](unsigned, size_t part) {
    if (part == 30) throw std::bad_alloc();
    return part;
  };
  const auto take = [&](size_t) {
    ++taken;
    return true;
  };
  EXPECT_THROW((void)makeInOrder(500, threads(), make, take), std::bad_alloc);
  EXPECT_LE(taken, 30u);
  EXPECT_THROW((void)makeInOrder(
                   500, threads(), [](unsigned, size_t part) { return part; },
                   [](size_t part) -> bool {
                     if (part == 30) throw std::runtime_error("full");
                     return true;
                   }),
               std::runtime_error);
}

TEST_P(OrderedParallel, CancellationReachesThePartThatIsBeingMade) {
  std::atomic<bool> cancelled{false};
  const CancelScope scope([&] { return cancelled.load(); });
  std::atomic<size_t> ended{0};
  const auto began = std::chrono::steady_clock::now();
  const bool all = makeInOrder(
      4, threads(),
      [&](unsigned, size_t part) {
        cancelled = true;
        while (!isCancelled() &&
               std::chrono::steady_clock::now() - began < std::chrono::seconds(30)) {
          std::this_thread::yield();
        }
        ended += isCancelled() ? 1 : 0;
        return part;
      },
      [](size_t) { return true; });
  EXPECT_FALSE(all);
  EXPECT_GE(ended.load(), 1u);
}

TEST_P(OrderedParallel, CancellationIsSeenBetweenShortParts) {
  bool cancelled = false;
  size_t taken = 0;
  const CancelScope scope([&] { return cancelled; });
  EXPECT_FALSE(makeInOrder(
      1'000'000, threads(), [](unsigned, size_t part) { return part; },
      [&](size_t) {
        cancelled = ++taken == 10;
        return true;
      }));
  EXPECT_EQ(taken, 10u);
}

INSTANTIATE_TEST_SUITE_P(Threads, OrderedParallel, ::testing::Values(1u, 2u, 5u));

}  // namespace
}  // namespace tracesmith
