// SPDX-License-Identifier: Apache-2.0
// A driver that refuses a call has not looked at all that it was given. The agents must not either.
#include <gmock/gmock.h>

#include "recording_test_util.hpp"

namespace tracesmith {
namespace {

class RefusedTest : public RecordingTest {};

TEST_F(RefusedTest, ArgumentsOfARefusedCallMayLeadNowhere) {
  const std::vector<std::string> command = {helper("cl_refused")};
  SpawnOptions alone;
  alone.output = path("alone");
  ASSERT_EQ(run(command, alone).exit_code, 0) << "the driver itself looks at them";
  const std::string expected = readFile(path("alone"));
  ASSERT_THAT(expected, ::testing::HasSubstr("seen 5"));
  for (const char* words : {"layer", "preload", "record"}) {
    SpawnOptions watched;
    watched.output = path("watched");
    EXPECT_EQ(run(driver({words}, command), watched).exit_code, 0) << words;
    EXPECT_EQ(readFile(path("watched")), expected) << words;
  }
}

}  // namespace
}  // namespace tracesmith
