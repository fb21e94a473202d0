// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/stack_lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tracesmith/export/select/event_filter.hpp"
#include "tracesmith/studio/answers/answers.hpp"

namespace tracesmith::studio {
namespace {

constexpr size_t kAllColumns = 1'000'000'000;  // nothing is joined

/// A thread that calls, from random stacks of functions "f0" to "f3".
class StackLanesTest : public ::testing::Test {
 protected:
  void makeCalls(uint64_t seed, int calls) {
    std::mt19937_64 random(seed);
    for (int f = 0; f < 4; ++f) {
      const StringId name = trace_.strings.intern("f" + std::to_string(f));
      trace_.frame.push({.function = name});
    }
    trace_.process.push({.id = ProcessId{1}, .pid = 7});
    trace_.thread.push({.id = ThreadId{1}, .process_id = ProcessId{1}, .tid = 7});
    int64_t time = 1000;
    for (int i = 0; i < calls; ++i) {
      std::vector<int> stack(random() % 5);
      for (int& function : stack) function = static_cast<int>(random() % 4);
      CallPathId path = CallPathId::kNone;
      for (const int function : stack) path = childOf(path, function);
      time += static_cast<int64_t>(random() % 3) * 10;
      const auto length = static_cast<int64_t>(1 + random() % 20);
      trace_.host_call.push({.start_ns = time,
                             .duration_ns = length,
                             .name = trace_.strings.intern("call"),
                             .process_id = ProcessId{1},
                             .thread_id = ThreadId{1},
                             .call_path_id = path});
      stacks_.push_back(stack);
      time += length;
    }
    rows_ = timelineRowsOf(trace_, *EventMatcher::of(trace_, {}), false);
    for (const TimelineRow& row : rows_.rows) {
      if (hasCalls(row)) lane_ = &row.lane;
    }
    ASSERT_NE(lane_, nullptr);
    ASSERT_EQ(lane_->items().size(), static_cast<size_t>(calls));
  }

  CallPathId childOf(CallPathId parent, int function) {
    const auto frame = static_cast<FrameId>(function + 1);
    for (size_t i = 0; i < trace_.call_path.size(); ++i) {
      if (trace_.call_path.parent[i] == parent && trace_.call_path.frame[i] == frame) {
        return static_cast<CallPathId>(i + 1);
      }
    }
    trace_.call_path.push({.parent = parent, .frame = frame});
    return static_cast<CallPathId>(trace_.call_path.size());
  }

  static std::vector<StackSpan> ofDepth(const std::vector<StackSpan>& spans, size_t depth) {
    std::vector<StackSpan> out;
    std::ranges::copy_if(spans, std::back_inserter(out),
                         [&](const StackSpan& span) { return span.depth == depth; });
    return out;
  }

