// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/determinism_checker.hpp"

#include <gmock/gmock.h>

namespace tracesmith {
namespace {

using testing::HasSubstr;

StreamOperation operationOf(uint64_t id, uint32_t stream, std::vector<uint64_t> depends_on = {}) {
  StreamOperation op;
  op.operation_id = id;
  op.stream_id = stream;
  op.depends_on = std::move(depends_on);
  op.event.name = "k" + std::to_string(id);
  return op;
}

/// Stream 1: operations 1, 2, 5; stream 2: 3, 4; operation 4 waits for 2.
class Checker : public testing::Test {
 protected:
  Checker() {
    for (const auto& op : {operationOf(1, 1), operationOf(2, 1), operationOf(3, 2),
                           operationOf(4, 2, {2}), operationOf(5, 1)}) {
      checker.recordOriginal(op);
    }
  }
  void replay(std::vector<uint64_t> ids) {
    for (const uint64_t id : ids) checker.recordReplayed(operationOf(id, 0));
  }
  void replayTimed(uint64_t id, Timestamp begin, Timestamp length) {
    StreamOperation op = operationOf(id, 0);
    op.begin_time = begin;
    op.execution_time = length;
    checker.recordReplayed(op);
  }
  void expect(size_t order, size_t dependency, size_t timing = 0) {
    const auto v = checker.getViolations();
    EXPECT_EQ(v.order_violations, order) << checker.getReport();
    EXPECT_EQ(v.dependency_violations, dependency) << checker.getReport();
    EXPECT_EQ(v.timing_violations, timing) << checker.getReport();
    EXPECT_EQ(checker.validateOrder(), order == 0);
    EXPECT_EQ(checker.validateDependencies(), dependency == 0);
  }
  DeterminismChecker checker;
};

TEST_F(Checker, AnyOrderThatKeepsStreamsAndDependenciesIsRight) {
  replay({3, 1, 2, 5, 4});
  expect(0, 0);
  EXPECT_THAT(checker.getReport(), HasSubstr("5 operations recorded, 5 replayed"));
}

TEST_F(Checker, WhatComesBeforeItsPredecessorIsNamed) {
  replay({2, 1, 3, 4, 5});
  expect(1, 0);
  EXPECT_THAT(checker.getReport(), HasSubstr("operation 1 (k1) was replayed after operation 2"));
}

TEST_F(Checker, WhatComesBeforeWhatItDependsOnIsNamed) {
  replay({1, 3, 4, 2, 5});
  expect(0, 1);
  EXPECT_THAT(checker.getReport(), HasSubstr("depends on operation 2 (k2), which came later"));
}

TEST_F(Checker, MissingTwiceAndUnknownOnesCount) {
  replay({1, 3, 4, 4, 77});
  expect(4, 1);  // 2 and 5 are missing, 4 came twice, 77 is unknown; 4 depends on 2
  EXPECT_THAT(checker.getReport(), HasSubstr("operation 77 was replayed but never recorded"));
}

TEST_F(Checker, WhatWasLeftOutIsNotMissing) {
  replay({1, 3, 4, 5});
  StreamOperation left_out = operationOf(2, 0);
  left_out.skipped = true;
  checker.recordReplayed(left_out);
  expect(0, 0);
}

TEST_F(Checker, TimesThatOverlapWhatHadToBeOverAreNamed) {
  replayTimed(1, 0, 100);
  replayTimed(2, 99, 100);  // before 1 had ended
  replayTimed(3, 0, 10);
  replayTimed(4, 198, 10);  // before 2 had ended
  replayTimed(5, 199, 10);
  expect(0, 0, 2);
  EXPECT_FALSE(checker.validateTiming());
}

TEST_F(Checker, TimesThatTouchAreRightAndUnknownOnesShowNothing) {
  replayTimed(1, 0, 100);
  replayTimed(2, 100, UINT64_MAX);  // no overflow
  replay({3});
  replayTimed(4, UINT64_MAX, 1);
  replay({5});
  expect(0, 0, 0);
  EXPECT_TRUE(checker.validateTiming());
  checker.reset();
  checker.recordOriginal(operationOf(1, 1));
  replay({1});
  EXPECT_FALSE(checker.validateTiming());
}

TEST_F(Checker, NothingReplayedShowsNothing) {
  EXPECT_FALSE(checker.validateOrder());
  EXPECT_FALSE(checker.validateDependencies());
  EXPECT_THAT(checker.getReport(), HasSubstr("nothing was checked"));
  EXPECT_EQ(checker.getViolations().order_violations, 5u);  // all are missing
  checker.reset();
  EXPECT_EQ(checker.getViolations().order_violations, 0u);
  EXPECT_FALSE(checker.validateOrder());
}

TEST_F(Checker, HostileIdsAreCountedAndKeepNobodyBusy) {
  checker.reset();
  checker.recordOriginal(operationOf(1, 1, {2}));
  checker.recordOriginal(operationOf(2, 2, {1}));         // a cycle
  checker.recordOriginal(operationOf(3, 3, {3, 3, 99}));  // itself, and an unknown one
  checker.recordOriginal(operationOf(1, 4));              // twice
  replay({1, 2, 3});
  expect(1, 2);
}

TEST_F(Checker, OutOfOrderStreamsAreHeldToDependenciesAlone) {
  checker.reset();
  for (uint64_t id = 1; id <= 3; ++id) {
    StreamOperation op = operationOf(id, 1);
    op.out_of_order = true;
    if (id == 3) op.depends_on = {1};
    checker.recordOriginal(op);
  }
  replay({2, 1, 3});
  expect(0, 0);
}

TEST_F(Checker, OfManyViolationsTheFirstAreNamedAndTheRestCounted) {
  checker.reset();
  for (uint64_t id = 0; id < 100; ++id) checker.recordOriginal(operationOf(id, 1));
  for (uint64_t id = 100; id-- > 0;) replay({id});
  expect(99, 0);
  EXPECT_THAT(checker.getReport(), HasSubstr("and 89 more"));
}

}  // namespace
}  // namespace tracesmith
