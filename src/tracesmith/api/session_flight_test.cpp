// SPDX-License-Identifier: Apache-2.0
// A TracingSession as a flight recorder.
#include "tracesmith/api/session_flight.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tracesmith/api/tracing_session.hpp"
#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/fleet/summary_file.hpp"
#include "tracesmith/format/trace_check.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class SessionFlightTest : public ::testing::Test {
 protected:
  TracingConfig config() const {
    TracingConfig config;
    config.output_file = folder_.path("app.sbt");
    config.flush_interval_ms = 10;
    config.flight_recorder_ms = 400;
    return config;
  }
  /// Spans "step N" of about a millisecond; every one starts after
  /// the one before.
  void steps(int n) {
    for (int i = 0; i < n; ++i) {
      const SpanName name = session_.spanName(fmt::format("step {}", next_++));
      const TracingSession::Span span(session_, name);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  /// A child that makes 1000 steps and is killed.
  void killAfterSteps() {
    const pid_t child = fork();
    if (child == 0) {
      if (session_.start(config())) steps(1000);
      (void)session_.flush();
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_GT(folder_.files(), 4u);
  }
  Trace read(const std::string& path) {
    const auto check = checkTrace(path);
    EXPECT_TRUE(check && check->intact()) << path;
    auto reader = TraceReader::open(path);
    EXPECT_TRUE(reader);
    auto trace = reader->read();
    EXPECT_TRUE(trace);
    return std::move(*trace);
  }
  /// Numbers of the steps that a trace has, which must be consecutive.
  std::pair<int, int> stepsIn(const Trace& trace) {
    std::map<int, int> numbers;
    for (const StringId name : trace.range.name) {
      ++numbers[std::stoi(std::string(trace.text(name).substr(5)))];
    }
    EXPECT_EQ(numbers.size(), trace.range.size()) << "a step is there twice";
    EXPECT_FALSE(numbers.empty());
    if (numbers.empty()) return {};
    const int first = numbers.begin()->first, last = numbers.rbegin()->first;
    EXPECT_EQ(numbers.size(), static_cast<size_t>(last - first + 1)) << "a step is missing";
    return {first, last};
  }

  test::TempFolder folder_;
  TracingSession session_;
  int next_ = 0;
};

TEST_F(SessionFlightTest, KeepsTheLastStepsAndTheSummaryOfAll) {
  ASSERT_TRUE(session_.start(config()));
  steps(1500);
  const auto saved = session_.saveWindow("half way");
  ASSERT_TRUE(saved) << saved.error().toString();
  EXPECT_EQ(*saved, folder_.path("app.trigger-1.sbt"));
  steps(1500);
  ASSERT_TRUE(session_.stop());

  const Trace half = read(*saved);
  EXPECT_EQ(half.metadataValue("flight_recorder.reason"), "half way");
  EXPECT_EQ(half.metadataValue("flight_recorder.window"), "0.4 s");
  const auto [first, last] = stepsIn(half);
  EXPECT_EQ(last, 1499);
  EXPECT_LE(first, 1300);
  EXPECT_GT(first, 500);
  const Trace end = read(session_.tracePath());
  EXPECT_EQ(stepsIn(end).second, 2999);
  EXPECT_GT(stepsIn(end).first, 2000);
  ASSERT_EQ(end.loss.size(), 1u);
  EXPECT_EQ(end.loss.emitted[0], 3000u);
  EXPECT_EQ(end.loss.dropped[0], 0u);

  const auto summary = readSummaryFile(session_.tracePath() + kSummaryEnding);
  ASSERT_TRUE(summary) << summary.error().toString();
  EXPECT_EQ(summary->summary.events.at("range"), 3000u);
  EXPECT_EQ(summary->summary.steps_ns.count, 3000u);
  EXPECT_EQ(folder_.files(), 3u) << "no part is left";
}

TEST_F(SessionFlightTest, ASlowStepSavesTheWindow) {
  TracingConfig slow = config();
  slow.slow_step_factor = 20;
  ASSERT_TRUE(session_.start(slow));
  steps(100);
  {
    const TracingSession::Span span(session_, session_.spanName("step 100"));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ++next_;
  }
  steps(50);
  ASSERT_TRUE(session_.stop());
  const Trace saved = read(folder_.path("app.trigger-1.sbt"));
  EXPECT_THAT(std::string(saved.metadataValue("flight_recorder.reason")),
              StartsWith("step 100 took 2"));
  EXPECT_GE(stepsIn(saved).second, 100);
}

TEST_F(SessionFlightTest, AKilledProgramLeavesItsLastSteps) {
  killAfterSteps();
  std::filesystem::current_path(folder_.folder());
  const Status recovered = recoverWindow("app.sbt");
  std::filesystem::current_path("/");
  ASSERT_TRUE(recovered) << recovered.error().toString();
  EXPECT_EQ(folder_.files(), 1u);
  const std::string path = folder_.path("app.sbt");
  const Trace trace = read(path);
  EXPECT_EQ(stepsIn(trace).second, 999);
  EXPECT_LT(stepsIn(trace).first, 800);
  EXPECT_EQ(trace.metadataValue("flight_recorder.window"), "0.4 s");
  ASSERT_TRUE(recoverWindow(path)) << "there is nothing more to do";
  EXPECT_EQ(stepsIn(read(path)).second, 999);
}

TEST_F(SessionFlightTest, ARecoveryThatWasKilledIsFinished) {
  killAfterSteps();
  const std::string path = folder_.path("app.sbt"), kept = folder_.path("kept");
  std::filesystem::copy(folder_.folder(), kept);
  ASSERT_TRUE(recoverWindow(path));
  const auto events = stepsIn(read(path));
  for (const auto& part : std::filesystem::directory_iterator(kept)) {  // not removed yet
    if (part.path().filename() == "app.sbt") continue;
    std::filesystem::copy(part.path(), folder_.folder());
  }
  ASSERT_TRUE(recoverWindow(path));
  EXPECT_EQ(stepsIn(read(path)), events) << "and no event twice";
  std::filesystem::remove_all(kept);
  EXPECT_EQ(folder_.files(), 1u);
}

TEST_F(SessionFlightTest, TheNextRunKeepsTheWindowOfAKilledOne) {
  killAfterSteps();
  ASSERT_TRUE(session_.start(config()));
  steps(300);
  const auto saved = session_.saveWindow();
  ASSERT_TRUE(saved) << saved.error().toString();
  ASSERT_TRUE(session_.stop());
  EXPECT_EQ(stepsIn(read(folder_.path("app.trigger-1.sbt"))).second, 999) << "of the killed one";
  EXPECT_EQ(*saved, folder_.path("app.trigger-1-2.sbt"));
  EXPECT_EQ(stepsIn(read(*saved)).second, 299);
  EXPECT_EQ(stepsIn(read(folder_.path("app.sbt"))).second, 299);
  EXPECT_EQ(folder_.files(), 4u);
}

TEST_F(SessionFlightTest, IsRefusedWhereItCannotWork) {
  EXPECT_FALSE(session_.saveWindow("no session"));
  TracingConfig in_memory = config();
  in_memory.output_file.clear();
  const Status refused = session_.start(in_memory);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().toString(), HasSubstr("needs an output_file"));
  TracingConfig all = config();
  all.flight_recorder_ms = 0;
  ASSERT_TRUE(session_.start(all));
  EXPECT_FALSE(session_.saveWindow("everything is kept"));
  ASSERT_TRUE(session_.stop());
  TracingConfig never = config();
  never.most_saved_windows = 0;
  ASSERT_TRUE(session_.start(never));
  const auto too_often = session_.saveWindow("none is allowed");
  ASSERT_FALSE(too_often);
  EXPECT_THAT(too_often.error().toString(), HasSubstr("most_saved_windows"));
  ASSERT_TRUE(session_.stop());
}

}  // namespace
}  // namespace tracesmith
