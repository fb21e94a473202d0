// SPDX-License-Identifier: Apache-2.0
// Races of synthetic recordings, executed in both orders on a real OpenCL device.
#include "tracesmith/replay/check/race_trial.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "tracesmith/replay/plan/recording_test_util.hpp"

namespace tracesmith {
namespace {

using namespace recording;
using races::RaceVerdict;
using races::Verdict;
using test::RecordingBuilder;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kTrialSource = R"(
kernel void number(global int* a) { a[get_global_id(0)] = get_global_id(0) + 1; }
kernel void sevens(global int* a) { a[get_global_id(0)] = 7; }
kernel void sevens_too(global int* a) { a[get_global_id(0)] = 3 + 4; }
kernel void front(global int* a) { a[get_global_id(0)] = 1; }
kernel void back(global int* a) { a[get_global_id(0) + 512] = 2; }
kernel void doubled(global const int* in, global int* out) {
  out[get_global_id(0)] = in[get_global_id(0)] * 2;
}
kernel void ones_and_twos(global int* a, global int* b) {
  a[get_global_id(0)] = 1;
  b[get_global_id(0)] = 2;
}
kernel void threes(global int* a, global int* b) {
  a[get_global_id(0)] = 3;
  b[get_global_id(0)] = 3;
}
kernel void ticket(global int* a) { a[get_global_id(0) + 1] = atomic_inc(a); }
kernel void crash_unless(global const int* in, global int* out) {
  global int* p = in[0] != 0 ? out : (global int*)8L;
  *p = 1;
}
kernel void hang_unless(global const int* in, global int* out) {
  while (*(volatile global const int*)in == 0) out[1] += 1;
}
)";

struct Tried {
  races::RaceReport report;
  RaceTrials trials;
};

Tried tried(RecordingBuilder& recording, RaceTrialOptions options = {}) {
  Tried out;
  RecordingReader reader = recording.reader();
  const auto commands = reader.commands(1);
  EXPECT_TRUE(commands);
  const auto plan = ReplayPlan::make(*commands);
  EXPECT_TRUE(plan);
  const races::RecordedProgram recorded = races::programOfRecording(
      *commands, [&](const Payload& payload) { return reader.content(payload); });
  out.report = races::findRaces(recorded.program, races::Grade::kLikely);
  if (test::kRunsDrivers) {
    out.trials = tryRaces(*plan, reader, recorded, out.report.groups, options);
  }
  return out;
}

#define SKIP_WITHOUT_TRIALS(out)   \
  if ((out).trials.device.empty()) \
  GTEST_SKIP() << ((out).trials.verdicts.empty() ? "" : (out).trials.verdicts.front().reason)

/// Two queues, with one kernel each, both using buffer 1.
struct TwoQueues : RecordingBuilder {
  Handle first = queue(), second = queue();
  Handle code = program(kTrialSource);
  Handle shared = bufferWith(std::vector<int>(1024));
  Handle result = bufferWith(std::vector<int>(1024));
  uint64_t launchOf(const std::string& name, Handle in, uint64_t items = 512, Handle out = 0) {
    const Handle k = kernel(code, name);
    argument(k, 0, shared);
    if (out != 0) argument(k, 1, out);
    return launch(in, k, items);
  }
};

TEST(RaceTrial, WhatIsReadTooEarlyIsConfirmedWithItsFirstByte) {
  TwoQueues r;
  r.launchOf("number", r.first, 1000);
  const uint64_t reader = r.launchOf("doubled", r.second, 1000, r.result);
  r.read(r.second, r.result, std::vector<int>(1024));
  const Tried t = tried(r);
  ASSERT_THAT(t.report.groups, SizeIs(1));
  SKIP_WITHOUT_TRIALS(t);
  const RaceVerdict& v = t.trials.verdicts.at(0);
  ASSERT_EQ(v.verdict, Verdict::kConfirmed) << v.reason;
  EXPECT_EQ(v.difference->sequence, reader);
  EXPECT_EQ(v.difference->allocation, 2u);  // the host's memory is the first
  EXPECT_TRUE(v.difference->exact);
  EXPECT_FALSE(v.difference->is_read_back);
  EXPECT_EQ(v.difference->first_byte, 0u);
  EXPECT_EQ(v.difference->bytes, 4096u);
  EXPECT_EQ(v.read_backs, 1u);
  EXPECT_EQ(v.read_backs_differing, 1u);
  EXPECT_EQ(v.moved_along, 0u);
  EXPECT_EQ(t.trials.replays, 6u);
}

TEST(RaceTrial, EqualBytesShowNoDifference) {
  TwoQueues r;
  r.launchOf("sevens", r.first);
  r.launchOf("sevens_too", r.second);
  r.add(Finish{.queue = r.first});
  r.read(r.second, r.shared, std::vector<int>(1024));
  const Tried t = tried(r);
  ASSERT_THAT(t.report.groups, SizeIs(1));
  SKIP_WITHOUT_TRIALS(t);
  EXPECT_EQ(t.trials.verdicts.at(0).verdict, Verdict::kNoDifference);
  EXPECT_EQ(t.trials.verdicts.at(0).read_backs, 1u);
  EXPECT_EQ(t.trials.replays, 2u);
}

TEST(RaceTrial, TwoHalvesOfABufferShowNoDifference) {
  // Memory right after the first of the two depends on the order; after both it does not.
  TwoQueues r;
  r.launchOf("front", r.first);
  r.launchOf("back", r.second);
  const Tried t = tried(r);
  ASSERT_THAT(t.report.groups, SizeIs(1));
  SKIP_WITHOUT_TRIALS(t);
  EXPECT_EQ(t.trials.verdicts.at(0).verdict, Verdict::kNoDifference);
}

TEST(RaceTrial, OfTwoThatWriteTheSameTheLastIsSeen) {
  TwoQueues r;
  r.launchOf("sevens", r.first, 1000);
  r.launchOf("number", r.second, 1000);
  const Tried t = tried(r);
  ASSERT_THAT(t.report.groups, SizeIs(1));
  SKIP_WITHOUT_TRIALS(t);
  const RaceVerdict& v = t.trials.verdicts.at(0);
  ASSERT_EQ(v.verdict, Verdict::kConfirmed) << v.reason;
  EXPECT_FALSE(v.difference->sequence);  // neither of the two alone
  EXPECT_EQ(v.difference->allocation, 1u);
  EXPECT_EQ(v.read_backs, 0u);
}

TEST(RaceTrial, AReadBackThatDiffersIsNamed) {
  TwoQueues r;
  r.launchOf("number", r.first, 1000);
  const uint64_t read = r.read(r.second, r.shared, std::vector<int>(1024));
  const Tried t = tried(r);
  ASSERT_THAT(t.report.groups, SizeIs(1));
  SKIP_WITHOUT_TRIALS(t);
  const RaceVerdict& v = t.trials.verdicts.at(0);
  ASSERT_EQ(v.verdict, Verdict::kConfirmed) << v.reason;
  EXPECT_TRUE(v.difference->is_read_back);
  EXPECT_EQ(v.difference->sequence, read);
  EXPECT_EQ(v.difference->first_byte, 0u);
}

TEST(RaceTrial, OnlyTheTwoChangePlacesAndWhatMustStayWithThem) {
  TwoQueues r;
  const Handle other = r.buffer(4096), third = r.buffer(4096);
  const Handle k = r.kernel(r.code, "number");
  const auto number = [&](Handle queue, Handle memory) {
    r.argument(k, 0, memory);
    r.launch(queue, k, 512);
  };
  r.launchOf("sevens", r.first);  // no race: the next one orders it
  number(r.first, r.shared);
  number(r.first, other);   // has to come after the one before it
  number(r.second, third);  // and this before the last one
  r.launchOf("doubled", r.second, 512, r.result);
  const Tried t = tried(r);
  ASSERT_THAT(t.report.groups, SizeIs(1));
  SKIP_WITHOUT_TRIALS(t);
  const RaceVerdict& v = t.trials.verdicts.at(0);
  EXPECT_EQ(v.verdict, Verdict::kConfirmed);
  // In one order 2, 4, 6, ..., in the other 14 everywhere: numbers of two bytes each.
  uint64_t differing = 0;
  for (int i = 1; i <= 512; ++i) differing += (2 * i % 256 != 14) + (2 * i / 256 != 0);
  EXPECT_EQ(v.difference->differing, differing);
  EXPECT_EQ(v.moved_along, 1u);
}

TEST(RaceTrial, WhatVariesByItselfConfirmsNothing) {
  // More threads than processors: the order differs each time.
  setenv("POCL_MAX_PTHREAD_COUNT", "8", 1);
  TwoQueues r;
  const Handle big = r.buffer(1 << 22);
  const auto k = r.kernel(r.code, "ticket"), other = r.kernel(r.code, "ticket");
  r.argument(k, 0, big);
  r.argument(other, 0, big);
  r.launch(r.first, k, (1 << 20) - 64, {}, 0, 16);
  r.launch(r.second, other, (1 << 20) - 64, {}, 0, 16);
  // On an idle machine one thread may do all the work, several times in a row.
  for (int attempt = 0; attempt < 6; ++attempt) {
    const Tried t = tried(r);
    ASSERT_THAT(t.report.groups, SizeIs(1));
    SKIP_WITHOUT_TRIALS(t);
    const RaceVerdict& v = t.trials.verdicts.at(0);
    ASSERT_NE(v.verdict, Verdict::kConfirmed);
    if (v.verdict == Verdict::kNoDifference) continue;
    EXPECT_EQ(v.verdict, Verdict::kUndecided);
    EXPECT_THAT(v.reason, HasSubstr("between replays of the same order"));
    unsetenv("POCL_MAX_PTHREAD_COUNT");
    return;
  }
  unsetenv("POCL_MAX_PTHREAD_COUNT");
  FAIL() << "the kernel did the same each time";
}

TEST(RaceTrial, AReplayThatDiesOrHangsIsSaid) {
  for (const char* name : {"crash_unless", "hang_unless"}) {
    TwoQueues r;
    r.launchOf("number", r.first, 1000);
    r.launchOf(name, r.second, 1, r.result);
    RaceTrialOptions options;
    options.step_limit_s = name[0] == 'h' ? 5 : 60;
    const Tried t = tried(r, options);
    ASSERT_THAT(t.report.groups, SizeIs(1));
    SKIP_WITHOUT_TRIALS(t);
    const RaceVerdict& v = t.trials.verdicts.at(0);
    EXPECT_EQ(v.verdict, Verdict::kUndecided);
    EXPECT_THAT(v.reason, HasSubstr("with the two in the opposite order"));
    EXPECT_THAT(v.reason, HasSubstr(name[0] == 'h' ? "hung" : "signal 11"));
    EXPECT_THAT(v.reason, HasSubstr(name));
  }
}

TEST(RaceTrial, MorePairsThanReplaysAreNotTried) {
  TwoQueues r;
  r.launchOf("number", r.first, 1000);
  r.launchOf("doubled", r.second, 1000, r.result);
  r.launchOf("sevens", r.second, 1000);
  RaceTrialOptions options;
  options.most_replays = 6;
  const Tried t = tried(r, options);
  ASSERT_THAT(t.report.groups, SizeIs(2));
  SKIP_WITHOUT_TRIALS(t);
  EXPECT_EQ(t.trials.verdicts.at(0).verdict, Verdict::kConfirmed);
  EXPECT_EQ(t.trials.verdicts.at(1).verdict, Verdict::kNotTried);
  EXPECT_THAT(t.trials.verdicts.at(1).reason, HasSubstr("limit of 6 replays"));
  EXPECT_EQ(t.trials.replays, 6u);
}

TEST(RaceTrial, RacesOfTheSameTwoCommandsShareTheirReplays) {
  TwoQueues r;
  r.launchOf("ones_and_twos", r.first, 1000, r.result);
  r.launchOf("threes", r.second, 1000, r.result);
  const Tried t = tried(r);
  ASSERT_THAT(t.report.groups, SizeIs(2));  // of both buffers
  SKIP_WITHOUT_TRIALS(t);
  for (const RaceVerdict& v : t.trials.verdicts) EXPECT_EQ(v.verdict, Verdict::kConfirmed);
  EXPECT_EQ(t.trials.replays, 6u);
}

TEST(RaceTrial, WhatCanNotBeExecutedIsNotCalledConfirmed) {
  TwoQueues r;
  const Handle broken = r.program("kernel void broken(global int* a) { a[0] = nonsense; }");
  const Handle k = r.kernel(broken, "broken");
  r.argument(k, 0, r.shared);
  r.launch(r.first, k, 16);
  r.launchOf("number", r.second);
  RecordingReader reader = r.reader();
  const auto commands = reader.commands(1);
  const auto plan = ReplayPlan::make(*commands);
  const races::RecordedProgram recorded = races::programOfRecording(
      *commands, [&](const Payload& payload) { return reader.content(payload); });
  const auto report = races::findRaces(recorded.program, races::Grade::kPossible);
  ASSERT_THAT(report.groups, SizeIs(1));
  if (!test::kRunsDrivers) return;
  const RaceTrials trials = tryRaces(*plan, reader, recorded, report.groups, {});
  if (trials.device.empty()) GTEST_SKIP() << trials.verdicts.at(0).reason;
  EXPECT_EQ(trials.verdicts.at(0).verdict, Verdict::kNotTried);
  EXPECT_THAT(trials.verdicts.at(0).reason, HasSubstr("cannot be executed as recorded"));
}

TEST(RaceTrial, TheProgramsOwnMemoryIsNotTried) {
  TwoQueues r;
  // Two reads into the same host memory, without a wait.
  for (const Handle q : {r.first, r.second}) {
    Read c{.queue = q, .memory = q == r.first ? r.shared : r.result, .host = 0x7000};
    c.box.region[0] = 4096;
    r.add(c);
  }
  const Tried t = tried(r);
  ASSERT_THAT(t.report.groups, SizeIs(1));
  if (!test::kRunsDrivers) return;
  EXPECT_EQ(t.trials.verdicts.at(0).verdict, Verdict::kNotTried);
  EXPECT_THAT(t.trials.verdicts.at(0).reason, HasSubstr("host memory of the program"));
  EXPECT_EQ(t.trials.replays, 0u);
}

}  // namespace
}  // namespace tracesmith
