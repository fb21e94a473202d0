// SPDX-License-Identifier: Apache-2.0
// Compares orders of random plans with a slow reference.
#include "tracesmith/replay/plan/step_order.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "tracesmith/replay/plan/order_changes.hpp"
#include "tracesmith/replay/plan/random.hpp"
#include "tracesmith/replay/plan/recording_test_util.hpp"

namespace tracesmith {
namespace {

using test::planOf;
using test::RecordingBuilder;
using namespace recording;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Pair = std::pair<uint64_t, uint64_t>;

/// Commands on random queues, and the pairs (first, second) of sequence numbers whose order is
/// fixed.
struct RandomProgram {
  explicit RandomProgram(uint64_t seed) : random(seed) {
    struct Queue {
      Handle handle;
      bool in_order;
      std::vector<uint64_t> commands;
      uint64_t barrier = UINT64_MAX;
    };
    std::vector<Queue> queues;
    for (int q = 0; q < 3; ++q) queues.push_back({r.queue(q % 2), q % 2 == 0, {}});
    const Handle buffer = r.buffer(64);
    std::vector<std::pair<Handle, uint64_t>> events;
    std::vector<uint64_t> host;  // ended before any later call
    for (int i = 0; i < 40; ++i) {
      Queue& q = queues[random.below(3)];
      std::vector<Handle> waits;
      std::vector<uint64_t> waited;
      while (!events.empty() && random.below(3) == 0) {
        const auto& [event, of] = events[random.below(events.size())];
        waits.push_back(event);
        waited.push_back(of);
      }
      const auto must = [&](uint64_t later) {
        for (const uint64_t x : waited) edges.insert({x, later});
        for (const uint64_t x : host) edges.insert({x, later});
      };
      const auto queued = [&](uint64_t later) {
        if (q.in_order) {
          for (const uint64_t x : q.commands) edges.insert({x, later});
        } else if (q.barrier != UINT64_MAX) {
          edges.insert({q.barrier, later});
        }
      };
      const uint64_t what = random.below(20);
      if (what == 0) {
        const uint64_t is = r.add(Finish{.queue = q.handle});
        for (const uint64_t x : q.commands) edges.insert({x, is});
        waited.clear();
        must(is);
        host.push_back(is);
      } else if (what == 1 && !waits.empty()) {
        const uint64_t is = r.add(WaitForEvents{.events = waits});
        must(is);
        host.push_back(is);
      } else {
        const bool barrier = what == 2;
        const Handle event = r.newHandle();
        uint64_t is = 0;
        if (barrier) {
          is = r.add(Marker{.queue = q.handle, .is_barrier = 1, .waits = waits, .event = event});
          if (waits.empty()) {
            for (const uint64_t x : q.commands) edges.insert({x, is});
          }
        } else {
          Fill c{.queue = q.handle, .memory = buffer, .waits = waits, .event = event};
          c.box.region[0] = 64;
          is = r.add(c, what == 3 ? command_flags::kBlocking : 0);
        }
        queued(is);
        must(is);
        if (barrier) q.barrier = is;
        if (what == 3) host.push_back(is);
        q.commands.push_back(is);
        events.emplace_back(event, is);
      }
    }
  }
  RecordingBuilder r;
  Random random;
  std::set<Pair> edges;
};

void expectLegal(const ReplayPlan& plan, const std::set<Pair>& edges,
                 const std::vector<StepIndex>& order, uint64_t seed) {
  std::map<uint64_t, size_t> at;
  for (size_t i = 0; i < order.size(); ++i) at[plan.step(order[i]).header.sequence] = i;
  ASSERT_EQ(at.size(), order.size()) << "seed " << seed;
  for (const auto& [first, second] : edges) {
    ASSERT_TRUE(at.contains(first) && at.contains(second)) << "seed " << seed;
    ASSERT_LT(at[first], at[second]) << "seed " << seed << ": " << first << " before " << second;
  }
}

std::set<Pair> withWhatFollows(std::set<Pair> all) {
  for (bool more = true; more;) {
    more = false;
    for (const auto& [a, b] : std::set<Pair>(all)) {
      for (auto it = all.lower_bound({b, 0}); it != all.end() && it->first == b; ++it) {
        more |= all.insert({a, it->second}).second;
      }
    }
  }
  return all;
}

TEST(StepOrder, DrawnOrdersAndLateOnesRespectAllThatTheProgramSaid) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomProgram program(seed);
    const ReplayPlan plan = planOf(program.r);
    const StepDependencies dependencies = StepDependencies::of(plan);
    size_t moving = 0;
    for (StepIndex i = 0; i < plan.steps().size(); ++i) moving += isMovable(plan, i) ? 1 : 0;
    for (uint64_t drawn = 0; drawn < 5; ++drawn) {
      const auto order = randomLegalOrder(plan, dependencies, drawn);
      ASSERT_EQ(order.size(), moving);
      expectLegal(plan, program.edges, order, seed);
      EXPECT_EQ(order, randomLegalOrder(plan, dependencies, drawn));
      const StepIndex late[] = {order[drawn], order[2 * drawn + 1]};
      const auto other = lateLegalOrder(plan, dependencies, late);
      ASSERT_EQ(other.size(), moving);
      expectLegal(plan, program.edges, other, seed);
    }
  }
}

