// SPDX-License-Identifier: Apache-2.0
// Programs that are nondeterministic by construction, and some that are not.
#include "tracesmith/replay/check/determinism.hpp"

#include <gmock/gmock.h>

#include "tracesmith/replay/plan/recording_test_util.hpp"

namespace tracesmith {
namespace {

using test::RecordingBuilder;
using namespace recording;
using testing::HasSubstr;

constexpr uint64_t kItems = 1 << 14;

constexpr const char* kDeterminismSource = R"(
kernel void fine(global float* a) { size_t i = get_global_id(0); a[i] = a[i] * 1.5f + i; }
kernel void ticket(global int* a) {
  a[get_global_id(0) + 1] = atomic_inc(a);
  barrier(CLK_GLOBAL_MEM_FENCE);
}
kernel void copy(global const float* from, global float* to) {
  to[get_global_id(0)] = from[get_global_id(0)];
}
kernel void part(global float* a, global int* count, int from) {
  a[from + get_global_id(0)] += from + 1;
  atomic_add(count, from + 3);
}
kernel void half_of(global float* a) {
  if (get_global_id(0) % 2 == 0) a[get_global_id(0)] = 1;
}
)";

constexpr const char* kRace = R"(
kernel void race(global int* a) {
  for (int i = 0; i < 200; ++i) {
    a[i % 16] = (a[i % 16] ^ (int)get_global_id(0)) * 16777619 + i;
  }
}
)";

Result<DeterminismReport> checked(RecordingBuilder& recording, DeterminismOptions options = {}) {
  if (!test::kRunsDrivers) {
    return fail(ErrorCode::kNotFound, "no driver is run with sanitizers");
  }
  RecordingReader reader = recording.reader();
  auto plan = ReplayPlan::make(*reader.commands(1));
  EXPECT_TRUE(plan);
  return checkDeterminism(*plan, reader, options);
}

#define SKIP_WITHOUT_REPORT(report)                               \
  if (!(report) && (report).error().code == ErrorCode::kNotFound) \
  GTEST_SKIP() << (report).error().toString()

TEST(Determinism, WhatAlwaysDoesTheSameRaisesNoAlarm) {
  RecordingBuilder r;
  const auto q1 = r.queue(), q2 = r.queue();
  const auto a = r.buffer(4 * kItems), b = r.buffer(4 * kItems);
  const auto p = r.program(kDeterminismSource);
  const auto fine = r.kernel(p, "fine"), copy = r.kernel(p, "copy");
  r.argument(fine, 0, a);
  r.argument(copy, 0, a);
  r.argument(copy, 1, b);
  // Uninitialised memory is written before it is read.
  const std::vector<uint8_t> zero(4);
  Fill fill{.queue = q1, .memory = a, .pattern = zero};
  fill.box.region[0] = 4 * kItems;
  r.add(fill);
  const Handle event = r.newHandle();
  r.launch(q1, fine, kItems);
  r.launch(q1, fine, kItems, {}, event);
  r.launch(q2, copy, kItems, {event});
  r.add(Finish{.queue = q2});
  const auto report = checked(r);
  SKIP_WITHOUT_REPORT(report);
  ASSERT_TRUE(report) << report.error().toString();
  EXPECT_TRUE(report->divergences.empty()) << report->divergences[0].evidence;
  EXPECT_TRUE(report->notes.empty()) << report->notes[0];
  EXPECT_EQ(report->launches, 3u);
  EXPECT_GE(report->runs, 26u);
}

TEST(Determinism, NamesTheFirstLaunchOfATicketOrderAndOfARace) {
  for (const bool atomics : {true, false}) {
    RecordingBuilder r;
    const auto q = r.queue();
    const auto a = r.bufferWith(std::vector<float>(kItems)),
               t = r.bufferWith(std::vector<int>(kItems + 1));
    const auto p = r.program(kDeterminismSource), race = r.program(kRace);
    const auto fine = r.kernel(p, "fine");
    const auto bad = atomics ? r.kernel(p, "ticket") : r.kernel(race, "race");
    r.argument(fine, 0, a);
    r.argument(bad, 0, t);
    r.launch(q, fine, kItems);
    r.launch(q, fine, kItems);
    r.launch(q, bad, kItems, {}, 0, 16);
    r.launch(q, fine, kItems);
    const auto report = checked(r);
    SKIP_WITHOUT_REPORT(report);
    ASSERT_TRUE(report) << report.error().toString();
    ASSERT_EQ(report->divergences.size(), 1u);
    const Divergence& d = report->divergences[0];
    EXPECT_EQ(d.cause,
              atomics ? DivergenceCause::kAtomicOrder : DivergenceCause::kScheduleDependent);
    EXPECT_EQ(d.argument, 0u);
    ASSERT_TRUE(d.difference);
    EXPECT_EQ(d.difference->type, ElementType::kI32);
    EXPECT_GT(d.difference->differing, 0u);
  }
}

