// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/system_recorder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "tracesmith/capture/processes/launcher.hpp"

namespace tracesmith {
namespace {

class SystemRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (perfRights() == PerfRights::kNothing) GTEST_SKIP() << howToAllowPerf();
  }
  /// Batches of all that a command of the shell did, joined.
  SystemEvents record(const std::string& command, const SystemOptions& options = {}) {
    std::unique_ptr<SystemRecorder> recorder;
    auto program = Launcher::start({"/bin/sh", "-c", command}, {}, [&](pid_t pid) -> Status {
      TS_TRY(recorder, SystemRecorder::start(pid, options));
      return {};
    });
    EXPECT_TRUE(program) << program.error().toString();
    SystemEvents all;
    if (!program) return all;
    why_no_calls_ = recorder->whyNoCalls();
    while (!program->poll()) {
      usleep(5'000);
      join(all, recorder->takeNew());
    }
    recorder->finish();
    join(all, recorder->takeNew());
    return all;
  }
  static void join(SystemEvents& all, SystemEvents&& batch) {
    const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(all.processes, batch.processes);
    append(all.frames, batch.frames);
    append(all.paths, batch.paths);
    append(all.names, batch.names);
    append(all.samples, batch.samples);
    append(all.states, batch.states);
    append(all.wakeups, batch.wakeups);
    append(all.calls, batch.calls);
    append(all.counts, batch.counts);
    all.lost = batch.lost;
  }

  std::string why_no_calls_;
};

TEST_F(SystemRecorderTest, BatchesFitTogether) {
  const SystemEvents all = record(
      "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.1; gzip -c /bin/sh | cat > "
      "/dev/null");
  if (geteuid() == 0) {  // the rings of users are small
    EXPECT_EQ(all.lost, 0u);
  }
  EXPECT_GE(all.processes.size(), 4u);  // sh, sleep, gzip, cat
  EXPECT_GT(all.samples.size(), 20u);
  std::set<uint32_t> sampled;
  for (const SystemEvents::Sample& sample : all.samples) {
    ASSERT_LT(sample.process, all.processes.size());
    ASSERT_LE(sample.path, all.paths.size());
    sampled.insert(sample.process);
  }
  EXPECT_TRUE(sampled.contains(0));
  for (uint32_t i = 0; i < all.paths.size(); ++i) {
    ASSERT_LE(all.paths[i].parent, i) << "the caller's path comes first";
    ASSERT_GE(all.paths[i].frame, 1u);
    ASSERT_LE(all.paths[i].frame, all.frames.size());
  }
  // The states of a thread follow each other.
  std::map<std::pair<uint32_t, uint32_t>, std::map<int64_t, int64_t>> of_threads;
  int64_t longest_wait = 0;
  for (const StateSpan& span : all.states) {
    ASSERT_LT(span.process, all.processes.size());
    ASSERT_GT(span.duration_ns, 0);
    of_threads[{span.process, span.tid}][span.start_ns] = span.duration_ns;
    if (isWait(span.state)) longest_wait = std::max(longest_wait, span.duration_ns);
  }
  EXPECT_GE(longest_wait, 90'000'000);
  for (const auto& [thread, spans] : of_threads) {
    int64_t end = 0;
    for (const auto& [start, duration] : spans) {
      EXPECT_GE(start, end);
      end = start + duration;
    }
  }
}

TEST_F(SystemRecorderTest, WithRightsCallsAndWakeupsAreThere) {
  const SystemEvents all = record("sleep 0.05");
  if (!why_no_calls_.empty()) GTEST_SKIP() << why_no_calls_;
  std::map<std::string, uint64_t> counts;
  for (const SystemEvents::CallCount& count : all.counts)
    counts[std::string(count.name)] += count.calls;
  EXPECT_GE(counts["execve"], 1u);  // that of the shell, which may become sleep
  bool sleeps = false;
  for (const SystemEvents::Call& call : all.calls) {
    if (call.name != "clock_nanosleep") continue;
    sleeps = true;
    EXPECT_GE(call.duration_ns, 50'000'000);
    EXPECT_NE(call.path, 0u);
  }
  EXPECT_TRUE(sleeps);
  bool by_interrupt = false;
  for (const SystemEvents::Wakeup& wakeup : all.wakeups) {
    by_interrupt = by_interrupt || wakeup.waker == "[interrupt]";
  }
  EXPECT_TRUE(by_interrupt);
}

TEST_F(SystemRecorderTest, AProgramThatRunsIsRecordedFromThenOn) {
  auto program = Launcher::start(
      {"/bin/sh", "-c", "sleep 100 & while :; do gzip -c /bin/sh > /dev/null; done"}, {});
  ASSERT_TRUE(program) << program.error().toString();
  const auto pid = static_cast<uint32_t>(program->pid());
  while (processTreeOf(pid).size() < 2) usleep(1'000);  // it has started sleep
  auto recorder = SystemRecorder::attach(pid, {});
  ASSERT_TRUE(recorder) << recorder.error().toString();
  SystemEvents all;
  for (int i = 0; i < 100; ++i) {
    usleep(5'000);
    join(all, (*recorder)->takeNew());
  }
  (*recorder)->finish();
  join(all, (*recorder)->takeNew());
  for (const uint32_t of_tree : processTreeOf(pid)) kill(static_cast<pid_t>(of_tree), SIGKILL);
  while (!program->poll()) usleep(1'000);
  EXPECT_GE(all.processes.size(), 3u);  // sh, sleep, gzip
  EXPECT_GT(all.samples.size(), 10u);
  int64_t longest_wait = 0;
  for (const StateSpan& span : all.states) {
    ASSERT_LT(span.process, all.processes.size());
    ASSERT_GT(span.duration_ns, 0);
    if (isWait(span.state)) longest_wait = std::max(longest_wait, span.duration_ns);
  }
  EXPECT_GE(longest_wait, 450'000'000) << "sleep does not run at all";
  EXPECT_FALSE(SystemRecorder::attach(pid, {})) << "it has ended";
}

TEST_F(SystemRecorderTest, WithoutProgramsInTheKernelThereAreStates) {
  const SystemEvents all = record("sleep 0.05", {.samples_per_second = 0, .in_kernel = false});
  EXPECT_TRUE(all.samples.empty());
  EXPECT_TRUE(all.calls.empty());
  EXPECT_GT(all.states.size(), 2u);
}

}  // namespace
}  // namespace tracesmith