// Each pair that the program does not order, directly or indirectly, is reversed.
TEST(StepOrder, ALateStepComesAfterAllThatNeedNotComeAfterIt) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    RandomProgram program(seed);
    const ReplayPlan plan = planOf(program.r);
    const StepDependencies dependencies = StepDependencies::of(plan);
    const std::set<Pair> all = withWhatFollows(program.edges);
    const auto order = randomLegalOrder(plan, dependencies, seed);
    for (const StepIndex late : order) {
      std::set<uint64_t> before;
      for (const StepIndex s : lateLegalOrder(plan, dependencies, std::vector{late})) {
        if (s == late) break;
        before.insert(plan.step(s).header.sequence);
      }
      const uint64_t is = plan.step(late).header.sequence;
      for (const StepIndex s : order) {
        const uint64_t other = plan.step(s).header.sequence;
        ASSERT_EQ(before.contains(other), other != is && !all.contains({is, other}))
            << "seed " << seed << ": " << other << " and " << is;
      }
    }
  }
}

TEST(StepOrder, EveryLegalOrderOfASmallPlanIsReached) {
  RecordingBuilder r;
  const Handle q = r.queue(), free = r.queue(1), buffer = r.buffer(64);
  const auto fill = [&](Handle queue, std::vector<Handle> waits, Handle event) {
    Fill c{.queue = queue, .memory = buffer, .waits = waits, .event = event};
    c.box.region[0] = 64;
    r.add(c);
  };
  const Handle a = r.newHandle();
  fill(q, {}, a);      // 0
  fill(q, {}, 0);      // 1 after 0
  fill(free, {}, 0);   // 2
  fill(free, {a}, 0);  // 3 after 0
  const ReplayPlan plan = planOf(r);
  const StepDependencies dependencies = StepDependencies::of(plan);
  std::set<std::vector<StepIndex>> orders;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    orders.insert(randomLegalOrder(plan, dependencies, seed));
  }
  EXPECT_THAT(orders, SizeIs(8));  // 2 ways to place 1 and 3 after 0, 4 places for 2
}

/// Records fills of one buffer, in queues, with user events.
struct Gates {
  Handle gate() {
    const Handle event = r.newHandle();
    r.add(CreateUserEvent{.event = event, .context = RecordingBuilder::kContext});
    return event;
  }
  uint64_t fill(Handle queue, std::vector<Handle> waits = {}, Handle event = 0) {
    Fill c{.queue = queue, .memory = buffer, .waits = waits, .event = event};
    c.box.region[0] = 64;
    return r.add(c);
  }
  uint64_t set(Handle event) { return r.add(SetUserEventStatus{.event = event}); }
  uint64_t wait(Handle event) {
    return r.add(WaitForEvents{.events = {&event, 1}}, command_flags::kStarted);
  }
  uint64_t done(uint64_t of) { return r.add(Done{.of = of}); }

  /// The entries of `order` that are in `wanted` (sequence numbers, which here are also step
  /// indices).
  static std::vector<uint64_t> among(std::vector<StepIndex> order, std::set<uint64_t> wanted) {
    std::erase_if(order, [&](StepIndex s) { return !wanted.contains(s); });
    return {order.begin(), order.end()};
  }

  RecordingBuilder r;
  Handle one = r.queue(), two = r.queue(), buffer = r.buffer(64);
};

