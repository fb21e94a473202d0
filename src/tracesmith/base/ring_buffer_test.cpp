// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/ring_buffer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <thread>
#include <vector>

namespace tracesmith {
namespace {

/// The value is torn if its words do not match.
struct Value {
  uint64_t number = 0;
  std::array<uint64_t, 4> words{};
  static Value of(uint64_t n) { return {n, {n * 3, ~n, n ^ 0x5555, n + 7}}; }
  bool whole() const { return words == of(number).words; }
};

TEST(RingBuffer, KeepsOrderAndCountsInOneThread) {
  RingBuffer<int> buffer(4, OverflowPolicy::DropNewest);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.capacity(), 4U);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(buffer.push(i), i < 4);
  EXPECT_EQ(buffer.size(), 4U);
  EXPECT_EQ(buffer.droppedCount(), 2U);
  EXPECT_EQ(buffer.pop(), 0);
  EXPECT_TRUE(buffer.push(6));
  std::vector<int> rest;
  EXPECT_EQ(buffer.popBatch(rest, 2), 2U);
  EXPECT_EQ(buffer.popBatch(rest, 100), 2U);
  EXPECT_EQ(rest, (std::vector<int>{1, 2, 3, 6}));
  EXPECT_EQ(buffer.pop(), std::nullopt);
  EXPECT_TRUE(buffer.empty());
}

TEST(RingBuffer, DropOldestKeepsTheNewest) {
  RingBuffer<int> buffer(4, OverflowPolicy::DropOldest);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(buffer.push(i));
  EXPECT_EQ(buffer.size(), 4U);
  EXPECT_EQ(buffer.droppedCount(), 6U);
  std::vector<int> rest;
  buffer.popBatch(rest, 100);
  EXPECT_EQ(rest, (std::vector<int>{6, 7, 8, 9}));
}

TEST(RingBuffer, ValuesThatDoNotDivideTheRing) {
  for (const auto policy : {OverflowPolicy::DropNewest, OverflowPolicy::DropOldest}) {
    RingBuffer<Value> buffer(5, policy);  // 6 words per value in a ring of 32
    ASSERT_GE(buffer.capacity(), 5U);
    uint64_t next = 0;
    for (int turn = 0; turn < 100; ++turn) {
      for (size_t i = 0; i < buffer.capacity(); ++i) EXPECT_TRUE(buffer.push(Value::of(next + i)));
      EXPECT_EQ(buffer.size(), buffer.capacity());
      for (size_t i = 0; i < buffer.capacity(); ++i) {
        const auto value = buffer.pop();
        ASSERT_TRUE(value && value->whole());
        EXPECT_EQ(value->number, next++);
      }
      EXPECT_TRUE(buffer.empty());
    }
    EXPECT_EQ(buffer.droppedCount(), 0U);
  }
}

TEST(RingBuffer, ResetForgets) {
  RingBuffer<int> buffer(2);
  for (int i = 0; i < 5; ++i) buffer.push(i);
  buffer.reset();
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.droppedCount(), 0U);
  buffer.push(7);
  EXPECT_EQ(buffer.pop(), 7);
}

TEST(RingBuffer, CloseEndsTheWaitOfABlockedPush) {
  RingBuffer<int> buffer(2, OverflowPolicy::Block);
  while (buffer.size() < buffer.capacity()) ASSERT_TRUE(buffer.push(1));
  std::thread writer([&] { EXPECT_FALSE(buffer.push(2)); });
  buffer.close();
  writer.join();
  EXPECT_EQ(buffer.droppedCount(), 1U);
}

class RingBufferThreads : public testing::TestWithParam<OverflowPolicy> {};

TEST_P(RingBufferThreads, DeliversOrCountsEachValueWhole) {
  const OverflowPolicy policy = GetParam();
  constexpr uint64_t kValues = 300'000;
  RingBuffer<Value> buffer(100, policy);
  std::atomic<bool> done{false};
  uint64_t refused = 0;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kValues; ++i) {
      if (!buffer.push(Value::of(i))) ++refused;
    }
    done = true;
  });
  std::vector<Value> batch;
  uint64_t got = 0;
  uint64_t torn = 0;
  uint64_t disorder = 0;
  int64_t last = -1;
  auto take = [&](const Value& value) {
    ++got;
    torn += value.whole() ? 0 : 1;
    disorder += static_cast<int64_t>(value.number) <= last ? 1 : 0;
    last = static_cast<int64_t>(value.number);
  };
  for (bool last_round = false;;) {
    const bool ended = done;
    batch.clear();
    if (got % 3 == 0) {
      if (const auto value = buffer.pop()) batch.push_back(*value);
    }
    buffer.popBatch(batch, 1 + got % 64);
    for (const Value& value : batch) take(value);
    if (batch.empty()) {
      if (last_round) break;
      last_round = ended;
      std::this_thread::yield();
    }
  }
  writer.join();
  EXPECT_EQ(torn, 0U);
  EXPECT_EQ(disorder, 0U);
  EXPECT_EQ(buffer.pushedCount(), kValues);
  EXPECT_EQ(got + buffer.droppedCount(), kValues);
  EXPECT_GT(got, 0U);
  if (policy == OverflowPolicy::Block) {
    EXPECT_EQ(buffer.droppedCount(), 0U);
    EXPECT_EQ(last, static_cast<int64_t>(kValues) - 1);
  }
  if (policy == OverflowPolicy::DropOldest) {
    EXPECT_EQ(refused, 0U);
    EXPECT_EQ(last, static_cast<int64_t>(kValues) - 1) << "the newest was lost";
  }
  if (policy == OverflowPolicy::DropNewest) {
    EXPECT_EQ(refused, buffer.droppedCount());
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, RingBufferThreads,
                         testing::Values(OverflowPolicy::DropOldest, OverflowPolicy::DropNewest,
                                         OverflowPolicy::Block),
                         [](const auto& policy) {
                           return std::string(
                               policy.param == OverflowPolicy::DropOldest   ? "DropOldest"
                               : policy.param == OverflowPolicy::DropNewest ? "DropNewest"
                                                                            : "Block");
                         });

}  // namespace
}  // namespace tracesmith
