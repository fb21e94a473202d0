// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/stream_scheduler.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>

namespace tracesmith {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

StreamOperation operation(uint64_t id, uint32_t stream, std::vector<uint64_t> depends_on = {},
                          Timestamp when = 0, int64_t priority = 0) {
  StreamOperation op;
  op.operation_id = id;
  op.stream_id = stream;
  op.depends_on = std::move(depends_on);
  op.event.timestamp = when;
  op.priority = priority;
  return op;
}

/// Completes each operation before requesting the next.
std::vector<uint64_t> orderOf(StreamScheduler& scheduler) {
  std::vector<uint64_t> order;
  while (const StreamOperation* op = scheduler.getNextOperation()) {
    EXPECT_TRUE(op->dependencies_satisfied);
    order.push_back(op->operation_id);
    EXPECT_TRUE(scheduler.markCompleted(op->operation_id));
  }
  return order;
}

TEST(StreamScheduler, StreamsTakeTurns) {
  StreamScheduler s(SchedulingPolicy::RoundRobin);
  for (const auto& [id, stream] : {std::pair(1u, 1u), {2u, 1u}, {3u, 1u}, {4u, 2u}, {5u, 3u}}) {
    ASSERT_TRUE(s.addOperation(operation(id, stream)));
  }
  EXPECT_THAT(orderOf(s), ElementsAre(1, 4, 5, 2, 3));
  EXPECT_TRUE(s.allCompleted());
}

TEST(StreamScheduler, PriorityTakesTheHighestThatIsReady) {
  StreamScheduler s(SchedulingPolicy::Priority);
  ASSERT_TRUE(s.addOperation(operation(1, 1, {}, 0, INT64_MIN)));
  ASSERT_TRUE(s.addOperation(operation(2, 1, {}, 0, INT64_MAX)));  // after 1 in its stream
  ASSERT_TRUE(s.addOperation(operation(3, 2, {}, 0, 5)));
  ASSERT_TRUE(s.addOperation(operation(4, 3, {}, 0, 9)));
  ASSERT_TRUE(s.addOperation(operation(5, 4, {}, 0, 9)));  // equal: in order of addition
  EXPECT_THAT(orderOf(s), ElementsAre(4, 5, 3, 1, 2));
}

TEST(StreamScheduler, OriginalTimingGoesByTimeWhereItIsFree) {
  StreamScheduler s(SchedulingPolicy::OriginalTiming);
  ASSERT_TRUE(s.addOperation(operation(1, 1, {}, 300)));
  ASSERT_TRUE(s.addOperation(operation(2, 2, {}, 100)));
  ASSERT_TRUE(s.addOperation(operation(3, 2, {}, 200)));
  ASSERT_TRUE(s.addOperation(operation(4, 3, {1}, 0)));
  ASSERT_TRUE(s.addOperation(operation(5, 4, {}, UINT64_MAX)));
  EXPECT_THAT(orderOf(s), ElementsAre(2, 3, 1, 4, 5));
}

TEST(StreamScheduler, HandsOutNothingBeforeWhatItWaitsForIsCompleted) {
  StreamScheduler s;
  ASSERT_TRUE(s.addOperation(operation(1, 1)));
  ASSERT_TRUE(s.addOperation(operation(2, 1)));
  ASSERT_TRUE(s.addOperation(operation(3, 2, {1})));
  StreamOperation* first = s.getNextOperation();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->operation_id, 1u);
  EXPECT_EQ(s.getNextOperation(), nullptr);  // 1 is active, not completed
  const auto statistics = s.getStatistics();
  EXPECT_EQ(statistics.total_operations, 3u);
  EXPECT_EQ(statistics.active_operations, 1u);
  EXPECT_EQ(statistics.blocked_operations, 2u);
  EXPECT_EQ(statistics.ready_operations, 0u);
  EXPECT_EQ(statistics.completed_operations, 0u);
  EXPECT_THAT(statistics.operations_per_stream,
              ElementsAre(std::pair(1u, size_t{2}), std::pair(2u, size_t{1})));
  EXPECT_TRUE(s.markCompleted(1));
  EXPECT_EQ(s.readyCount(), 2u);
  EXPECT_EQ(s.pendingCount(), 2u);
  EXPECT_FALSE(s.allCompleted());
}