  Trace trace_;
  std::vector<std::vector<int>> stacks_;  // by row of host_call
  TimelineRows rows_;
  const TimelineLane* lane_ = nullptr;
};

TEST_F(StackLanesTest, EachCallIsBelowItsFunctions) {
  ASSERT_NO_FATAL_FAILURE(makeCalls(1, 500));
  StackLanes stacks(trace_);
  const std::vector<StackSpan> spans = stacks.within(*lane_, 0, 1'000'000, kAllColumns);
  const HostCallTable& calls = trace_.host_call;
  for (size_t depth = 0; depth < 5; ++depth) {
    const std::vector<StackSpan> of = ofDepth(spans, depth);
    for (size_t i = 1; i < of.size(); ++i) EXPECT_LE(of[i - 1].end_ns, of[i].begin_ns);
    for (size_t i = 0; i < calls.size(); ++i) {
      if (stacks_[i].empty()) continue;  // without a stack: passed over
      const auto around = std::ranges::count_if(of, [&](const StackSpan& span) {
        return span.begin_ns <= calls.start_ns[i] &&
               span.end_ns >= calls.start_ns[i] + calls.duration_ns[i] &&
               depth < stacks_[i].size() &&
               stacks.name(span.name) == "f" + std::to_string(stacks_[i][depth]);
      });
      EXPECT_EQ(around, depth < stacks_[i].size() ? 1 : 0) << "call " << i << " depth " << depth;
    }
  }
}

TEST_F(StackLanesTest, AFunctionEndsWhereTheNextStackLacksIt) {
  ASSERT_NO_FATAL_FAILURE(makeCalls(2, 300));
  StackLanes stacks(trace_);
  const std::vector<StackSpan> spans = stacks.within(*lane_, 0, 1'000'000, kAllColumns);
  // As many spans begin as functions are entered from one stack to the next.
  size_t entered = 0;
  std::vector<int> before;
  for (const std::vector<int>& stack : stacks_) {
    if (stack.empty()) continue;
    const auto common = std::ranges::mismatch(before, stack).in2 - stack.begin();
    entered += stack.size() - static_cast<size_t>(common);
    before = stack;
  }
  EXPECT_EQ(spans.size(), entered);
}

TEST_F(StackLanesTest, APartIsWhatThereIsOfTheWhole) {
  ASSERT_NO_FATAL_FAILURE(makeCalls(3, 200));
  StackLanes stacks(trace_);
  const std::vector<StackSpan> whole = stacks.within(*lane_, 0, 1'000'000, kAllColumns);
  const int64_t end = trace_.host_call.start_ns.back() + 100;
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    const auto a = static_cast<int64_t>(random() % static_cast<uint64_t>(end));
    const int64_t b = a + 1 + static_cast<int64_t>(random() % 300);
    const std::vector<StackSpan> part = stacks.within(*lane_, a, b, kAllColumns);
    std::vector<StackSpan> expected;
    for (StackSpan span : whole) {
      if (span.end_ns <= a || span.begin_ns >= b) continue;
      span.began_before = span.begin_ns < a;
      span.goes_on = span.end_ns > b;
      span.begin_ns = std::max(span.begin_ns, a);
      span.end_ns = std::min(span.end_ns, b);
      expected.push_back(span);
    }
    ASSERT_EQ(part.size(), expected.size()) << a << " to " << b;
    for (size_t i = 0; i < part.size(); ++i) {
      EXPECT_EQ(part[i].begin_ns, expected[i].begin_ns) << a << " to " << b;
      EXPECT_EQ(part[i].end_ns, expected[i].end_ns) << a << " to " << b;
      EXPECT_EQ(part[i].name, expected[i].name);
      EXPECT_EQ(part[i].depth, expected[i].depth);
      EXPECT_EQ(part[i].began_before, expected[i].began_before) << a << " to " << b;
      EXPECT_EQ(part[i].goes_on, expected[i].goes_on) << a << " to " << b;
    }
  }
}

TEST_F(StackLanesTest, ShortNeighboursAreJoined) {
  ASSERT_NO_FATAL_FAILURE(makeCalls(4, 5000));
  StackLanes stacks(trace_);
  const int64_t end = trace_.host_call.start_ns.back();
  const std::vector<StackSpan> all = stacks.within(*lane_, 0, end, kAllColumns);
  const std::vector<StackSpan> few = stacks.within(*lane_, 0, end, 100);
  EXPECT_GT(all.size(), 5000U);
  for (size_t depth = 0; depth < 5; ++depth) {
    EXPECT_LE(ofDepth(few, depth).size(), 200U);
    const auto covered = [&](const std::vector<StackSpan>& spans) {
      int64_t ns = 0;
      for (const StackSpan& span : ofDepth(spans, depth)) ns += span.end_ns - span.begin_ns;
      return ns;
    };
    EXPECT_GE(covered(few), covered(all));
  }
  EXPECT_TRUE(std::ranges::any_of(
      few, [](const StackSpan& span) { return span.name == StackSpan::kSeveral; }));
}

}  // namespace
}  // namespace tracesmith::studio
