// SPDX-License-Identifier: Apache-2.0
// Replays in which only the device waits, of synthetic recordings.
#include <gtest/gtest.h>

#include <functional>

#include "tracesmith/replay/plan/recording_test_util.hpp"
#include "tracesmith/replay/run/replay_child.hpp"

namespace tracesmith {
namespace {

using test::RecordingBuilder;
using namespace recording;

constexpr const char* kConcurrentSource =
    "kernel void scale(global int* a, int by) { a[get_global_id(0)] *= by; }";

ChildOutcome replayedConcurrently(RecordingBuilder& recording,
                                  ReplayOrder order = ReplayOrder::kConcurrent) {
  if (!test::kRunsDrivers) {
    ChildOutcome none;
    none.error = {ErrorCode::kNotFound, "no driver is run with sanitizers", ""};
    return none;
  }
  RecordingReader reader = recording.reader();
  const auto plan = ReplayPlan::make(*reader.commands(1));
  EXPECT_TRUE(plan);
  ChildSettings settings;
  settings.run.order = order;
  // So that commands can overlap (two would suffice).
  settings.environment = {{"POCL_MAX_PTHREAD_COUNT", "4"}};
  return runInChild(*plan, reader, settings);
}

#define SKIP_WITHOUT_DEVICE(outcome)                                                      \
  if ((outcome).end == ChildEnd::kFailed && (outcome).error.code == ErrorCode::kNotFound) \
  GTEST_SKIP() << (outcome).error.toString()

/// A launch in `first` runs until it sees what one in `second` writes, or gives up after a time; it
/// writes which. Only overlapping launches can meet.
void recordMeeting(RecordingBuilder& r, Handle first, Handle second, uint32_t turns,
                   const std::function<void()>& between) {
  const auto p = r.program(R"(
kernel void look_out(volatile global int* flag, global int* met, uint turns) {
  for (uint i = 0; i < turns && met[0] == 0; ++i) met[0] = atomic_or(flag, 0);
}
kernel void wave(volatile global int* flag) { atomic_or(flag, 1); })");
  const auto flag = r.bufferWith<int>({0}), met = r.bufferWith<int>({0});
  const auto look_out = r.kernel(p, "look_out"), wave = r.kernel(p, "wave");
  r.argument(look_out, 0, flag);
  r.argument(look_out, 1, met);
  r.argument(look_out, 2, turns);
  r.argument(wave, 0, flag);
  const Handle seen = r.newHandle();
  r.launch(first, look_out, 1, {}, seen);
  between();
  r.launch(second, wave, 1);
  r.add(WaitForEvents{.events = {&seen, 1}});
  r.read<int>(second, met, {1});
}

TEST(ConcurrentRun, CommandsOverlapWhereSerialOnesDoNot) {
  for (const ReplayOrder order : {ReplayOrder::kConcurrent, ReplayOrder::kSerial}) {
    RecordingBuilder r;
    const auto q1 = r.queue(), q2 = r.queue(), q3 = r.queue();
    const auto k = r.kernel(r.program(kConcurrentSource), "scale");
    const auto other = r.bufferWith<int>({21});
    r.argument(k, 0, other);
    r.argument(k, 1, 2);
    const bool meets = order == ReplayOrder::kConcurrent;
    recordMeeting(r, q1, q2, meets ? 2'000'000'000 : 1000, [&] {
      // A host wait for something else, and a read.
      r.launch(q3, k, 1);
      r.add(Finish{.queue = q3});
      r.read<int>(q3, other, {42});
    });
    const ChildOutcome outcome = replayedConcurrently(r, order);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
    EXPECT_EQ(outcome.result.problem_count, 0u);
    EXPECT_EQ(outcome.result.shown, 2u);
    EXPECT_EQ(outcome.result.shown_equal, meets ? 2u : 1u);
  }
}

TEST(ConcurrentRun, TheDeviceWaitsWhereTheHostDid) {
  for (int way = 0; way < 4; ++way) {
    RecordingBuilder r;
    const auto q1 = r.queue(), q2 = r.queue(way == 3 ? 1 : 0);
    const auto b = r.bufferWith<int>({1, 2}), slow = r.buffer(1 << 22);
    const auto p = r.program(kConcurrentSource);
    const auto k = r.kernel(p, "scale"), work = r.kernel(p, "scale");
    r.argument(work, 0, slow);
    r.argument(work, 1, 3);
    r.argument(k, 0, b);
    std::vector<int> now = {1, 2};
    for (int i = 2; i < 40; ++i) {
      const Handle event = r.newHandle();
      r.launch(i % 2 ? q1 : q2, work, 1 << 20);
      r.argument(k, 1, i % 5);
      r.launch(i % 2 ? q1 : q2, k, 2, {}, event);
      for (int& v : now) v *= i % 5;
      if (now[0] == 0) {
        now = {i, 2 * i};
        r.add(WaitForEvents{.events = {&event, 1}});
        const auto hashes = r.content(now);
        Write w{.queue = q1, .memory = b, .host = 1, .content = {8, hashes}};
        w.box.region[0] = 8;
        r.add(w, command_flags::kBlocking);
      } else if (way == 0) {
        r.add(Finish{.queue = i % 2 ? q1 : q2});
      } else if (way == 1) {
        r.add(WaitForEvents{.events = {&event, 1}});
      } else {
        r.add(WaitForEvents{.events = {&event, 1}});
        r.read(i % 2 ? q2 : q1, b, now);
      }
    }
    r.read(q2, b, now);
    const ChildOutcome outcome = replayedConcurrently(r);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
    EXPECT_EQ(outcome.result.problem_count, 0u);
    EXPECT_GT(outcome.result.shown, 0u);
    EXPECT_EQ(outcome.result.shown_equal, outcome.result.shown) << "way " << way;
  }
}

TEST(ConcurrentRun, AnEventOfTheHostsIsSetWhenItsTimeHasCome) {
  RecordingBuilder r;
  const auto q1 = r.queue(), q2 = r.queue();
  const auto b = r.bufferWith<int>({1}), slow = r.buffer(1 << 22);
  const auto p = r.program(kConcurrentSource);
  const auto k = r.kernel(p, "scale");
  const Handle user = r.newHandle();
  r.add(CreateUserEvent{.event = user, .context = RecordingBuilder::kContext});
  r.argument(k, 0, b);
  r.argument(k, 1, 5);
  r.launch(q1, k, 1, {user});  // comes last
  r.argument(k, 0, slow);
  r.launch(q2, k, 1 << 20);
  r.argument(k, 0, b);
  r.argument(k, 1, 0);
  r.launch(q2, k, 1);
  const auto hashes = r.content(std::vector<int>{7});
  Write w{.queue = q2, .memory = b, .host = 1, .content = {4, hashes}};
  w.box.region[0] = 4;
  r.add(w);
  r.add(Finish{.queue = q2});
  r.add(SetUserEventStatus{.event = user, .status = 0});
  r.add(Finish{.queue = q1});
  r.read<int>(q2, b, {35});
  const ChildOutcome outcome = replayedConcurrently(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.shown_equal, 1u);
}

TEST(ConcurrentRun, MoreCommandsThanTheDeviceIsGivenAtOnceGoThrough) {
  RecordingBuilder r;
  const auto q1 = r.queue(), q2 = r.queue(1);
  const auto a = r.bufferWith<int>({0, 1}), b = r.bufferWith<int>({0, 1});
  const auto k =
      r.kernel(r.program("kernel void add(global int* a) { a[get_global_id(0)] += 1; }"), "add");
  Handle last = 0;
  for (int i = 0; i < 3000; ++i) {
    r.argument(k, 0, i % 2 ? a : b);
    const Handle event = r.newHandle();
    r.launch(i % 2 ? q1 : q2, k, 2,
             i % 2 || last == 0 ? std::vector<Handle>{} : std::vector<Handle>{last}, event);
    if (i % 2 == 0) last = event;
    if (i % 100 == 0) r.add(Flush{.queue = q1});
  }
  r.add(WaitForEvents{.events = {&last, 1}});
  r.read<int>(q2, b, {1500, 1501});
  r.read<int>(q1, a, {1500, 1501});
  r.add(Release{.object = q2, .object_class = ObjectClass::kQueue});
  const ChildOutcome outcome = replayedConcurrently(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.launches, 3000u);
  EXPECT_EQ(outcome.result.shown_equal, 2u);
  EXPECT_EQ(outcome.result.problem_count, 0u);
}

TEST(ConcurrentRun, WhatWasMappedIsSeenBeforeItIsChanged) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.bufferWith<int>({1, 2});
  const auto k = r.kernel(r.program(kConcurrentSource), "scale");
  r.argument(k, 0, b);
  r.argument(k, 1, 10);
  for (int round = 0; round < 3; ++round) {
    const std::vector<int> before = {round + 1, round + 2},
                           after = {10 * before[0], 10 * before[1]};
    r.launch(q, k, 2);
    constexpr Handle kMapped = 0x9000;
    Map map{.queue = q, .memory = b, .flags = 3};
    map.box.region[0] = 8;
    const uint64_t of = r.add(map, command_flags::kBlocking | command_flags::kStarted);
    const auto seen = r.content(after);
    r.add(Done{.of = of, .content = {8, seen}, .pointer = kMapped});
    const auto next = r.content(std::vector<int>{round + 2, round + 3});
    Unmap unmap{.queue = q, .memory = b, .pointer = kMapped, .content = {8, next}};
    unmap.box.region[0] = 8;
    r.add(unmap);
  }
  r.read<int>(q, b, {4, 5});
  const ChildOutcome outcome = replayedConcurrently(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.shown, 4u);
  EXPECT_EQ(outcome.result.shown_equal, 4u);
}

}  // namespace
}  // namespace tracesmith
