// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/timeline_viewer.hpp"

#include <gmock/gmock.h>

#include <sstream>
#include <string>
#include <vector>

#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using test::sampleProgram;
using ::testing::HasSubstr;

TEST(TimelineViewer, DrawsWhatTheBuilderBuilt) {
  TimelineBuilder builder;
  builder.addEvents(toEvents(sampleProgram().trace));
  const Timeline timeline = builder.build();
  const std::string text = TimelineViewer().render(timeline);
  EXPECT_THAT(text, HasSubstr("1.40 ms with 5 operations"));
  EXPECT_THAT(text, HasSubstr("device 0"));
  EXPECT_THAT(text, HasSubstr("92.9 %"));
  TimelineViewer::ViewConfig plain;
  plain.width = 48;
  plain.show_timestamps = plain.show_duration = false;
  plain.fill_char = '#';
  std::istringstream drawn(TimelineViewer(plain).render(timeline));
  std::string line;
  std::getline(drawn, line);
  EXPECT_EQ(line, "device 0");
  std::getline(drawn, line);
  EXPECT_THAT(line, HasSubstr("###"));
  EXPECT_THAT(TimelineViewer().renderStream(timeline, 99), HasSubstr("no device work"));
  EXPECT_THAT(TimelineViewer().renderStats(timeline), HasSubstr("utilization      50.0 %"));
}

}  // namespace
}  // namespace tracesmith
