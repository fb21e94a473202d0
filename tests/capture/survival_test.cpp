// SPDX-License-Identifier: Apache-2.0
// Whatever dies, and whenever: the program is never harmed by us, and what reached a ring is kept.
// TRACESMITH_TORTURE_RUNS sets how often the random kills are repeated (default 10).
#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "flood_counts.hpp"
#include "recording_test_util.hpp"
#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;

constexpr int kThreads = 3;

void sleepMs(double ms) {
  const auto ns = static_cast<int64_t>(ms * 1e6);
  const timespec pause{ns / 1'000'000'000, ns % 1'000'000'000};
  nanosleep(&pause, nullptr);
}

bool alive(uint64_t pid) {
  // A zombie has no memory map; nobody but init may be there to wait for it.
  return std::filesystem::exists("/proc/" + std::to_string(pid)) &&
         !readFile("/proc/" + std::to_string(pid) + "/maps").empty();
}

class SurvivalTest : public RecordingTest {
 protected:
  void SetUp() override {
    RecordingTest::SetUp();
    counts_ = mapFloodCounts(path("counts").c_str());
  }
  void TearDown() override {
    if (pid() != 0) kill(static_cast<pid_t>(pid()), SIGKILL);
    munmap(counts_, sizeof *counts_);
    RecordingTest::TearDown();
  }

  std::vector<std::string> flood(int threads, uint64_t launches, const std::string& end) const {
    return {helper("cl_flood"), path("counts"), std::to_string(threads), std::to_string(launches),
            end};
  }
  uint64_t pid() const { return counts_->pid.load(); }
  uint64_t launched() const { return counts_->launched.load(); }
  void awaitLaunches(uint64_t n) const {
    const int64_t until = monotonicNs() + 30'000'000'000;
    while (launched() < n && monotonicNs() < until) sleepMs(0.5);
    ASSERT_GE(launched(), n);
  }
  void awaitEnd() const {
    const int64_t until = monotonicNs() + 30'000'000'000;
    while (alive(pid()) && monotonicNs() < until) sleepMs(1);
    ASSERT_FALSE(alive(pid())) << "the program hangs";
  }
  void startAgain() {
    counts_->pid = counts_->launched = counts_->finished = 0;
    std::error_code ec;
    std::filesystem::remove(path("out.sbt"), ec);
    std::filesystem::remove(path("report"), ec);
  }

  size_t launchCalls(const Trace& trace) const {
    size_t n = 0;
    for (size_t i = 0; i < trace.host_call.size(); ++i) {
      n += trace.host_call.kind[i] == CallKind::kLaunch && trace.host_call.result[i] == 0;
    }
    return n;
  }
  /// The trace at out.sbt has each launch that had returned, and at most one more per thread.
  void expectAllLaunches(const Recording& recording, int threads) const {
    EXPECT_TRUE(recording.complete);
    const size_t calls = launchCalls(recording.trace);
    EXPECT_GE(calls, launched());
    EXPECT_LE(calls, launched() + static_cast<uint64_t>(threads));
    EXPECT_LE(recording.trace.kernel.size(), calls);
    expectNoDuplicates(recording.trace);
    expectLossesAddUp(recording.trace);
  }
  void recover() {
    const Ended ended =
        run({helper("profile_driver"), "recover", path("out.sbt.session"), path("recovered")});
    EXPECT_EQ(ended.exit_code, 0) << readFile(path("recovered"));
    EXPECT_FALSE(std::filesystem::exists(path("out.sbt.session")));
  }

  FloodCounts* counts_ = nullptr;
};

TEST_F(SurvivalTest, AKilledProgramLeavesAllItsLaunches) {
  const pid_t driver_pid = spawn(driver({}, flood(kThreads, 0, "0")));
  awaitLaunches(3000);
  kill(static_cast<pid_t>(pid()), SIGKILL);
  EXPECT_EQ(waitFor(driver_pid).exit_code, 128 + SIGKILL);
  EXPECT_EQ(number(readReport(path("report")), "signal"), uint64_t{SIGKILL});
  expectAllLaunches(load(path("out.sbt")), kThreads);
  EXPECT_THAT(filesLeft(), ElementsAre("counts", "out.sbt", "report"));
}

