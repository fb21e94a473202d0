// SPDX-License-Identifier: Apache-2.0
// Replays of synthetic recordings, on a real OpenCL device.
#include "tracesmith/replay/run/replay_run.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/replay/run/replay_test_util.hpp"

namespace tracesmith {
namespace {

using test::kSource;
using test::RecordingBuilder;
using test::replayed;
using namespace recording;
using testing::HasSubstr;

TEST(ReplayRun, ExecutesEachCallOnceAndComparesWhatWasRead) {
  RecordingBuilder r;
  const std::vector<int> a = {1, 2, 3, 4}, b = {10, 20, 30, 40}, sum = {11, 22, 33, 44};
  const auto q = r.queue();
  const auto ba = r.bufferWith(a), bb = r.bufferWith(b), bc = r.buffer(16);
  const auto p = r.program(kSource);
  const auto k = r.kernel(p, "add");
  r.argument(k, 0, ba);
  r.argument(k, 1, bb);
  r.argument(k, 2, bc);
  r.launch(q, k, 4);
  r.read(q, bc, sum);
  r.read(q, bc, a);  // not the real content
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.launches, 1u);
  EXPECT_EQ(outcome.result.shown, 2u);
  EXPECT_EQ(outcome.result.shown_equal, 1u);
  ASSERT_EQ(outcome.result.differences.size(), 1u);
  EXPECT_EQ(outcome.result.problem_count, 0u);
  EXPECT_EQ(outcome.result.skipped, 0u);
  EXPECT_FALSE(outcome.result.same_device);
}

TEST(ReplayRun, AHandleMeansWhatItsLatestMakingSays) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto first = r.bufferWith<int>({1, 1});
  const auto p = r.program(kSource);
  const auto k = r.kernel(p, "scale");
  r.argument(k, 0, first);
  r.argument(k, 1, 5);
  r.launch(q, k, 2);
  r.read<int>(q, first, {5, 5});
  r.add(Release{.object = first, .object_class = ObjectClass::kMemory});
  // The driver gives the same address to a larger buffer.
  r.add(CreateBuffer{
      .buffer = first, .context = RecordingBuilder::kContext, .flags = 1, .bytes = 16});
  r.argument(k, 0, first);
  r.launch(q, k, 4);
  r.read<int>(q, first, {0, 0, 0, 0});  // memory without content is zero
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.shown_equal, 2u);
}

TEST(ReplayRun, CallsThatFailedHaveToFailAlike) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.buffer(16);
  Read beyond{.queue = q, .memory = b, .host = 1};
  beyond.box.region[0] = 17;
  r.add(beyond, command_flags::kBlocking, -30);
  Read within{.queue = q, .memory = b, .host = 1};
  within.box.region[0] = 16;
  r.add(within, command_flags::kBlocking, -30);  // wrongly recorded as failed
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.failed_alike, 1u);
  ASSERT_EQ(outcome.result.problems.size(), 1u);
  EXPECT_THAT(outcome.result.problems[0].text, HasSubstr("returned 0; recorded: -30"));
}

TEST(ReplayRun, EveryLegalOrderGivesTheSameResult) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RecordingBuilder r;
    const auto q1 = r.queue(), q2 = r.queue(1);
    const auto b = r.bufferWith<int>({1, 2});
    const auto k = r.kernel(r.program(kSource), "scale");
    r.argument(k, 0, b);
    Handle last = 0;
    for (int i = 2; i < 7; ++i) {
      r.argument(k, 1, i);
      const Handle event = r.newHandle();
      r.launch(i % 2 ? q1 : q2, k, 2, last == 0 ? std::vector<Handle>{} : std::vector<Handle>{last},
               event);
      last = event;
    }
    r.add(WaitForEvents{.events = {&last, 1}});
    r.read<int>(q1, b, {720, 1440});
    ChildSettings settings;
    settings.run.order = ReplayOrder::kRandom;
    settings.run.seed = seed;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << "seed " << seed;
    EXPECT_EQ(outcome.result.launches, 5u);
  }
}

TEST(ReplayRun, APartBringsWhatItDependsOnAndNothingElse) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.bufferWith<int>({1}), other = r.bufferWith<int>({1});
  const auto k = r.kernel(r.program(kSource), "scale");
  r.argument(k, 1, 3);
  r.argument(k, 0, b);
  r.launch(q, k, 1);  // 1: needed
  r.argument(k, 0, other);
  r.launch(q, k, 1);  // 2: not needed
  r.argument(k, 0, b);
  r.launch(q, k, 1);  // 3: wanted
  r.read<int>(q, b, {9});
  r.launch(q, k, 1);  // 4
  ChildSettings settings;
  settings.run.ranges = {{3, 3}};
  const ChildOutcome outcome = replayed(r, settings);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.launches, 2u);
  EXPECT_EQ(outcome.result.shown_equal, 1u);
  EXPECT_EQ(outcome.result.skipped, 2u);
}

TEST(ReplayRun, StopsAfterALaunchAndShowsABuffer) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.bufferWith<int>({1, 2});
  const auto k = r.kernel(r.program(kSource), "scale");
  r.argument(k, 0, b);
  r.argument(k, 1, 2);
  for (int i = 0; i < 5; ++i) r.launch(q, k, 2);
  ChildSettings settings;
  settings.run.until_launch = 3;
  settings.run.dumps = {{1, 2}, {1, 0}};
  const ChildOutcome outcome = replayed(r, settings);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.launches, 3u);
  ASSERT_EQ(outcome.result.dumps.size(), 2u);
  EXPECT_EQ(loadFixed<int>(outcome.result.dumps[0].bytes.data()), 4);
  EXPECT_EQ(loadFixed<int>(outcome.result.dumps[1].bytes.data()), 8);
}

