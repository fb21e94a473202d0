// SPDX-License-Identifier: Apache-2.0
// Real processes under every combination of witnesses.
#include "tracesmith/capture/processes/process_tracker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/linux/clock_identity.hpp"

namespace tracesmith {
namespace {

using process_flags::kForkedChild;
using process_flags::kSignalled;
using process_flags::kStillRunning;
using process_flags::kUnobserved;
using ::testing::EndsWith;
using ::testing::HasSubstr;

enum class Mode { kBoth, kConnector, kPreload };

std::string nameOf(const ::testing::TestParamInfo<Mode>& info) {
  return info.param == Mode::kBoth        ? "Both"
         : info.param == Mode::kConnector ? "Connector"
                                          : "Preload";
}

class ProcessTrackerTest : public ::testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    library_ = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
               "../lib/tracesmith/libtracesmith-process.so";
    if (preload() && !std::filesystem::exists(library_))
      GTEST_SKIP() << library_ << " is not built";
    char name[] = "/tmp/tracesmith_tracker_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    ProcessTrackerOptions options;
    options.use_connector = events();
    options.environment_marker = "TRACESMITH_TEST_MARK";
    if (preload()) options.log_path = directory_ + "/log";
    auto tracker = ProcessTracker::start(options);
    ASSERT_TRUE(tracker) << tracker.error().toString();
    tracker_ = std::move(*tracker);
    if (events() && !tracker_->hasConnector()) GTEST_SKIP() << tracker_->connectorProblem();
  }
  void TearDown() override {
    tracker_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  bool events() const { return GetParam() != Mode::kPreload; }
  bool preload() const { return GetParam() != Mode::kConnector; }

  /// Runs `script` with bash to its end and returns its wait status.
  int run(const std::string& script, bool tell_exit = true) {
    start({"/bin/bash", "--norc", "-c", script});
    int status = 0;
    for (;;) {
      EXPECT_TRUE(tracker_->poll(monotonicNs()));
      if (::waitpid(root_, &status, WNOHANG) == root_) break;
      ::usleep(2000);
    }
    if (tell_exit)
      tracker_->noteRootExit(WEXITSTATUS(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                             monotonicNs());
    processes_ = tracker_->processes(monotonicNs());
    return status;
  }
  void start(std::vector<std::string> command) {
    before_ns_ = monotonicNs();
    root_ = ::fork();
    if (root_ == 0) {
      ::setenv("TRACESMITH_TEST_MARK", "1", 1);
      if (preload()) {
        ::setenv("LD_PRELOAD", library_.c_str(), 1);
        ::setenv("TRACESMITH_PROCESS_LOG", (directory_ + "/log").c_str(), 1);
      }
      std::vector<char*> arguments;
      for (auto& word : command) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    tracker_->setRoot(static_cast<uint32_t>(root_), "the root");
  }
  std::vector<ProcessRecord> withCommand(const std::string& part) const {
    std::vector<ProcessRecord> found;
    for (const auto& p : processes_)
      if (p.facts.command_line.find(part) != std::string::npos) found.push_back(p);
    return found;
  }
  /// The only process (besides the root) whose command line is `command`.
  ProcessRecord one(const std::string& command) const {
    std::vector<ProcessRecord> found;
    for (const auto& p : processes_)
      if (p.facts.command_line == command) found.push_back(p);
    EXPECT_EQ(found.size(), 1u) << command << "\n" << dump();
    return found.empty() ? ProcessRecord{} : found[0];
  }
  const ProcessRecord& root() const { return processes_.front(); }
  std::string dump() const {
    std::string text;
    for (const auto& p : processes_)
      text += std::to_string(p.facts.pid) + " < " + std::to_string(p.facts.ppid) + " flags " +
              std::to_string(p.flags) + " exit " + std::to_string(p.exit_code) + " [" + p.seen_by +
              "] " + p.facts.command_line + "\n";
    return text;
  }

  std::filesystem::path library_;
  std::string directory_;
  std::unique_ptr<ProcessTracker> tracker_;
  pid_t root_ = 0;
  int64_t before_ns_ = 0;
  std::vector<ProcessRecord> processes_;
};

INSTANTIATE_TEST_SUITE_P(, ProcessTrackerTest,
                         ::testing::Values(Mode::kBoth, Mode::kConnector, Mode::kPreload), nameOf);

TEST_P(ProcessTrackerTest, EveryPartOfAPipelineIsThereWithItsParent) {
  EXPECT_EQ(WEXITSTATUS(run("sleep 0.05 | (sleep 0.06; exit 2) | sleep 0.07; exit 3")), 3);
  ASSERT_EQ(processes_.size(), 5u) << dump();
  EXPECT_EQ(root().facts.pid, static_cast<uint32_t>(root_));
  EXPECT_EQ(root().facts.ppid, static_cast<uint32_t>(::getpid()));
  EXPECT_TRUE(root().flags & process_flags::kRoot);
  EXPECT_EQ(root().exit_code, 3);
  EXPECT_THAT(root().facts.command_line, HasSubstr("bash --norc -c"));
  EXPECT_EQ(one("sleep 0.05").facts.ppid, root().facts.pid);
  EXPECT_EQ(one("sleep 0.07").facts.ppid, root().facts.pid);
  EXPECT_NE(one("sleep 0.06").facts.ppid, root().facts.pid);
  EXPECT_THAT(one("sleep 0.06").facts.executable, EndsWith("/sleep"));
  for (const auto& p : processes_) {
    EXPECT_GE(p.start_ns, before_ns_ - 10'000'000);  // a tick, if the kernel reports no start
    EXPECT_GE(p.end_ns, p.start_ns);
    EXPECT_LE(p.end_ns, monotonicNs());
    EXPECT_FALSE(p.flags & (kStillRunning | kUnobserved)) << dump();
    EXPECT_EQ(p.facts.boot_id, bootId());
    EXPECT_TRUE(p.start_ticks_exact || p.flags & kForkedChild);
  }
}

TEST_P(ProcessTrackerTest, TwoHundredShortLivedProgramsAreAllThere) {
  run("for ((i = 0; i < 200; ++i)); do /bin/true $i; done; :");
  ASSERT_EQ(processes_.size(), 201u);
  std::map<std::string, int> seen;
  for (const auto& p : processes_) {
    ++seen[p.facts.command_line];
    EXPECT_EQ(p.exit_code, 0);
    EXPECT_NE(p.end_ns, 0);
  }
  size_t named = 0;
  for (int i = 0; i < 200; ++i) named += seen.count("/bin/true " + std::to_string(i));
  if (preload())
    EXPECT_EQ(named, 200u);
  else
    RecordProperty("named_by_proc_alone", static_cast<int>(named));
  EXPECT_EQ(tracker_->losses().damaged_records, 0u);
}

TEST_P(ProcessTrackerTest, AForkThatNeverExecsKeepsItsParentsCommand) {
  run("(sleep 0; (exit 7); :); exit 0");
  const auto forks = [&] {
    std::vector<ProcessRecord> found;
    for (const auto& p : processes_)
      if (p.flags & kForkedChild) found.push_back(p);
    return found;
  }();
  ASSERT_EQ(forks.size(), 2u) << dump();
  EXPECT_EQ(forks[0].facts.command_line, root().facts.command_line);
  EXPECT_EQ(forks[1].facts.ppid, forks[0].facts.pid);
  EXPECT_EQ(forks[1].exit_code, 7);
}

TEST_P(ProcessTrackerTest, AChainOfExecsIsOneProcessWithItsLastCommand) {
  run("bash -c 'exec env sleep 0.05'; :");
  ASSERT_EQ(processes_.size(), 2u) << dump();
  EXPECT_EQ(one("sleep 0.05").facts.ppid, root().facts.pid);
  EXPECT_FALSE(one("sleep 0.05").flags & kUnobserved);
}

TEST_P(ProcessTrackerTest, ExitCodesAndSignalsAreTold) {
  // Each lives long enough for its command line to be read.
  run("bash -c 'sleep 0.1; kill -9 $$'; bash -c 'sleep 0.1; kill -SEGV $$'; "
      "bash -c 'sleep 0.1; exit 42'; kill -TERM $$");
  EXPECT_TRUE(root().flags & kSignalled);
  EXPECT_EQ(root().exit_code, SIGTERM);
  EXPECT_EQ(one("bash -c 'sleep 0.1; exit 42'").exit_code, 42);
  const ProcessRecord killed = one("bash -c 'sleep 0.1; kill -9 $$'");
  if (events()) {
    EXPECT_TRUE(killed.flags & kSignalled);
    EXPECT_EQ(killed.exit_code, SIGKILL);
    EXPECT_EQ(one("bash -c 'sleep 0.1; kill -SEGV $$'").exit_code, SIGSEGV);
  } else {
    EXPECT_EQ(killed.exit_code, kExitCodeUnknown);  // nobody reports it
    EXPECT_FALSE(killed.flags & kSignalled);
  }
  EXPECT_NE(killed.end_ns, 0);
}

TEST_P(ProcessTrackerTest, TheRootsEndIsKnownWithoutTheLauncherWhereTheKernelTells) {
  run("exit 9", false);
  EXPECT_EQ(root().exit_code, 9) << dump();
  EXPECT_FALSE(root().flags & kStillRunning);
}

TEST_P(ProcessTrackerTest, AScrubbedEnvironmentIsUnobserved) {
  run("env -i /bin/sleep 0.8; env -u LD_PRELOAD /bin/sleep 0.01; :");
  EXPECT_TRUE(one("/bin/sleep 0.8").flags & kUnobserved) << dump();
  EXPECT_EQ(one("/bin/sleep 0.8").facts.ppid, root().facts.pid);
  EXPECT_FALSE(root().flags & kUnobserved);
}

TEST_P(ProcessTrackerTest, AStaticProgramIsThereAndUnobserved) {
  const std::string source = directory_ + "/s.c", program = directory_ + "/static";
  std::ofstream(source) << "#include <unistd.h>\nint main(void) { usleep(800000); return 6; }\n";
  const std::string build = "cc -static -o " + program + " " + source + " 2>/dev/null";
  if (::system(build.c_str()) != 0) GTEST_SKIP() << "no static C library here";
  run(program + " with arguments; :");
  const ProcessRecord p = one(program + " with arguments");
  EXPECT_TRUE(p.flags & kUnobserved) << dump();
  EXPECT_EQ(p.exit_code, events() ? 6 : kExitCodeUnknown);
  EXPECT_FALSE(root().flags & kUnobserved);
}

TEST_P(ProcessTrackerTest, ProcessesThatThreadsForkAreThere) {
  const std::string source = directory_ + "/t.c", program = directory_ + "/threads";
  std::ofstream(source) << R"(
    #include <pthread.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static void* work(void* code) {
      pid_t child = fork();
      if (child == 0) exit((int)(long)code);
      waitpid(child, 0, 0);
      return 0;
    }
    int main(void) {
      pthread_t threads[8];
      for (long i = 0; i < 8; ++i) pthread_create(&threads[i], 0, work, (void*)(10 + i));
      for (int i = 0; i < 8; ++i) pthread_join(threads[i], 0);
      pthread_create(&threads[0], 0, work, (void*)30L);
      pthread_exit(0);  // the process goes on without its first thread
    })";
  if (::system(("cc -pthread -o " + program + " " + source + " 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no C compiler here";
  run(program + " x; :");
  std::vector<int64_t> codes;
  uint32_t parent = 0;
  for (const auto& p : withCommand(program + " x")) {
    if (p.facts.pid == root().facts.pid) continue;
    if (p.flags & kForkedChild)
      codes.push_back(p.exit_code);
    else
      parent = p.facts.pid;
    EXPECT_NE(p.end_ns, 0);
  }
  for (const auto& p : processes_)
    if (p.flags & kForkedChild && p.facts.pid != root().facts.pid) {
      EXPECT_EQ(p.facts.ppid, parent) << dump();
    }
  std::sort(codes.begin(), codes.end());
  EXPECT_THAT(codes, ::testing::ElementsAre(10, 11, 12, 13, 14, 15, 16, 17, 30)) << dump();
}

TEST_P(ProcessTrackerTest, AProcessThatOutlivesTheRootIsFollowedAndStillRunning) {
  run("(setsid sleep 30 </dev/null >/dev/null 2>&1 &) ; sleep 0.1");
  const ProcessRecord orphan = one("sleep 30");
  EXPECT_TRUE(orphan.flags & kStillRunning);
  EXPECT_EQ(orphan.end_ns, 0);
  EXPECT_TRUE(tracker_->isAnyAlive());
  ::kill(static_cast<pid_t>(orphan.facts.pid), SIGKILL);
  for (int i = 0; i < 500 && tracker_->isAnyAlive(); ++i) {
    ::usleep(2000);
    ASSERT_TRUE(tracker_->poll(monotonicNs()));
  }
  processes_ = tracker_->processes(monotonicNs());
  EXPECT_FALSE(tracker_->isAnyAlive()) << dump();
  EXPECT_NE(one("sleep 30").end_ns, 0);
}

TEST_P(ProcessTrackerTest, AnAgentsWordMeetsItsProcess) {
  run("sleep 0.05");
  // bash replaces itself by its last command.
  const ProcessRecord before = one("sleep 0.05");
  tracker_->noteAgent(before.facts.pid, before.facts.start_ticks);
  tracker_->noteAgent(before.facts.pid, before.facts.start_ticks + 1000);  // another process
  processes_ = tracker_->processes(monotonicNs());
  EXPECT_TRUE(one("sleep 0.05").flags & process_flags::kAgent);
  EXPECT_THAT(one("sleep 0.05").seen_by, HasSubstr("agent"));
}

TEST_P(ProcessTrackerTest, ACommandThatCanNotBeRunLeavesTheRootAlone) {
  start({"/nonexistent/program"});
  int status = 0;
  ::waitpid(root_, &status, 0);
  tracker_->noteRootExit(WEXITSTATUS(status), 0, monotonicNs());
  processes_ = tracker_->processes(monotonicNs());
  ASSERT_EQ(processes_.size(), 1u) << dump();
  EXPECT_EQ(root().exit_code, 127);
  EXPECT_EQ(root().facts.command_line, "the root");
}

TEST(ProcessTracker, SaysWhyTheKernelDoesNotTell) {
  ProcessTrackerOptions options;
  options.use_connector = false;
  auto tracker = ProcessTracker::start(options);
  ASSERT_TRUE(tracker);
  EXPECT_FALSE((*tracker)->hasConnector());
  EXPECT_EQ((*tracker)->connectorProblem(), "not requested");
  options.log_path = "/nonexistent/directory/log";
  auto failed = ProcessTracker::start(options);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().toString(), HasSubstr("/nonexistent/directory/log"));
}

TEST(ProcessTracker, FollowsOurOwnChildrenWhenWeAreTheRoot) {
  auto tracker = ProcessTracker::start({});
  ASSERT_TRUE(tracker);
  (*tracker)->setRoot(static_cast<uint32_t>(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(11);
  ::waitpid(child, nullptr, 0);
  if (!(*tracker)->hasConnector()) GTEST_SKIP() << (*tracker)->connectorProblem();
  const auto all = (*tracker)->processes(monotonicNs());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].facts.pid, static_cast<uint32_t>(::getpid()));
  EXPECT_TRUE(all[0].flags & kStillRunning);
  EXPECT_THAT(all[0].facts.command_line, HasSubstr("tests"));
  EXPECT_EQ(all[1].exit_code, 11);
}

}  // namespace
}  // namespace tracesmith