// The driver still compiles for the first launch while the program leaves. What our waiting must
// not do is to go on after the exit handlers of the compiler's libraries have run.
TEST_F(SurvivalTest, AProgramThatLeavesWhileItsDriverCompilesEndsAsAlone) {
  const std::string compiled = path("compiled");
  const ScopedVariable cache("POCL_CACHE_DIR", compiled);
  int whole = 0;
  for (int i = 0; i < 5 && whole == 0; ++i) {  // alone it crashes at times: its driver is like that
    std::filesystem::remove_all(compiled);
    std::filesystem::create_directory(compiled);
    startAgain();
    const Recording recording = record(flood(1, 100, "7"));
    whole += recording.outcome.exit_code == 7 && recording.outcome.signal == 0 &&
             recording.trace.kernel.size() == 100 && recording.outcome.unresolved == 0;
  }
  EXPECT_EQ(whole, 1);
}

TEST_F(SurvivalTest, AKilledCollectorHarmsNobodyAndLosesNothing) {
  const pid_t driver_pid = spawn(driver({}, flood(kThreads, 3000, "7")));
  awaitLaunches(1000);
  kill(driver_pid, SIGKILL);
  EXPECT_EQ(waitFor(driver_pid).signal, SIGKILL);
  awaitEnd();
  EXPECT_EQ(counts_->finished, 1u);
  EXPECT_EQ(launched(), uint64_t{3000} * kThreads);
  recover();
  const Recording recording = load(path("out.sbt"));
  expectAllLaunches(recording, 0);
  EXPECT_EQ(recording.trace.kernel.size(), launched());
  EXPECT_THAT(filesLeft(), ElementsAre("counts", "out.sbt", "recovered"));
}

// By a clean-up job, say. Neither the program nor the recorder may end by SIGBUS.
TEST_F(SurvivalTest, ArenasThatAreCutShortCostTheirRecordsAndNobodysLife) {
  const pid_t driver_pid = spawn(driver({}, flood(kThreads, 20000, "7")));
  awaitLaunches(3000);
  for (const auto& entry : std::filesystem::directory_iterator(path("out.sbt.session"))) {
    if (entry.path().extension() == ".arena") std::filesystem::resize_file(entry.path(), 0);
  }
  const Ended ended = waitFor(driver_pid);
  EXPECT_EQ(ended.signal, 0);
  EXPECT_EQ(ended.exit_code, 7);
  EXPECT_EQ(counts_->finished, 1u) << "it did not come to its end";
  EXPECT_EQ(launched(), uint64_t{20000} * kThreads);
  const Recording recording = load(path("out.sbt"));
  EXPECT_TRUE(recording.complete);
  expectLossesAddUp(recording.trace);
  EXPECT_LT(recording.trace.kernel.size(), launched());
  std::string reasons;
  for (size_t i = 0; i < recording.trace.loss.size(); ++i) {
    const LossRow row = recording.trace.loss.row(i);
    if (row.dropped > 0) reasons += std::string(recording.trace.text(row.reason)) + "\n";
  }
  EXPECT_THAT(reasons, ::testing::HasSubstr("cut short"));
}

TEST_F(SurvivalTest, WithoutACollectorAFullRingDropsAndTheProgramGoesOn) {
  const pid_t driver_pid = spawn(driver({"ring=16384"}, flood(kThreads, 5000, "7")));
  awaitLaunches(500);
  kill(driver_pid, SIGKILL);
  waitFor(driver_pid);
  awaitEnd();
  EXPECT_EQ(counts_->finished, 1u) << "it did not come to its end";
  recover();
  const Recording recording = load(path("out.sbt"));
  EXPECT_TRUE(recording.complete);
  expectNoDuplicates(recording.trace);
  expectLossesAddUp(recording.trace);
  uint64_t dropped = 0;
  for (uint64_t n : recording.trace.loss.dropped) dropped += n;
  EXPECT_GT(dropped, 0u);
  EXPECT_GT(launchCalls(recording.trace), 500u);
  EXPECT_LT(launchCalls(recording.trace), launched());
}

TEST_F(SurvivalTest, WhenBothAreKilledTheArenasKeepAllThatWasNotYetWritten) {
  const pid_t driver_pid = spawn(driver({}, flood(kThreads, 0, "0")));
  awaitLaunches(2000);
  kill(driver_pid, SIGKILL);
  sleepMs(10);
  kill(static_cast<pid_t>(pid()), SIGKILL);
  waitFor(driver_pid);
  awaitEnd();
  recover();
  expectAllLaunches(load(path("out.sbt")), kThreads);
}

