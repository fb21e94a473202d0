// SPDX-License-Identifier: Apache-2.0
// Replays of recordings made by hand, on a real OpenCL device.
#include "tracesmith/replay/replay_run.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/replay/recording_test_util.hpp"
#include "tracesmith/replay/replay_child.hpp"

namespace tracesmith {
namespace {

using test::RecordingBuilder;
using namespace recording;
using testing::HasSubstr;

constexpr const char* kSource = R"(
kernel void add(global const int* a, global const int* b, global int* c) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}
kernel void scale(global int* a, int by) { a[get_global_id(0)] *= by; }
kernel void forever(global int* a) { while (a[0] == 0) a[1] += 1; }
kernel void crash(global int* a) { global int* p = (global int*)(a[0] * 8L); *p = 1; }
)";

ChildOutcome replayed(RecordingBuilder& recording, ChildSettings settings = {}) {
  if (!test::kRunsDrivers) {
    ChildOutcome none;
    none.error = {ErrorCode::kNotFound, "no driver is run with sanitizers", ""};
    return none;
  }
  RecordingReader reader = recording.reader();
  auto commands = reader.commands(1);
  EXPECT_TRUE(commands);
  auto plan = ReplayPlan::make(std::move(*commands));
  EXPECT_TRUE(plan);
  return runInChild(*plan, reader, settings);
}

#define SKIP_WITHOUT_DEVICE(outcome)                                                      \
  if ((outcome).end == ChildEnd::kFailed && (outcome).error.code == ErrorCode::kNotFound) \
  GTEST_SKIP() << (outcome).error.toString()

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
  r.read(q, bc, a);  // a lie
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
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
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
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
  r.add(within, command_flags::kBlocking, -30);  // a lie
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
  EXPECT_EQ(outcome.result.failed_alike, 1u);
  ASSERT_EQ(outcome.result.problems.size(), 1u);
  EXPECT_THAT(outcome.result.problems[0].text, HasSubstr("returned 0, when it was recorded -30"));
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
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << "seed " << seed;
    EXPECT_EQ(outcome.result.launches, 5u);
  }
}

constexpr ReplayOrder kAllOrders[] = {ReplayOrder::kRecorded, ReplayOrder::kSerial,
                                      ReplayOrder::kRandom};

TEST(ReplayRun, WhatTheProgramLetRunFirstRunsFirst) {
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
    const auto wait = r.add(WaitForEvents{.events = {&filled, 1}}, command_flags::kBegun);
    r.add(Done{.of = wait});
    r.add(SetUserEventStatus{.event = gate});
    r.read<int>(q1, b, {70});
    ChildSettings settings;
    settings.run.order = order;
    settings.step_limit_s = 20;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 20);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << static_cast<int>(order);
    EXPECT_EQ(outcome.result.problem_count, 0u);
  }
}

TEST(ReplayRun, AnEventThatAnotherThreadSetMeanwhileIsSetInTime) {
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
    const auto finish = r.add(Finish{.queue = q}, command_flags::kBegun);
    r.add(SetUserEventStatus{.event = gate});
    r.add(Done{.of = finish});
    r.read<int>(q, b, {30});
    ChildSettings settings;
    settings.run.order = order;
    settings.run.dumps = {{1, 1}};
    settings.step_limit_s = 20;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 20);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << static_cast<int>(order);
    EXPECT_EQ(outcome.result.problem_count, 0u);
  }
}

TEST(ReplayRun, WhatARangeFoundInMemoryIsPutThereAtItsBegin) {
  for (const ReplayOrder order : kAllOrders) {
    RecordingBuilder r;
    const auto q = r.queue();
    const auto b = r.bufferWith<int>({1});
    const auto k = r.kernel(r.program(kSource), "scale");
    r.argument(k, 0, b);
    r.argument(k, 1, 10);
    for (const int found : {2, 5}) {
      const auto content = r.content<int>({found});
      r.add(Snapshot{.memory = b, .content = {4, content}, .kept = 1}, command_flags::kMadeUp);
      r.add(RangeEdge{.is_begin = 1}, command_flags::kMadeUp);
      r.launch(q, k, 1);
      r.read<int>(q, b, {10 * found});
    }
    ChildSettings settings;
    settings.run.order = order;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
    EXPECT_EQ(outcome.result.shown_equal, 2u) << static_cast<int>(order);
  }
}