TEST(StepOrder, WhatWaitsForAnEventOfTheProgramComesAfterAllThatWasOverWhenItWasSet) {
  Gates g;
  const Handle gate = g.gate(), event = g.r.newHandle();
  const auto held = g.fill(g.one, {gate});
  const auto first = g.fill(g.two, {}, event);
  const auto wait = g.wait(event);
  const auto done = g.done(wait);
  const auto set = g.set(gate);
  const auto last = g.fill(g.two);
  const ReplayPlan plan = planOf(g.r);
  const StepDependencies dependencies = StepDependencies::of(plan);
  const auto steps = static_cast<StepIndex>(plan.steps().size());
  const std::set<uint64_t> all = {held, first, wait, done, set, last};
  EXPECT_THAT(Gates::among(serialOrder(plan, steps), all),
              ElementsAre(first, wait, done, set, held, last));
  EXPECT_THAT(Gates::among(lateLegalOrder(plan, dependencies, {}), all),
              ElementsAre(first, wait, done, set, held, last));
  // Commands may wait for each other on the device.
  EXPECT_THAT(Gates::among(callOrder(plan, steps, {}), all),
              ElementsAre(held, first, wait, done, set, last));
  // Not at the end, or where memory is read.
  const auto before_the_set = static_cast<StepIndex>(wait);
  EXPECT_THAT(Gates::among(callOrder(plan, before_the_set, {}), all),
              ElementsAre(held, first, wait, done, set));
  EXPECT_THAT(Gates::among(callOrder(plan, steps, {static_cast<StepIndex>(first)}), all),
              ElementsAre(held, first, wait, done, set, last));
  std::set<std::vector<StepIndex>> orders;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto order = randomLegalOrder(plan, dependencies, seed);
    orders.insert(order);
    EXPECT_THAT(Gates::among(order, {first, wait, done, set, held}),
                ElementsAre(first, wait, done, set, held));
  }
  EXPECT_THAT(orders, SizeIs(3));  // the last fill: after the wait, before or after the two
}

TEST(StepOrder, AWaitThatAnotherThreadEndsIsNotBeforeWhatEndsIt) {
  Gates g;
  const Handle gate = g.gate(), event = g.r.newHandle();
  const auto held = g.fill(g.one, {gate});
  const auto finish = g.r.add(Finish{.queue = g.one}, command_flags::kStarted);  // thread A waits
  const auto other = g.fill(g.two, {}, event);  // thread B does not
  const auto wait = g.wait(event);
  const auto waited = g.done(wait);
  const Handle made_meanwhile = g.r.buffer(16);
  const auto set = g.set(gate);
  const auto finished = g.done(finish);
  const auto last = g.fill(g.two);
  EXPECT_NE(made_meanwhile, 0u);
  const ReplayPlan plan = planOf(g.r);
  const StepDependencies dependencies = StepDependencies::of(plan);
  const auto steps = static_cast<StepIndex>(plan.steps().size());
  const std::set<uint64_t> all = {held, finish, other, wait, waited, set, finished, last};
  EXPECT_THAT(Gates::among(callOrder(plan, steps, {}), all),
              ElementsAre(held, other, wait, waited, set, finish, finished, last));
  EXPECT_THAT(Gates::among(serialOrder(plan, steps), all),
              ElementsAre(other, wait, waited, set, held, finish, finished, last));
  EXPECT_THAT(callOrder(plan, steps, {}), SizeIs(steps));
  EXPECT_THAT(serialOrder(plan, steps), SizeIs(steps));
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_THAT(Gates::among(randomLegalOrder(plan, dependencies, seed), all),
                ElementsAre(other, wait, waited, set, held, finish, finished, last));
  }
}

TEST(StepOrder, ABlockingCallThatFailedAtItsEndComesAfterWhatEndsItsWait) {
  Gates g;
  const Handle gate = g.gate();
  const auto held = g.fill(g.one, {gate});
  Read blocking{.queue = g.one, .memory = g.buffer, .host = 1};
  blocking.box.region[0] = 64;
  const auto read =
      g.r.add(blocking, command_flags::kStarted | command_flags::kBlocking);  // thread A waits
  const auto set = g.set(gate);                                               // thread B
  const auto failed = g.r.add(Done{.of = read}, 0, -52);
  const ReplayPlan plan = planOf(g.r);
  const auto steps = static_cast<StepIndex>(plan.steps().size());
  const std::set<uint64_t> all = {held, read, set, failed};
  EXPECT_THAT(Gates::among(callOrder(plan, steps, {}), all), ElementsAre(held, set, read, failed));
  EXPECT_THAT(Gates::among(serialOrder(plan, steps), all), ElementsAre(set, held, read, failed));
}

