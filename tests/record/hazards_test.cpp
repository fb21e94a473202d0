// SPDX-License-Identifier: Apache-2.0
// Programs that do what is legal and hard to record (cl_hazards) run as they do alone, and what is
// recorded of them is right or said to be unknown.
#include <gmock/gmock.h>

#include "stream_fixture.hpp"

namespace tracesmith {
namespace {

using namespace recording;  // NOLINT: their words are ours here
using test::Recorded;
using test::Stream;
using ::testing::HasSubstr;

class HazardTest : public StreamTest {
 protected:
  Stream hazard(const char* word, const std::vector<std::string>& options = {}) {
    return recorded(options, {helper("cl_hazards"), word});
  }
};

TEST_F(HazardTest, WhatIsReadWhenTheRecordingEndsIsNotLookedAtAnyMore) {
  EXPECT_THAT(hazard("ended").end_reason, HasSubstr("too large"));
}

TEST_F(HazardTest, WhatIsUnmappedBeforeItWasMappedIsUnknown) {
  const Stream stream = hazard("unmapped");
  for (const Recorded& c : stream.commands) {
    if (c.header.kind != CommandKind::kMap) continue;
    const Recorded* done = stream.doneOf(c.header.sequence);
    ASSERT_NE(done, nullptr);
    EXPECT_FALSE(done->as<Done>().content.known());
  }
  EXPECT_EQ(stream.count(CommandKind::kMap), 1u);
}

}  // namespace
}  // namespace tracesmith