TEST(ReplayRun, MapsOfSharedMemoryAreComparedUnlessTheyAreToBeOverwritten) {
  for (const ReplayOrder order : kAllOrders) {
    RecordingBuilder r;
    const auto q = r.queue();
    const Handle shared = 0x7000'0000;
    r.add(SvmAlloc{
        .pointer = shared, .context = RecordingBuilder::kContext, .flags = 1, .bytes = 16});
    const auto k = r.kernel(r.program(kSource), "scale");
    constexpr uint64_t kRead = 1, kInvalidate = 4;
    const auto map = [&](uint64_t flags, const std::vector<ContentHash>& shown) {
      SvmMap c{.queue = q, .pointer = shared, .flags = flags, .bytes = 16};
      const auto of = r.add(c, command_flags::kBlocking | command_flags::kBegun);
      r.add(Done{.of = of, .content = {shown.empty() ? 0u : 16u, shown}});
    };
    map(kInvalidate, {});
    const auto left = r.content<int>({1, 2, 3, 4});
    r.add(Snapshot{.memory = shared, .is_svm = 1, .content = {16, left}, .kept = 1},
          command_flags::kMadeUp);
    r.add(SvmUnmap{.queue = q, .pointer = shared});
    uint8_t address[8];
    std::memcpy(address, &shared, sizeof shared);
    r.add(SetArgument{.kernel = k, .form = ArgumentForm::kSvm, .bytes = 8, .value = address});
    r.argument(k, 1, 10);
    r.launch(q, k, 4);
    map(kRead, r.content<int>({10, 20, 30, 40}));
    r.add(SvmUnmap{.queue = q, .pointer = shared});
    map(kRead, left);  // a lie
    r.add(SvmUnmap{.queue = q, .pointer = shared});
    ChildSettings settings;
    settings.run.order = order;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
    EXPECT_EQ(outcome.result.shown, 2u) << static_cast<int>(order);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << static_cast<int>(order);
    EXPECT_EQ(outcome.result.not_comparable, 0u);
    EXPECT_EQ(outcome.result.problem_count, 0u);
  }
}

TEST(ReplayRun, ABufferThatIsMappedToBeOverwrittenNeedNoComparison) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.buffer(8);
  Map map{.queue = q, .memory = b, .flags = 4, .pointer = 0};  // CL_MAP_WRITE_INVALIDATE_REGION
  map.box.region[0] = 8;
  const auto of = r.add(map, command_flags::kBlocking | command_flags::kBegun);
  r.add(Done{.of = of, .pointer = 0x7000'0000});
  const auto left = r.content<int>({5, 6});
  Unmap unmap{.queue = q, .memory = b, .pointer = 0x7000'0000, .content = {8, left}};
  unmap.box = map.box;
  r.add(unmap);
  r.read<int>(q, b, {5, 6});
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
  EXPECT_EQ(outcome.result.shown_equal, 1u);
  EXPECT_EQ(outcome.result.not_comparable, 0u);
  EXPECT_EQ(outcome.result.problem_count, 0u);
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
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
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
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
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
    r.add(Finish{.queue = q}, command_flags::kBegun);
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
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
  EXPECT_EQ(outcome.result.launches, 0u);
  ASSERT_FALSE(outcome.result.problems.empty());
  EXPECT_THAT(outcome.result.problems[0].text, HasSubstr("no longer compiles"));
  EXPECT_THAT(outcome.result.problems[0].text, HasSubstr("nonsense"));
}

TEST(ReplayRun, ALaunchWithoutAnArgumentsMemoryIsNotMadeAndSaysWhy) {
  for (const ReplayOrder order : kAllOrders) {
    RecordingBuilder r;
    const auto q = r.queue();
    const Handle lost = r.newHandle(), huge = r.newHandle(), part = r.newHandle();
    const ContentHash hashes[] = {{1, 2}};  // of content that is not in the recording
    r.add(CreateBuffer{.buffer = lost,
                       .context = RecordingBuilder::kContext,
                       .flags = 1 | 1 << 5,
                       .bytes = 16,
                       .host = 1,
                       .content = {16, hashes}});
    r.add(CreateSubBuffer{.buffer = part, .parent = lost, .bytes = 8});
    r.add(SvmAlloc{.pointer = huge,
                   .context = RecordingBuilder::kContext,
                   .flags = 1,
                   .bytes = uint64_t{1} << 50});
    const auto k = r.kernel(r.program(kSource), "scale");
    r.argument(k, 1, 2);
    r.argument(k, 0, lost);
    r.launch(q, k, 4);
    r.argument(k, 0, part);
    r.launch(q, k, 2);
    for (const Handle address : {huge, Handle{8}}) {
      uint8_t value[8];
      std::memcpy(value, &address, sizeof address);
      r.add(SetArgument{.kernel = k, .form = ArgumentForm::kSvm, .bytes = 8, .value = value});
      r.launch(q, k, 4);
    }
    r.read<int>(q, lost, {1, 2, 3, 4});
    r.add(SvmUnmap{.queue = q, .pointer = huge});
    ChildSettings settings;
    settings.run.order = order;
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
    EXPECT_EQ(outcome.result.launches, 0u);
    std::vector<std::string> said;
    for (const StepProblem& problem : outcome.result.problems) said.push_back(problem.text);
    const auto says = [](const char* what, const char* why) {
      return testing::Contains(testing::AllOf(HasSubstr(what), HasSubstr(why)));
    };
    EXPECT_THAT(said, says("argument 0 of scale, buffer 1 is not there", "0000000"));
    EXPECT_THAT(said, says("argument 0 of scale, buffer 2 (in buffer 1) is not there", "0000000"));
    EXPECT_THAT(said, says("argument 0 of scale, shared memory 3 is not there", "could not"));
    EXPECT_THAT(said, says("argument 0 of scale, an address", "no shared memory"));
    EXPECT_EQ(outcome.result.shown, 0u);
  }
}

// A command of the range waits for one that is left out, which waits for another of the range.
TEST(ReplayRun, WhatIsLeftOutOfAPartStillOrdersTheRest) {
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
    r.launch(q2, scale, 1, {first}, between);  // 2: of the range nothing needs its memory
    r.argument(scale, 0, b);
    r.argument(scale, 1, 10);
    r.launch(q3, scale, 1, {between});  // 3
    r.read<int>(q3, b, {70});
    ChildSettings settings;
    settings.run.ranges = {{3, 3}};
    const ChildOutcome outcome = replayed(r, settings);
    SKIP_WITHOUT_DEVICE(outcome);
    ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
    EXPECT_EQ(outcome.result.launches, 2u);
    EXPECT_EQ(outcome.result.skipped, 1u);
    EXPECT_EQ(outcome.result.shown_equal, 1u) << in_order;
  }
}

/// Executes nothing, and says how long after the time limit began each call comes.
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
  settings.speed = 1e-6 / 0.1;  // a call each 0.1 s
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

TEST(ReplayRun, ARowBeginsWhereItsOriginSays) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto b = r.buffer(64);
  const auto content = r.content<int>({1, 2});
  Write write{.queue = q, .memory = b, .host = 1, .content = {8, content}};
  write.box.region[0] = 8;
  write.box.origin[1] = 5;  // rows of 8 bytes
  r.add(write, command_flags::kBlocking);
  Read read{.queue = q, .memory = b, .host = 1};
  read.box.origin[0] = 40;
  read.box.region[0] = 8;
  const auto of = r.add(read, command_flags::kBlocking | command_flags::kBegun);
  r.add(Done{.of = of, .content = {8, content}});
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
  EXPECT_EQ(outcome.result.shown_equal, 1u);
}