TEST(StepOrder, WhatRestoresMemoryKeepsItsPlaceAmongAllQueues) {
  Gates g;
  const Handle free = g.r.queue(1);
  const auto snapshot = [&](uint64_t after) {
    return g.r.add(Snapshot{.memory = g.buffer, .after = after}, command_flags::kAddedByAgent);
  };
  const auto first = snapshot(0);
  const auto a = g.fill(g.one), b = g.fill(free), c = g.fill(free);
  const auto of_a_launch = snapshot(7);
  const auto second = snapshot(0);
  const auto d = g.fill(g.two);
  const ReplayPlan plan = planOf(g.r);
  const StepDependencies dependencies = StepDependencies::of(plan);
  EXPECT_FALSE(isMovable(plan, static_cast<StepIndex>(of_a_launch)));
  std::set<std::vector<StepIndex>> orders;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto order = randomLegalOrder(plan, dependencies, seed);
    orders.insert(order);
    ASSERT_THAT(order, SizeIs(6));
    EXPECT_EQ(order.front(), first);
    EXPECT_THAT(Gates::among(order, {a, second, d}), ElementsAre(a, second, d));
    EXPECT_THAT(Gates::among(order, {b, second}), ElementsAre(b, second));
    EXPECT_THAT(Gates::among(order, {c, second}), ElementsAre(c, second));
  }
  EXPECT_THAT(orders, SizeIs(6));
}

TEST(StepOrder, WhatTheHostLeftInMappedMemoryWaitsForTheMapAlone) {
  Gates g;
  const Handle pointer = 0x7000'0000, gate = g.gate();
  g.r.add(SvmAlloc{.pointer = pointer, .context = RecordingBuilder::kContext, .bytes = 64});
  const auto held = g.fill(g.one, {gate});
  const auto map = g.r.add(SvmMap{.queue = g.two, .pointer = pointer, .bytes = 64});
  const auto left = g.r.add(Snapshot{.memory = pointer, .is_svm = 1}, command_flags::kAddedByAgent);
  const auto unmap = g.r.add(SvmUnmap{.queue = g.two, .pointer = pointer});
  const auto set = g.set(gate);
  const ReplayPlan plan = planOf(g.r);
  const StepDependencies dependencies = StepDependencies::of(plan);
  EXPECT_THAT(Gates::among(lateLegalOrder(plan, dependencies, {}), {held, map, left, unmap, set}),
              ElementsAre(map, left, unmap, set, held));
}

TEST(StepOrder, MarkersForAllThatIsInAQueueLeanOnEachOther) {
  Gates g;
  const Handle free = g.r.queue(1);
  std::vector<uint64_t> fills, markers;
  for (int i = 0; i < 100; ++i) {
    fills.push_back(g.fill(free));
    markers.push_back(g.r.add(Marker{.queue = free}));
  }
  const auto last = g.fill(free);
  const auto finish = g.r.add(Finish{.queue = free});
  const ReplayPlan plan = planOf(g.r);
  const StepDependencies dependencies = StepDependencies::of(plan);
  EXPECT_LT(dependencies.edges(), 300u);
  bool moved = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto order = randomLegalOrder(plan, dependencies, seed);
    std::map<uint64_t, size_t> at;
    for (size_t i = 0; i < order.size(); ++i) at[order[i]] = i;
    for (size_t i = 0; i < markers.size(); ++i) {
      EXPECT_LT(at[fills[i]], at[markers[i]]);
      EXPECT_LE(at[markers[i > 0 ? i - 1 : 0]], at[markers[i]]);
    }
    moved |= at[last] < at[markers.back()];  // a marker delays nothing
    EXPECT_EQ(at[finish], order.size() - 1);
  }
  EXPECT_TRUE(moved);
}

TEST(StepOrder, StepsThatWaitForEachOtherComeLastAsRecorded) {
  Gates g;
  const Handle gate = g.gate();
  // First never ends, later has ended.
  const auto wait = g.r.add(WaitForEvents{.events = {&gate, 1}});
  const auto set = g.set(gate);
  const ReplayPlan plan = planOf(g.r);
  const StepDependencies dependencies = StepDependencies::of(plan);
  EXPECT_THAT(randomLegalOrder(plan, dependencies, 1), ElementsAre(wait, set));
  EXPECT_THAT(lateLegalOrder(plan, dependencies, {}), ElementsAre(wait, set));
  const auto steps = static_cast<StepIndex>(plan.steps().size());
  EXPECT_THAT(serialOrder(plan, steps), SizeIs(steps));
  EXPECT_THAT(orderChanges(plan, dependencies, 10).late, IsEmpty());
}