TEST_F(SurvivalTest, AtAnyMoment) {
  const char* wanted = getenv("TRACESMITH_TORTURE_RUNS");
  const int runs = wanted == nullptr ? 10 : std::atoi(wanted);
  std::mt19937 chance(static_cast<unsigned>(monotonicNs()));
  int with_work = 0;
  for (int i = 0; i < runs && !HasFailure(); ++i) {
    startAgain();
    const unsigned victim = chance() % 3;  // the program, the collector, both
    // From before the program's first instruction to far into its work.
    const double first_ms = (chance() % 2000) / 10.0;
    const double second_ms = (chance() % 200) / 10.0;
    SCOPED_TRACE("run " + std::to_string(i) + ", victim " + std::to_string(victim) + ", after " +
                 std::to_string(first_ms) + " ms and " + std::to_string(second_ms) + " ms");
    const pid_t driver_pid = spawn(driver({}, flood(kThreads, victim == 1 ? 1000 : 0, "0")));
    sleepMs(first_ms);
    if (victim == 0) {
      while (pid() == 0) sleepMs(0.2);
      kill(static_cast<pid_t>(pid()), SIGKILL);
    } else {
      kill(driver_pid, SIGKILL);
    }
    if (victim == 2 && pid() != 0) {
      sleepMs(second_ms);
      kill(static_cast<pid_t>(pid()), SIGKILL);
    }
    EXPECT_FALSE(waitFor(driver_pid).timed_out);
    // The collector may have died before, or while, it started the program.
    for (int wait = 0; pid() == 0 && wait < 100; ++wait) sleepMs(2);
    if (victim == 2 && pid() != 0) kill(static_cast<pid_t>(pid()), SIGKILL);
    if (pid() != 0) awaitEnd();
    if (std::filesystem::exists(path("out.sbt.session"))) recover();
    if (launched() == 0) continue;
    ++with_work;
    expectAllLaunches(load(path("out.sbt")), kThreads);
  }
  std::printf("%d kills, %d of them while kernels were launched\n", runs, with_work);
}

TEST_F(SurvivalTest, ASessionThatWasKilledBeforeItBeganIsClearedAway) {
  std::filesystem::create_directory(path("out.sbt.session"));
  recover();
  std::filesystem::create_directory(path("out.sbt.session"));
  std::ofstream(path("out.sbt.session/session.txt.new")) << "outp";
  recover();
  EXPECT_FALSE(std::filesystem::exists(path("out.sbt")));
  // But what is somebody's stays.
  std::filesystem::create_directory(path("out.sbt.session"));
  std::ofstream(path("out.sbt.session/thesis.txt")) << "x";
  EXPECT_NE(run({helper("profile_driver"), "recover", path("out.sbt.session"), path("recovered")})
                .exit_code,
            0);
  EXPECT_TRUE(std::filesystem::exists(path("out.sbt.session/thesis.txt")));
}

struct End {
  const char* how;
  int exit_code;  // as profile gives it
};

class EndTest : public SurvivalTest, public ::testing::WithParamInterface<End> {};

TEST_P(EndTest, KeepsEveryLaunchAndTheProgramsOwnEnd) {
  const Ended ended = run(driver({}, flood(1, 500, GetParam().how)));
  EXPECT_EQ(ended.exit_code, GetParam().exit_code);
  const Recording recording = load(path("out.sbt"));
  EXPECT_EQ(launched(), 500u);
  EXPECT_EQ(launchCalls(recording.trace), 500u);
  EXPECT_TRUE(recording.complete);
  expectNoDuplicates(recording.trace);
  expectLossesAddUp(recording.trace);
  EXPECT_THAT(filesLeft(), ElementsAre("counts", "out.sbt", "report"));
}

INSTANTIATE_TEST_SUITE_P(, EndTest,
                         ::testing::Values(End{"segv", 128 + SIGSEGV}, End{"abort", 128 + SIGABRT},
                                           End{"_exit", 11}, End{"quick_exit", 12}, End{"exit", 13},
                                           End{"42", 42}),
                         [](const auto& each) {
                           const std::string how = each.param.how;
                           return how == "42" ? "Return" : how == "_exit" ? "ImmediateExit" : how;
                         });

}  // namespace
}  // namespace tracesmith