TEST(StreamScheduler, CompletionsOfWhatWasNotHandedOutAreRefused) {
  StreamScheduler s;
  ASSERT_TRUE(s.addOperation(operation(1, 1, {7})));
  EXPECT_FALSE(s.markCompleted(1));  // not handed out
  EXPECT_FALSE(s.markCompleted(7));  // never added
  EXPECT_FALSE(s.markCompleted(99));
  ASSERT_TRUE(s.addOperation(operation(7, 2)));
  EXPECT_EQ(s.getNextOperation()->operation_id, 7u);
  EXPECT_TRUE(s.markCompleted(7));
  EXPECT_FALSE(s.markCompleted(7));  // twice
  EXPECT_EQ(s.getNextOperation()->operation_id, 1u);
}

TEST(StreamScheduler, DuplicateIdsAreRefusedAndChangeNothing) {
  StreamScheduler s;
  ASSERT_TRUE(s.addOperation(operation(1, 1)));
  const Status again = s.addOperation(operation(1, 2, {5}));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(s.getStatistics().total_operations, 1u);
  EXPECT_EQ(s.getStatistics().operations_per_stream.size(), 1u);
  EXPECT_FALSE(s.addOperations({operation(2, 1), operation(2, 1), operation(3, 1)}));
  EXPECT_EQ(s.getStatistics().total_operations, 2u);
  EXPECT_TRUE(s.check());
}

TEST(StreamScheduler, UnknownIdsHoldBackAndAreNamed) {
  StreamScheduler s;
  ASSERT_TRUE(s.addOperation(operation(1, 1, {42})));
  ASSERT_TRUE(s.addOperation(operation(2, 2)));
  EXPECT_THAT(orderOf(s), ElementsAre(2));
  EXPECT_FALSE(s.allCompleted());
  const Status check = s.check();
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(check.error().message, HasSubstr("1 depends on 42"));
  // It may still be added.
  ASSERT_TRUE(s.addOperation(operation(42, 3)));
  EXPECT_TRUE(s.check());
  EXPECT_THAT(orderOf(s), ElementsAre(42, 1));
  EXPECT_TRUE(s.allCompleted());
}

TEST(StreamScheduler, CirclesAreFoundAndNeverGo) {
  const std::vector<std::vector<StreamOperation>> circles = {
      {operation(1, 1, {1})},
      {operation(1, 1, {2}), operation(2, 2, {3}), operation(3, 3, {1})},
      {operation(1, 1, {2}), operation(2, 1)},  // its successor in the stream
  };
  for (const auto& circle : circles) {
    StreamScheduler s;
    ASSERT_TRUE(s.addOperation(operation(100, 9)));
    ASSERT_TRUE(s.addOperations(circle));
    ASSERT_TRUE(s.addOperation(operation(101, 9, {1})));  // after the cycle, not in it
    const Status check = s.check();
    ASSERT_FALSE(check);
    EXPECT_EQ(check.error().code, ErrorCode::kDamaged);
    EXPECT_THAT(check.error().message, testing::Not(HasSubstr("10")));
    EXPECT_THAT(orderOf(s), ElementsAre(100));
    EXPECT_FALSE(s.check());
    EXPECT_EQ(s.pendingCount(), circle.size() + 1);
  }
}

TEST(StreamScheduler, NothingIsNotCompleted) {
  StreamScheduler s;
  EXPECT_EQ(s.getNextOperation(), nullptr);
  EXPECT_FALSE(s.allCompleted());
  EXPECT_TRUE(s.check());
  EXPECT_THAT(s.getStatistics().operations_per_stream, IsEmpty());
  ASSERT_TRUE(s.addOperation(operation(1, 1)));
  s.reset();
  EXPECT_EQ(s.getNextOperation(), nullptr);
  ASSERT_TRUE(s.addOperation(operation(1, 1)));
  EXPECT_THAT(orderOf(s), ElementsAre(1));
}