// For every two commands: either they are ordered and cannot be reversed, or the new order is legal
// and differs only between the two.
TEST(OrderChanges, TwoCommandsAreTurnedRoundWhereNothingOrdersThem) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomProgram program(seed);
    const ReplayPlan plan = planOf(program.r);
    const StepDependencies dependencies = StepDependencies::of(plan);
    const std::set<Pair> all = withWhatFollows(program.edges);
    const std::vector<StepIndex> recorded = lateLegalOrder(plan, dependencies, {});
    for (size_t a = 0; a < recorded.size(); ++a) {
      for (size_t b = a + 1; b < recorded.size(); ++b) {
        const auto reversed = reverseCommands(plan, dependencies, recorded[a], recorded[b]);
        const bool ordered = all.contains(
            {plan.step(recorded[a]).header.sequence, plan.step(recorded[b]).header.sequence});
        ASSERT_NE(reversed.has_value(), ordered) << "seed " << seed << ": " << a << " and " << b;
        if (!reversed) continue;
        const std::vector<StepIndex>& order = reversed->order;
        ASSERT_EQ(order.size(), recorded.size());
        expectLegal(plan, program.edges, order, seed);
        const auto place = [&](size_t of) {
          return std::find(order.begin(), order.end(), recorded[of]) - order.begin();
        };
        ASSERT_LT(place(b), place(a));
        ASSERT_EQ(reversed->settled, b + 1);
        ASSERT_TRUE(
            std::equal(order.begin(), order.begin() + static_cast<ptrdiff_t>(a), recorded.begin()));
        ASSERT_TRUE(std::equal(order.begin() + reversed->settled, order.end(),
                               recorded.begin() + reversed->settled));
        ASSERT_LT(reversed->moved_along, b - a);
      }
    }
  }
}

TEST(OrderChanges, NameQueuesAndSingleCommandsThatNothingOrders) {
  RecordingBuilder r;
  const Handle one = r.queue(), two = r.queue(), free = r.queue(1);
  const Handle a = r.buffer(64), b = r.buffer(64);
  const auto fill = [&](Handle queue, Handle memory, std::vector<Handle> waits = {},
                        Handle event = 0) {
    Fill c{.queue = queue, .memory = memory, .waits = waits, .event = event};
    c.box.region[0] = 64;
    return r.add(c);
  };
  const Handle event = r.newHandle();
  fill(one, a);
  fill(one, a, {}, event);
  fill(two, a, {event});
  r.add(Finish{.queue = two});
  const auto ordered = fill(free, b);
  r.add(Finish{.queue = free});
  const auto first = fill(free, b);
  const auto second = fill(free, b);
  const ReplayPlan plan = planOf(r);
  const auto changes = orderChanges(plan, StepDependencies::of(plan), 10);
  ASSERT_THAT(changes.late, SizeIs(1));
  ASSERT_THAT(changes.late[0], SizeIs(1));
  EXPECT_EQ(plan.step(changes.late[0][0]).header.sequence, first);
  EXPECT_EQ(changes.left_out, 0u);
  EXPECT_EQ(orderChanges(plan, StepDependencies::of(plan), 0).left_out, 1u);
  EXPECT_LT(ordered, second);
}

TEST(OrderChanges, ALongWayToTheSecondCommandHidesNothing) {
  RecordingBuilder r;
  const Handle one = r.queue(), two = r.queue(), a = r.buffer(64), b = r.buffer(64);
  const auto fill = [&](Handle queue, Handle memory) {
    Fill c{.queue = queue, .memory = memory};
    c.box.region[0] = 64;
    return r.add(c);
  };
  const uint64_t early = fill(one, a);
  for (int i = 0; i < 500; ++i) fill(two, b);
  const uint64_t last = fill(two, a);
  const ReplayPlan plan = planOf(r);
  const StepDependencies dependencies = StepDependencies::of(plan);
  const auto changes = orderChanges(plan, dependencies, 10);
  ASSERT_THAT(changes.late, SizeIs(1));
  const auto order = lateLegalOrder(plan, dependencies, changes.late[0]);
  EXPECT_EQ(plan.step(order.back()).header.sequence, early);
  EXPECT_EQ(plan.step(order[order.size() - 2]).header.sequence, last);
}

}  // namespace
}  // namespace tracesmith
