// SPDX-License-Identifier: Apache-2.0
// Plans of complete, truncated and hostile streams, the meaning of ranges, and what launches need.
#include "tracesmith/replay/plan/replay_plan.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "tracesmith/replay/plan/memory_use.hpp"
#include "tracesmith/replay/plan/random.hpp"
#include "tracesmith/replay/plan/recording_test_util.hpp"
#include "tracesmith/replay/plan/step_order.hpp"
#include "tracesmith/replay/run/launch_range.hpp"

namespace tracesmith {

static bool operator==(const LaunchRange& a, const LaunchRange& b) {
  return a.first == b.first && a.last == b.last;
}

namespace {

using test::commandsOf;
using test::planOf;
using test::RecordingBuilder;
using namespace recording;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

/// Six launches of "even" and "odd" alternately on buffers 1 and 2; the host waits after every
/// second one.
struct SixLaunches {
  SixLaunches() {
    const auto p =
        r.program("kernel void even(global int* b) {} kernel void odd(global int* b) {}");
    const auto even = r.kernel(p, "even"), odd = r.kernel(p, "odd");
    const auto q = r.queue();
    const auto one = r.buffer(64), two = r.buffer(64);
    r.argument(even, 0, one);
    r.argument(odd, 0, two);
    for (int i = 1; i <= 6; ++i) {
      r.launch(q, i % 2 == 0 ? even : odd, 16);
      if (i % 2 == 0) r.add(Finish{.queue = q});
    }
  }
  RecordingBuilder r;
};

TEST(LaunchRange, MeansTheLaunchesThatItSays) {
  SixLaunches six;
  const ReplayPlan plan = planOf(six.r);
  const auto of = [&](const std::string& range) { return launchRanges(plan, range).value(); };
  EXPECT_THAT(of("launch 2 4"), ElementsAre(LaunchRange{2, 4}));
  EXPECT_THAT(of("launch 5 1000"), ElementsAre(LaunchRange{5, 6}));
  EXPECT_THAT(of("kernel ^odd$"),
              ElementsAre(LaunchRange{1, 1}, LaunchRange{3, 3}, LaunchRange{5, 5}));
  EXPECT_THAT(of("step 2 2"), ElementsAre(LaunchRange{3, 4}));
  EXPECT_THAT(of("step 1 3"), ElementsAre(LaunchRange{1, 6}));
  const int64_t third = plan.step(plan.launch(3)).header.start_ns;
  EXPECT_THAT(of("time " + std::to_string(third) + " " + std::to_string(third)),
              ElementsAre(LaunchRange{3, 3}));
}

TEST(LaunchRange, SaysWhatItDoesNotFindOrUnderstand) {
  SixLaunches six;
  const ReplayPlan plan = planOf(six.r);
  const auto of = [&](const char* range) { return launchRanges(plan, range).error(); };
  EXPECT_EQ(of("launch 7 9").code, ErrorCode::kNotFound);
  EXPECT_THAT(of("launch 7 9").toString(), HasSubstr("none of the 6 launches"));
  EXPECT_EQ(of("kernel nobody").code, ErrorCode::kNotFound);
  EXPECT_EQ(of("kernel (").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(of("launch").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(of("launch 3").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(of("colour 1 2").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(of("").code, ErrorCode::kInvalidArgument);
}

TEST(LaunchRange, ALaunchThatFailedIsInNoStep) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto k = r.kernel(r.program("kernel void k() {}"), "k");
  r.launch(q, k, 1);
  r.add(Finish{.queue = q});
  r.add(Launch{.queue = q, .kernel = k}, 0, -51);
  r.launch(q, k, 1);
  const ReplayPlan plan = planOf(r);
  EXPECT_THAT(launchRanges(plan, "step 1 1").value(), ElementsAre(LaunchRange{1, 1}));
  EXPECT_THAT(launchRanges(plan, "step 2 2").value(), ElementsAre(LaunchRange{2, 2}));
}

TEST(StepsNeeded, AreWhatMayHaveWrittenWhatIsRead) {
  SixLaunches six;
  const ReplayPlan plan = planOf(six.r);
  std::vector<bool> wanted(plan.steps().size());
  wanted[plan.launch(5)] = true;  // odd, on buffer 2
  const std::vector<bool> needed = stepsNeeded(plan, wanted);
  for (const uint32_t launch : {1u, 3u, 5u}) EXPECT_TRUE(needed[plan.launch(launch)]) << launch;
  for (const uint32_t launch : {2u, 4u, 6u}) EXPECT_FALSE(needed[plan.launch(launch)]) << launch;
}

TEST(StepsNeeded, CopiesHandOnWhatTheirSourceNeeds) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto a = r.buffer(64), b = r.buffer(64), c = r.buffer(64);
  const auto fill = [&](Handle memory) {
    Fill f{.queue = q, .memory = memory};
    f.box.region[0] = 64;
    return r.add(f);
  };
  fill(a);
  fill(b);
  const auto copy = [&](Handle from, Handle to) {
    Copy x{.queue = q, .source = from, .destination = to};
    x.from.region[0] = x.to.region[0] = 64;
    r.add(x);
  };
  copy(a, b);
  copy(c, a);
  Read read{.queue = q, .memory = b, .host = 1};
  read.box.region[0] = 64;
  r.add(read);
  const ReplayPlan plan = planOf(r);
  const auto first = static_cast<StepIndex>(plan.steps().size() - 5);
  std::vector<bool> wanted(plan.steps().size());
  wanted[first + 4] = true;
  const std::vector<bool> needed = stepsNeeded(plan, wanted);
  EXPECT_TRUE(needed[first]);       // fill of a
  EXPECT_TRUE(needed[first + 1]);   // fill of b: the copy may be partial
  EXPECT_TRUE(needed[first + 2]);   // a to b
  EXPECT_FALSE(needed[first + 3]);  // c to a, after that
}

TEST(ReplayPlan, OfAStreamThatIsCutAnywhereIsThatOfWhatIsThere) {
  SixLaunches six;
  const Bytes whole = commandsOf(six.r);
  size_t last = 0;
  for (size_t cut = 0; cut <= whole.size(); cut += 4) {
    const auto plan = ReplayPlan::make(Bytes(whole.begin(), whole.begin() + cut));
    ASSERT_TRUE(plan);
    EXPECT_GE(plan->steps().size(), last);
    last = plan->steps().size();
    size_t bytes = 0;
    for (const ReplayStep& step : plan->steps()) bytes += step.header.bytes;
    EXPECT_LE(bytes, cut);
    const bool ends_within =
        std::any_of(plan->notes().begin(), plan->notes().end(), [](const PlanNote& n) {
          return n.text.find("ends within a command") != std::string::npos;
        });
    EXPECT_EQ(ends_within, bytes != cut) << cut;
  }
  EXPECT_EQ(last, six.r.lastSequence() + 1);
}

TEST(ReplayPlan, SaysHowManyNotesAreLeftOut) {
  constexpr size_t kUnknown = 1'300, kShown = 1'000;
  RecordingBuilder r;
  for (size_t i = 0; i < kUnknown; ++i) {
    r.add(Unsupported{.function = std::string_view("clEnqueueNativeKernel")});
  }
  const ReplayPlan plan = planOf(r);
  ASSERT_EQ(plan.notes().size(), kShown + 1);
  EXPECT_THAT(plan.notes().back().text, HasSubstr("300 more are left out"));
  EXPECT_EQ(plan.notes().back().step, plan.notes()[kShown - 1].step + 1);
}

TEST(ReplayPlan, SaysWhatItIsMadeWithout) {
  RecordingBuilder r;
  const auto q = r.queue();
  const auto unknown = r.newHandle();
  r.launch(q, unknown, 1);
  const auto k = r.kernel(r.program("kernel void k() {}"), "k");
  r.argument(k, 1u << 30, 1);
  r.add(Done{.of = 1u << 30});
  r.add(Unsupported{.function = std::string_view("clEnqueueNativeKernel")});
  const ReplayPlan plan = planOf(r);
  const auto says = [&](const char* text) {
    return Contains(Field(&PlanNote::text, HasSubstr(text)));
  };
  EXPECT_THAT(plan.notes(), says("whose creation was not recorded"));
  EXPECT_THAT(plan.notes(), says("impossible index"));
  EXPECT_THAT(plan.notes(), says("not in the recording"));
  EXPECT_THAT(plan.notes(), says("clEnqueueNativeKernel, which cannot be replayed"));
  EXPECT_EQ(plan.launches(), 1u);
  EXPECT_EQ(plan.kernelName(plan.step(plan.launch(1))), "(unknown kernel)");
}

TEST(ReplayPlan, OfBytesThatWereChangedIsStillAPlan) {
  SixLaunches six;
  const Bytes whole = commandsOf(six.r);
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    Bytes changed = whole;
    for (uint64_t i = 0; i <= random.below(4); ++i) {
      changed[random.below(changed.size())] = static_cast<uint8_t>(random.below(256));
    }
    const auto plan = ReplayPlan::make(std::move(changed));
    ASSERT_TRUE(plan);
    const StepDependencies dependencies = StepDependencies::of(*plan);
    size_t moving = 0;
    for (StepIndex i = 0; i < plan->steps().size(); ++i) {
      moving += isMovable(*plan, i) ? 1 : 0;
      for (const StepIndex before : dependencies.before(i)) ASSERT_TRUE(isMovable(*plan, before));
      for (const ObjectIndex event : plan->waitsOf(plan->step(i))) {
        ASSERT_LT(event, plan->objects().size());
      }
    }
    EXPECT_EQ(randomLegalOrder(*plan, dependencies, 1).size(), moving);
  }
}

}  // namespace
}  // namespace tracesmith