TEST(Determinism, NamesTheLaunchThatReadsWhatNobodyWrote) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto a = r.buffer(4 * kItems), b = r.buffer(4 * kItems);
  const auto p = r.program(kDeterminismSource);
  const auto half = r.kernel(p, "half_of"), copy = r.kernel(p, "copy");
  r.argument(half, 0, a);
  r.argument(copy, 0, a);
  r.argument(copy, 1, b);
  r.launch(q, half, kItems);  // leaves every other element unchanged: no read
  r.launch(q, copy, kItems);  // reads them
  const auto report = checked(r);
  SKIP_WITHOUT_REPORT(report);
  ASSERT_TRUE(report) << report.error().toString();
  ASSERT_EQ(report->divergences.size(), 1u);
  EXPECT_EQ(report->divergences[0].cause, DivergenceCause::kUninitialisedRead);
  EXPECT_THAT(report->divergences[0].evidence,
              HasSubstr("bytes of its output depend on uninitialised memory"));
}

TEST(Determinism, NamesTheLaunchThatWaitsForNobody) {
  RecordingBuilder r;
  const auto q1 = r.queue(), q2 = r.queue();
  const auto a = r.bufferWith(std::vector<float>(kItems)),
             b = r.bufferWith(std::vector<float>(kItems));
  const auto p = r.program(kDeterminismSource);
  const auto fine = r.kernel(p, "fine"), copy = r.kernel(p, "copy");
  r.argument(fine, 0, a);
  r.argument(copy, 0, a);
  r.argument(copy, 1, b);
  r.launch(q1, fine, kItems);
  r.add(Finish{.queue = q1});
  r.launch(q1, fine, kItems);
  r.launch(q2, copy, kItems);  // should wait for the previous one
  const auto report = checked(r);
  SKIP_WITHOUT_REPORT(report);
  ASSERT_TRUE(report) << report.error().toString();
  ASSERT_FALSE(report->divergences.empty());
  for (const Divergence& d : report->divergences) {
    EXPECT_EQ(d.cause, DivergenceCause::kMissingSynchronisation) << d.evidence;
  }
  EXPECT_EQ(report->divergences.size(), 1u);
  EXPECT_THAT(report->divergences[0].evidence, HasSubstr("it is not ordered with"));
}

TEST(Determinism, WhatTwoQueuesMayDoToOneBufferRaisesNoAlarm) {
  RecordingBuilder r;
  const auto q1 = r.queue(), q2 = r.queue();
  const auto halves = r.bufferWith(std::vector<float>(2 * kItems));
  const auto counter = r.bufferWith(std::vector<int>(1));
  const auto p = r.program(kDeterminismSource);
  const auto low = r.kernel(p, "part"), high = r.kernel(p, "part");
  r.argument(low, 0, halves);
  r.argument(low, 1, counter);
  r.argument(low, 2, 0);
  r.argument(high, 0, halves);
  r.argument(high, 1, counter);
  r.argument(high, 2, static_cast<int>(kItems));
  for (int round = 0; round < 2; ++round) {
    r.launch(q1, low, kItems);
    r.launch(q2, high, kItems);
    r.add(Finish{.queue = q1});
    r.add(Finish{.queue = q2});
  }
  const auto report = checked(r);
  SKIP_WITHOUT_REPORT(report);
  ASSERT_TRUE(report) << report.error().toString();
  EXPECT_TRUE(report->divergences.empty()) << report->divergences[0].evidence;
  EXPECT_TRUE(report->notes.empty()) << report->notes[0];
}

TEST(Determinism, NamesTheReadThatWaitsForNobodyAndTheWriteThatDoes) {
  RecordingBuilder r;
  const auto q1 = r.queue(), q2 = r.queue();
  std::vector<float> values(kItems);
  const auto a = r.bufferWith(values), b = r.bufferWith(values);
  const auto fine = r.kernel(r.program(kDeterminismSource), "fine");
  r.argument(fine, 0, a);
  r.launch(q1, fine, kItems);
  for (size_t i = 0; i < kItems; ++i) values[i] = static_cast<float>(i);
  const uint64_t read = r.read(q2, a, values);  // should wait for the launch
  r.add(Finish{.queue = q1});
  r.argument(fine, 0, b);
  r.launch(q1, fine, kItems);
  const std::vector<uint8_t> zero(4);
  Fill fill{.queue = q2, .memory = b, .pattern = zero};  // so should this
  fill.box.region[0] = 4 * kItems;
  const uint64_t filled = r.add(fill);
  const auto report = checked(r);
  SKIP_WITHOUT_REPORT(report);
  ASSERT_TRUE(report) << report.error().toString();
  RecordingReader reader = r.reader();
  const auto plan = ReplayPlan::make(*reader.commands(1));
  ASSERT_EQ(report->divergences.size(), 2u);
  EXPECT_EQ(plan->step(report->divergences[0].step).header.sequence, read);
  EXPECT_THAT(report->divergences[0].evidence, HasSubstr("that the host reads"));
  EXPECT_EQ(plan->step(report->divergences[1].step).header.sequence, filled);
  for (const Divergence& d : report->divergences) {
    EXPECT_EQ(d.cause, DivergenceCause::kMissingSynchronisation) << d.evidence;
  }
}

