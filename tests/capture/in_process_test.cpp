// SPDX-License-Identifier: Apache-2.0
// The profiler of the C++ API on a real device.
#include <gmock/gmock.h>

#include "recording_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

class InProcessTest : public RecordingTest {
 protected:
  std::string outputOf(const std::vector<std::string>& arguments) {
    SpawnOptions options;
    options.output = path("stdout");
    EXPECT_EQ(run(arguments, options).exit_code, 0);
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
}

TEST_F(InProcessTest, SaysWhenItComesTooLate) {
  const std::string output = outputOf({helper("in_process"), "late"});
  EXPECT_THAT(output, HasSubstr("late: refused: OpenCL is in use already"));
  EXPECT_THAT(output, HasSubstr("tracesmith profile"));
}

}  // namespace
}  // namespace tracesmith