TEST(ReplayRun, AHangIsEndedAndACrashSurvived) {
  for (const char* name : {"forever", "crash"}) {
    RecordingBuilder r;
    const auto q = r.queue();
    const auto b = r.buffer(1 << 16);
    const auto k = r.kernel(r.program(kSource), name);
    r.argument(k, 0, b);
    r.launch(q, k, 1);
    r.add(Finish{.queue = q}, command_flags::kStarted);
    ChildSettings settings;
    settings.step_limit_s = name[0] == 'f' ? 5 : 60;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    EXPECT_EQ(outcome.end, name[0] == 'f' ? ChildEnd::kHung : ChildEnd::kDied);
    EXPECT_NE(outcome.step, kNoStep);
  }
}

TEST(ReplayRun, AProgramThatNoLongerCompilesIsNamedWithItsLog) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.bufferWith<int>({1});
  const auto k = r.kernel(r.program("kernel void scale(global int* a) { nonsense; }"), "scale");
  r.argument(k, 0, b);
  r.launch(q, k, 1);
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  EXPECT_EQ(outcome.result.launches, 0u);
  ASSERT_FALSE(outcome.result.problems.empty());
  EXPECT_THAT(outcome.result.problems[0].text, HasSubstr("no longer compiles"));
  EXPECT_THAT(outcome.result.problems[0].text, HasSubstr("nonsense"));
}

/// Executes nothing, and records the time from the start of the time limit to each call.
class Watched final : public Executor {
 public:
  explicit Watched(const RunProgress& progress) : progress_(progress) {}
  int64_t latest_ns = 0;

  StepOutcome perform(StepIndex, StepMode) override {
    latest_ns = std::max(latest_ns, monotonicNs() - progress_.since_ns.load());
    usleep(20'000);
    return {.executed = true};
  }
  StepOutcome performPermuted(StepIndex, uint64_t) override { return {}; }
  StepOutcome finish() override { return {}; }
  Result<ByteView> shown(StepIndex) override { return fail(ErrorCode::kNotFound, "nothing"); }
  Result<Bytes> contents(ObjectIndex) override { return Bytes(4); }
  Status setContents(ObjectIndex, ByteView) override { return {}; }
  bool has(ObjectIndex) const override { return true; }
  void keepObjects() override {}
  std::string argumentType(StepIndex, uint32_t) const override { return {}; }
  std::string deviceName() const override { return {}; }
  bool sameDevice() const override { return true; }

 private:
  const RunProgress& progress_;
};

TEST(ReplayRun, TheTimeLimitIsForOneCallAndNotForWaitingOrRepeating) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto k = r.kernel(r.newHandle(), "k");
  r.argument(k, 0, r.buffer(4));
  r.launch(q, k, 1);
  RecordingReader reader = r.reader();
  const auto plan = ReplayPlan::make(*reader.commands(1));
  RunSettings settings;
  settings.order = ReplayOrder::kTiming;
  settings.speed = 1e-6 / 0.1;  // one call every 0.1 s
  RunProgress progress;
  Watched timed(progress);
  const int64_t before = monotonicNs();
  (void)runPlan(*plan, reader, timed, settings, &progress);
  EXPECT_GE(monotonicNs() - before, 600'000'000);
  EXPECT_LT(timed.latest_ns, 60'000'000);
  settings.order = ReplayOrder::kSerial;
  settings.hash_launches = true;
  settings.repeats = 10;
  Watched repeated(progress);
  EXPECT_EQ(runPlan(*plan, reader, repeated, settings, &progress).launches, 1u);
  EXPECT_LT(repeated.latest_ns, 60'000'000);
}

TEST(ReplayRun, RepeatsFindALaunchThatDoesNotAlwaysDoTheSame) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.buffer(1 << 20), sure = r.buffer(1 << 20);
  const auto p = r.program(R"(
kernel void ticket(global int* a) { a[get_global_id(0) + 1] = atomic_inc(a); }
kernel void number(global int* a) { a[get_global_id(0)] = get_global_id(0); })");
  const auto racy = r.kernel(p, "ticket"), fine = r.kernel(p, "number");
  r.argument(fine, 0, sure);
  r.launch(q, fine, 1 << 18, {}, 0, 16);
  r.argument(racy, 0, b);
  r.launch(q, racy, (1 << 18) - 64, {}, 0, 16);
  ChildSettings settings;
  settings.run.order = ReplayOrder::kSerial;
  settings.run.hash_launches = true;
  settings.run.repeats = 20;
  const ChildOutcome outcome = replayed(r, settings);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome);
  ASSERT_EQ(outcome.result.launch_hashes.size(), 2u);
  EXPECT_TRUE(outcome.result.launch_hashes[0].repeats.empty());
  const LaunchHash& hash = outcome.result.launch_hashes[1];
  EXPECT_FALSE(hash.repeats.empty() && hash.permuted.empty());
}

}  // namespace
}  // namespace tracesmith
