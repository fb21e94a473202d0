// SPDX-License-Identifier: Apache-2.0
// What a session does with an existing trace at its output path.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tracesmith/api/tracing_session.hpp"
#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

std::vector<std::string> namesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

size_t eventsIn(const std::string& path) {
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader) << reader.error().toString();
  const auto trace = reader->read();
  EXPECT_TRUE(trace);
  return trace ? trace->range.size() : 0;
}

void record(const TracingConfig& config, int markers, TracingSession& session) {
  ASSERT_TRUE(session.start(config));
  for (int i = 0; i < markers; ++i) session.marker(session.spanName("m"));
  ASSERT_TRUE(session.stop());
}

TEST(TracingSession, WithoutEventsReplacesNoTraceThatHasSome) {
  const test::TempFolder folder;
  const TracingConfig config{.output_file = folder.path("good.sbt")};
  TracingSession first, empty, second;
  record(config, 3, first);
  EXPECT_EQ(first.tracePath(), folder.path("good.sbt"));
  record(config, 0, empty);
  EXPECT_EQ(empty.tracePath(), folder.path("good-2.sbt"));
  EXPECT_EQ(eventsIn(folder.path("good.sbt")), 3u);
  record(config, 5, second);
  EXPECT_EQ(second.tracePath(), folder.path("good.sbt"));
  EXPECT_EQ(eventsIn(folder.path("good.sbt")), 5u);
  EXPECT_THAT(namesIn(folder.folder()), testing::ElementsAre("good-2.sbt", "good.sbt"));
}

TEST(TracingSession, ThatIsKilledLeavesTheTraceThatWasThere) {
  const test::TempFolder folder;
  const TracingConfig config{.output_file = folder.path("good.sbt")};
  TracingSession first;
  record(config, 3, first);
  const pid_t child = fork();
  if (child == 0) {
    TracingSession session;
    if (!session.start(config)) _exit(1);
    session.marker(session.spanName("m"));
    if (!session.flush()) _exit(2);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_EQ(eventsIn(folder.path("good.sbt")), 3u);
  EXPECT_EQ(eventsIn(folder.path("good-2.sbt")), 1u);
}

}  // namespace
}  // namespace tracesmith
