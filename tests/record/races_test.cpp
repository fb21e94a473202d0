// SPDX-License-Identifier: Apache-2.0
// Races of a program that really ran: found where a wait is missing, and only there.
#include <gmock/gmock.h>

#include "recording_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RacesTest : public RecordingTest {
 protected:
  void SetUp() override {
    RecordingTest::SetUp();
    if (!haveOpenClDevice()) GTEST_SKIP() << "no OpenCL device";
  }
  /// Records `cl_races how` and looks for races: the exit code and what is said.
  std::pair<int, std::string> racesOf(const std::string& how) {
    std::vector<std::string> record = {helper("tracesmith"), "profile", "--record",        "-o",
                                       path("out.sbt"),      "--",      helper("cl_races")};
    if (!how.empty()) record.push_back(how);
    EXPECT_EQ(run(record).exit_code, 0);
    SpawnOptions options;
    options.output = path("said");
    const int code = run({helper("tracesmith"), "races", path("out.sbt")}, options).exit_code;
    return {code, readFile(path("said"))};
  }
};

TEST_F(RacesTest, AMissingWaitBetweenTwoQueuesIsFound) {
  const auto [code, said] = racesOf("");
  EXPECT_EQ(code, 4);
  EXPECT_THAT(said, HasSubstr("likely write-read race: all bytes of buffer 1"));
  EXPECT_THAT(said, HasSubstr("Let launch 2 of consume in queue 1 wait for the event of launch 1 "
                              "of produce in queue 0."));
  EXPECT_THAT(said, Not(HasSubstr("\n2. ")));
}

TEST_F(RacesTest, AnEventOrAWaitOfTheHostIsEnough) {
  for (const char* how : {"wait", "host"}) {
    const auto [code, said] = racesOf(how);
    EXPECT_EQ(code, 0) << said;
    EXPECT_THAT(said, HasSubstr("0 races of 2 launches"));
  }
}

}  // namespace
}  // namespace tracesmith