TEST(Determinism, AReadBeforeAWriteThatDoesNotWaitIsNamedOnce) {
  RecordingBuilder r;
  const auto q1 = r.queue(), q2 = r.queue();
  const std::vector<float> values(kItems, 1);
  const auto a = r.bufferWith(values);
  const auto fine = r.kernel(r.program(kDeterminismSource), "fine");
  r.argument(fine, 0, a);
  Read read{.queue = q1, .memory = a, .host = 1};  // not waited for
  read.box.region[0] = 4 * kItems;
  const uint64_t of = r.add(read);
  r.launch(q2, fine, kItems);
  const auto hashes = r.content(values);
  r.add(Done{.of = of, .content = {4 * kItems, hashes}});
  const auto report = checked(r);
  SKIP_WITHOUT_REPORT(report);
  ASSERT_TRUE(report) << report.error().toString();
  ASSERT_EQ(report->divergences.size(), 1u) << report->divergences[1].evidence;
  EXPECT_THAT(report->divergences[0].evidence, HasSubstr("it is not ordered with"));
}

TEST(Determinism, OneDivergenceHidesNoOther) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto t = r.bufferWith(std::vector<int>(kItems + 1)), half = r.buffer(4 * kItems),
             to = r.buffer(4 * kItems), t2 = r.bufferWith(std::vector<int>(kItems + 1));
  const auto p = r.program(kDeterminismSource);
  const auto ticket = r.kernel(p, "ticket"), copy = r.kernel(p, "copy");
  r.argument(ticket, 0, t);
  r.launch(q, ticket, kItems, {}, 0, 16);
  r.argument(copy, 0, half);
  r.argument(copy, 1, to);
  r.launch(q, copy, kItems);
  r.argument(ticket, 0, t2);
  r.launch(q, ticket, kItems, {}, 0, 16);
  const auto report = checked(r);
  SKIP_WITHOUT_REPORT(report);
  ASSERT_TRUE(report) << report.error().toString();
  ASSERT_EQ(report->divergences.size(), 3u);
  EXPECT_EQ(report->divergences[0].cause, DivergenceCause::kAtomicOrder);
  EXPECT_EQ(report->divergences[1].cause, DivergenceCause::kUninitialisedRead);
  EXPECT_EQ(report->divergences[2].cause, DivergenceCause::kAtomicOrder);
}

TEST(Determinism, NamesTheFirstLaunchThatIsNotAsRecorded) {
  RecordingBuilder r;
  const auto q = r.queue();
  const std::vector<float> values(1024, 1);
  const auto a = r.bufferWith(values);
  const auto k = r.kernel(r.program(kDeterminismSource), "fine");
  r.argument(k, 0, a);
  std::vector<float> after = values;
  for (int launch = 0; launch < 4; ++launch) {
    for (size_t i = 0; i < after.size(); ++i) after[i] = after[i] * 1.5f + static_cast<float>(i);
    if (launch == 2) after[7] += 1;  // as left by a compiler that rounds differently
    const uint64_t of = r.launch(q, k, 1024);
    const std::vector<ContentHash> hashes = {
        hashOf({reinterpret_cast<const uint8_t*>(after.data()), 4096})};
    r.add(Snapshot{.memory = a, .after = of + 1, .content = {4096, hashes}},
          command_flags::kAddedByAgent);
  }
  const auto report = checked(r);
  SKIP_WITHOUT_REPORT(report);
  ASSERT_TRUE(report) << report.error().toString();
  ASSERT_EQ(report->divergences.size(), 1u);
  EXPECT_EQ(report->divergences[0].cause, DivergenceCause::kCompilerDifference);
  EXPECT_EQ(report->divergences[0].memory != 0, true);
  RecordingReader reader = r.reader();
  auto plan = ReplayPlan::make(*reader.commands(1));
  EXPECT_EQ(plan->step(report->divergences[0].step).launch, 3u);
}

}  // namespace
}  // namespace tracesmith
