// SPDX-License-Identifier: Apache-2.0
// What a program is told, and what its calls do, is the same with the agent and without it.
#include <gmock/gmock.h>

#include "recording_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

class TransparencyTest
    : public RecordingTest,
      public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {};

TEST_P(TransparencyTest, EveryAnswerOfTheDriverIsTheSameWithTheAgent) {
  const auto [injection, driver_file] = GetParam();
  SpawnOptions alone;
  alone.output = path("alone");
  if (*driver_file != 0) {
    if (readFile(driver_file).empty()) GTEST_SKIP() << driver_file << " is not installed";
    alone.environment = {std::string("OCL_ICD_VENDORS=") + driver_file};
  }
  // An interpreter takes its time.
  const std::string rounds = *driver_file == 0 ? "20000000" : "1000";
  ASSERT_EQ(run({helper("cl_answers"), rounds}, alone).exit_code, 0);
  SpawnOptions watched = alone;
  watched.output = path("watched");
  ASSERT_EQ(run(driver({injection}, {helper("cl_answers"), rounds}), watched).exit_code, 0);
  const std::string expected = readFile(path("alone"));
  EXPECT_THAT(expected, HasSubstr("references after enqueue"));
  EXPECT_EQ(readFile(path("watched")), expected);
  // And all of it was recorded.
  const auto report = readReport(path("report"));
  EXPECT_EQ(number(report, "dropped"), 0u);
  EXPECT_EQ(number(report, "kernels"), 9u);
  EXPECT_TRUE(load(path("out.sbt")).complete);
}

constexpr const char* kOclgrind = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";
INSTANTIATE_TEST_SUITE_P(, TransparencyTest,
                         ::testing::Combine(::testing::Values("layer", "preload"),
                                            ::testing::Values("", kOclgrind)),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param)) +
                                  (*std::get<1>(each.param) ? "OnOclgrind" : "OnTheSystemsDriver");
                         });

}  // namespace
}  // namespace tracesmith
