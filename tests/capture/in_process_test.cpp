// SPDX-License-Identifier: Apache-2.0
// The profiler of the C++ API on a real device.
#include <gmock/gmock.h>

#include "recording_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InProcessTest : public RecordingTest {
 protected:
  std::string outputOf(const std::vector<std::string>& arguments, int exit_code = 0) {
    SpawnOptions options;
    options.output = path("stdout");
    options.environment = {"TMPDIR=" + directory()};
    EXPECT_EQ(run(arguments, options).exit_code, exit_code);
    return readFile(path("stdout"));
  }
};

TEST_F(InProcessTest, GivesWhatHappenedBetweenStartAndStopAndNothingElse) {
  EXPECT_EQ(outputOf({helper("in_process")}),
            "second: refused\n"
            "first: 7 launches, 7 kernels, paired, 1 copies back, 0 bad\n"
            "again: 5000 launches, 5000 kernels, paired, 0 copies back, 0 bad\n"
            "second: 4 launches, 4 kernels, paired, 0 copies back, 0 bad\n"
            "dropped: 0\n");
  EXPECT_THAT(filesLeft(), ElementsAre("stdout"));
}

TEST_F(InProcessTest, ACaptureThatBeginsBeforeTheFirstCallMissesNothing) {
  EXPECT_EQ(outputOf({helper("in_process"), "first"}),
            "second: refused\n"
            "first: 20 launches, 20 kernels, paired, 0 copies back, 0 bad\n");
}

TEST_F(InProcessTest, CostsNextToNothingWhileNobodyCaptures) {
  EXPECT_EQ(outputOf({helper("in_process"), "idle"}),
            "second: refused\n"
            "waits: few\n"
            "second: 5000 launches, 5000 kernels, paired, 0 copies back, 0 bad\n");
}

TEST_F(InProcessTest, WhatABufferCanNotHoldIsCounted) {
  EXPECT_EQ(outputOf({helper("in_process"), "small"}),
            "second: refused\n"
            "captured 10, dropped some, together what happened\n");
}

TEST_F(InProcessTest, AChildThatEndsDoesNotEndTheCaptureOfItsParent) {
  EXPECT_THAT(outputOf({helper("in_process"), "fork"}),
              HasSubstr("child: 7\n"
                        "first: 7 launches, 7 kernels, paired, 1 copies back, 0 bad\n"));
}

TEST_F(InProcessTest, AProgramThatIsRecordedFromOutsideIsToldSo) {
  const std::string output = outputOf(driver({}, {helper("in_process")}), 1);
  EXPECT_THAT(output, HasSubstr("this process is being recorded already"));
}

TEST_F(InProcessTest, LaunchesHaveTheCallStacksThatWereAskedFor) {
  EXPECT_EQ(outputOf({helper("in_process"), "stacks"}),
            "second: refused\n"
            "stack of 2: launch main\n");
}

TEST_F(InProcessTest, SaysWhenItComesTooLate) {
  const std::string output = outputOf({helper("in_process"), "late"});
  EXPECT_THAT(output, HasSubstr("late: refused: OpenCL is in use already"));
  EXPECT_THAT(output, HasSubstr("tracesmith profile"));
}

}  // namespace
}  // namespace tracesmith