TEST(StreamScheduler, OutOfOrderStreamsWaitForDependenciesAlone) {
  StreamScheduler s(SchedulingPolicy::OriginalTiming);
  for (uint64_t id = 1; id <= 3; ++id) {
    StreamOperation op = operation(id, 1, {}, 10 - id);
    op.out_of_order = true;
    if (id == 2) op.depends_on = {1};
    ASSERT_TRUE(s.addOperation(op));
  }
  const Status mixed = s.addOperation(operation(4, 1));
  ASSERT_FALSE(mixed);
  EXPECT_THAT(mixed.error().message, HasSubstr("4 is in order, unlike"));
  EXPECT_THAT(orderOf(s), ElementsAre(3, 1, 2));
  EXPECT_TRUE(s.allCompleted());
}

TEST(StreamScheduler, StreamsOfOneNumberOnTwoDevicesAreTwo) {
  StreamScheduler s;
  for (uint32_t device = 0; device < 2; ++device) {
    StreamOperation op = operation(device, 1);
    op.device_id = device;
    ASSERT_TRUE(s.addOperation(op));
  }
  EXPECT_EQ(s.readyCount(), 2u);
  EXPECT_EQ(s.getStatistics().operations_per_stream.at(1), 2u);
}

/// Slow reference: an operation is ready when all before it in its stream and all its dependencies
/// have completed.
TEST(StreamScheduler, RandomGraphsAreDoneInLegalOrdersAndWhole) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    for (const auto policy : {SchedulingPolicy::RoundRobin, SchedulingPolicy::Priority,
                              SchedulingPolicy::OriginalTiming}) {
      const uint64_t n = 1 + random() % 80;
      std::vector<StreamOperation> ops;
      for (uint64_t id = 0; id < n; ++id) {
        std::vector<uint64_t> before;
        while (id != 0 && random() % 2 == 0) before.push_back(random() % id);
        ops.push_back(operation(id, random() % 5, before, random() % 100,
                                static_cast<int64_t>(random() % 10)));
        ops.back().out_of_order = ops.back().stream_id == 4;
      }
      StreamScheduler s(policy);
      ASSERT_TRUE(s.addOperations(ops));
      ASSERT_TRUE(s.check());
      std::vector<uint64_t> active;
      std::set<uint64_t> over;
      while (!s.allCompleted()) {
        const StreamOperation* next = random() % 3 != 0 ? s.getNextOperation() : nullptr;
        if (next != nullptr) {
          const uint64_t id = next->operation_id;
          for (const uint64_t before : ops[id].depends_on) ASSERT_TRUE(over.contains(before));
          for (uint64_t i = id; !ops[id].out_of_order && i-- > 0;) {
            if (ops[i].stream_id != ops[id].stream_id) continue;
            ASSERT_TRUE(over.contains(i));
            break;
          }
          active.push_back(id);
        } else if (!active.empty()) {
          const size_t pick = random() % active.size();
          ASSERT_TRUE(s.markCompleted(active[pick]));
          ASSERT_TRUE(over.insert(active[pick]).second);
          active.erase(active.begin() + static_cast<ptrdiff_t>(pick));
        }
      }
      ASSERT_EQ(over.size(), n);
    }
  }
}

TEST(StreamScheduler, ManyStreamsTakeNoLongerForEachOperation) {
  // A scan of 10,000 streams for each of 100,000 operations would take minutes.
  StreamScheduler s(SchedulingPolicy::Priority);
  for (uint64_t id = 0; id < 100'000; ++id) {
    StreamOperation op = operation(id, id % 10'000, {}, 0, static_cast<int64_t>(id * 7919 % 1000));
    if (id >= 20'000) op.depends_on = {id - 15'000};
    ASSERT_TRUE(s.addOperation(std::move(op)));
  }
  ASSERT_TRUE(s.check());
  EXPECT_EQ(orderOf(s).size(), 100'000u);
}

}  // namespace
}  // namespace tracesmith
