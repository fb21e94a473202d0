// SPDX-License-Identifier: Apache-2.0
// Tests the order of replayed steps for each ReplayOrder, and for partial replays.
#include <gmock/gmock.h>

#include "tracesmith/replay/run/replay_test_util.hpp"

namespace tracesmith {
namespace {

using test::kAllOrders;
using test::kSource;
using test::RecordingBuilder;
using test::replayed;
using namespace recording;

TEST(ReplayedOrder, WhatTheProgramLetRunFirstRunsFirst) {
  for (const ReplayOrder order : kAllOrders) {
    RecordingBuilder r;
    const auto q1 = r.queue(), q2 = r.queue();
    const auto b = r.bufferWith<int>({1});
    const auto k = r.kernel(r.program(kSource), "scale");
    r.argument(k, 0, b);
    r.argument(k, 1, 10);
    const Handle gate = r.newHandle(), filled = r.newHandle();
    r.add(CreateUserEvent{.event = gate, .context = RecordingBuilder::kContext});
    r.launch(q1, k, 1, {gate});
    const uint8_t seven[] = {7, 0, 0, 0};
    Fill fill{.queue = q2, .memory = b, .pattern = seven, .event = filled};
    fill.box.region[0] = 4;
    r.add(fill);
    const auto wait = r.add(WaitForEvents{.events = {&filled, 1}}, command_flags::kStarted);
    r.add(Done{.of = wait});
    r.add(SetUserEventStatus{.event = gate});
    r.read<int>(q1, b, {70});
    ChildSettings settings;
    settings.run.order = order;
    settings.step_limit_s = 20;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << static_cast<int>(order);
    EXPECT_EQ(outcome.result.problem_count, 0u);
  }
}

TEST(ReplayedOrder, AnEventThatAnotherThreadSetMeanwhileIsSetInTime) {
  for (const ReplayOrder order : kAllOrders) {
    RecordingBuilder r;
    const auto q = r.queue();
    const auto b = r.bufferWith<int>({3});
    const auto k = r.kernel(r.program(kSource), "scale");
    r.argument(k, 0, b);
    r.argument(k, 1, 10);
    const Handle gate = r.newHandle();
    r.add(CreateUserEvent{.event = gate, .context = RecordingBuilder::kContext});
    r.launch(q, k, 1, {gate});
    const auto finish = r.add(Finish{.queue = q}, command_flags::kStarted);
    r.add(SetUserEventStatus{.event = gate});
    r.add(Done{.of = finish});
    r.read<int>(q, b, {30});
    ChildSettings settings;
    settings.run.order = order;
    settings.run.dumps = {{1, 1}};
    settings.step_limit_s = 20;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << static_cast<int>(order);
    EXPECT_EQ(outcome.result.problem_count, 0u);
  }
}

TEST(ReplayedOrder, WhatARangeFoundInMemoryIsPutThereAtItsBegin) {
  for (const ReplayOrder order : kAllOrders) {
    RecordingBuilder r;
    const auto q = r.queue();
    const auto b = r.bufferWith<int>({1});
    const auto k = r.kernel(r.program(kSource), "scale");
    r.argument(k, 0, b);
    r.argument(k, 1, 10);
    for (const int found : {2, 5}) {
      const auto content = r.content<int>({found});
      r.add(Snapshot{.memory = b, .content = {4, content}, .kept = 1},
            command_flags::kAddedByAgent);
      r.add(RangeEdge{.is_begin = 1}, command_flags::kAddedByAgent);
      r.launch(q, k, 1);
      r.read<int>(q, b, {10 * found});
    }
    ChildSettings settings;
    settings.run.order = order;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
    EXPECT_EQ(outcome.result.shown_equal, 2u) << static_cast<int>(order);
  }
}

// A command of the range waits for a skipped one, which waits for another one of the range.
TEST(ReplayedOrder, WhatIsLeftOutOfAPartStillOrdersTheRest) {
  for (const bool in_order : {true, false}) {
    RecordingBuilder r;
    const auto q1 = r.queue(), q2 = r.queue(in_order ? 0 : 1), q3 = r.queue();
    const auto b = r.bufferWith<int>({3}), other = r.bufferWith<int>({1});
    const auto p = r.program(kSource + std::string(R"(
kernel void slow(global int* a) { for (volatile int i = 0; i < 300000000; ++i) {} a[0] = 7; })"));
    const auto slow = r.kernel(p, "slow"), scale = r.kernel(p, "scale");
    const Handle first = r.newHandle(), between = r.newHandle();
    r.argument(slow, 0, b);
    r.launch(q1, slow, 1, {}, first);  // 1
    r.argument(scale, 0, other);
    r.argument(scale, 1, 2);
    r.launch(q2, scale, 1, {first}, between);  // 2: nothing in the range needs its memory
    r.argument(scale, 0, b);
    r.argument(scale, 1, 10);
    r.launch(q3, scale, 1, {between});  // 3
    r.read<int>(q3, b, {70});
    ChildSettings settings;
    settings.run.ranges = {{3, 3}};
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
    EXPECT_EQ(outcome.result.launches, 2u);
    EXPECT_EQ(outcome.result.skipped, 1u);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << in_order;
  }
}

}  // namespace
}  // namespace tracesmith