TEST(ReplayRun, AnImageOfABufferHasTheRowsThatItHad) {
  RecordingBuilder r;
  const auto q = r.queue();
  std::vector<uint8_t> rows(4 * 256);
  std::vector<uint8_t> pixels;
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint8_t>(i / 256 * 16 + i % 16);
  for (size_t y = 0; y < 4; ++y) {
    pixels.insert(pixels.end(), rows.begin() + static_cast<ptrdiff_t>(y * 256),
                  rows.begin() + static_cast<ptrdiff_t>(y * 256 + 16));
  }
  const auto b = r.bufferWith(rows);
  const Handle image = r.newHandle();
  r.add(CreateImage{.image = image,
                    .context = RecordingBuilder::kContext,
                    .flags = 1,
                    .channel_order = 0x10B5,  // CL_RGBA
                    .channel_type = 0x10DA,   // CL_UNSIGNED_INT8
                    .type = 0x10F1,           // CL_MEM_OBJECT_IMAGE2D
                    .width = 4,
                    .height = 4,
                    .buffer = b,
                    .row_pitch = 256});
  Read read{.queue = q, .memory = image, .host = 1};
  read.box.is_image = 1;
  read.box.region[0] = read.box.region[1] = 4;
  const auto of = r.add(read, command_flags::kBlocking | command_flags::kBegun);
  const auto content = r.content(pixels);
  r.add(Done{.of = of, .content = {64, content}});
  const ChildOutcome outcome = replayed(r);
  SKIP_WITHOUT_DEVICE(outcome);
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
  if (outcome.result.problem_count != 0) GTEST_SKIP() << outcome.result.problems[0].text;
  EXPECT_EQ(outcome.result.shown_equal, 1u);
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
  ASSERT_EQ(outcome.end, ChildEnd::kDone) << describeEnd(outcome, 60);
  ASSERT_EQ(outcome.result.launch_hashes.size(), 2u);
  EXPECT_TRUE(outcome.result.launch_hashes[0].repeats.empty());
  const LaunchHash& hash = outcome.result.launch_hashes[1];
  EXPECT_FALSE(hash.repeats.empty() && hash.permuted.empty());
}

}  // namespace
}  // namespace tracesmith
