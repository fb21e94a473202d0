// SPDX-License-Identifier: Apache-2.0
// A program notices nothing of being recorded, and whoever started us sees the program's own end.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "recording_test_util.hpp"
#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void sleepMs(int ms) {
  const timespec pause{ms / 1000, (ms % 1000) * 1'000'000};
  nanosleep(&pause, nullptr);
}

class LauncherTest : public RecordingTest {
 protected:
  Ended drive(const std::vector<std::string>& command, const SpawnOptions& options = {}) {
    return run(driver({}, command), options, 30);
  }
  Ended shell(const std::string& script, const SpawnOptions& options = {}) {
    return drive({"/bin/sh", "-c", script}, options);
  }
  /// Waits until `file` is there and not empty.
  void await(const std::string& file) const {
    const int64_t until = monotonicNs() + 20'000'000'000;
    while (readFile(path(file)).empty() && monotonicNs() < until) sleepMs(2);
    ASSERT_FALSE(readFile(path(file)).empty()) << file;
  }
};

std::set<std::string> lines(const std::string& file, char separator) {
  std::set<std::string> out;
  std::istringstream in(readFile(file));
  for (std::string line; std::getline(in, line, separator);) out.insert(line);
  return out;
}

TEST_F(LauncherTest, ExitCodesAreTheProgramsOwn) {
  for (const int code : {0, 1, 2, 3, 42, 124, 125, 126, 127, 128, 137, 254, 255}) {
    EXPECT_EQ(shell("exit " + std::to_string(code)).exit_code, code);
    EXPECT_EQ(number(readReport(path("report")), "signal"), 0u);
    EXPECT_TRUE(load(path("out.sbt")).complete);
  }
  EXPECT_THAT(filesLeft(), ElementsAre("out.sbt", "report"));
}

TEST_F(LauncherTest, ASignalThatEndsTheProgramIsToldAsAShellDoes) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGKILL, SIGTERM, SIGINT, SIGUSR1, SIGPIPE, SIGXFSZ}) {
    EXPECT_EQ(shell("ulimit -c 0; kill -" + std::to_string(signal) + " $$").exit_code,
              128 + signal);
    EXPECT_EQ(number(readReport(path("report")), "signal"), static_cast<uint64_t>(signal));
    EXPECT_TRUE(load(path("out.sbt")).complete);
  }
}

TEST_F(LauncherTest, WhatCanNotBeStartedLeavesNoFiles) {
  std::ofstream(path("data.txt")) << "no program";
  std::ofstream(path("bad_interpreter")) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(path("bad_interpreter"), std::filesystem::perms::owner_all);
  const struct {
    std::string command;
    int exit_code;
  } cases[] = {
      {"no-such-command-here", 127},  {path("nowhere"), 127},  {path("data.txt") + "/below", 127},
      {path("bad_interpreter"), 127}, {path("data.txt"), 126}, {directory(), 126}};
  for (const auto& each : cases) {
    EXPECT_EQ(drive({each.command}).exit_code, each.exit_code) << each.command;
    EXPECT_THAT(readReport(path("report"))["error"], HasSubstr(each.command));
    EXPECT_THAT(filesLeft(), ElementsAre("bad_interpreter", "data.txt", "report"));
  }
}

TEST_F(LauncherTest, StandardStreamsPassThroughByteForByte) {
  std::string every;
  for (int i = 0; i < 400'000; ++i) every += static_cast<char>(i * 31 + i / 256);
  std::ofstream(path("in"), std::ios::binary) << every;
  SpawnOptions o;
  o.input = path("in");
  o.output = path("stdout");
  o.error = path("stderr");
  EXPECT_EQ(shell("tee /dev/stderr", o).exit_code, 0);
  EXPECT_EQ(readFile(path("stdout")), every);
  EXPECT_EQ(readFile(path("stderr")), every);
}

TEST_F(LauncherTest, AClosedStandardInputStaysClosed) {
  SpawnOptions o;
  o.close_input = true;
  o.output = path("stdout");
  EXPECT_EQ(shell("if [ -e /proc/self/fd/0 ]; then echo open; else echo closed; fi", o).exit_code,
            0);
  const std::string watched = readFile(path("stdout"));
  ASSERT_EQ(
      run({"/bin/sh", "-c", "if [ -e /proc/self/fd/0 ]; then echo open; else echo closed; fi"}, o)
          .exit_code,
      0);
  EXPECT_EQ(watched, readFile(path("stdout")));
  EXPECT_TRUE(load(path("out.sbt")).complete);
}

/// Where the descriptors of a program lead, as `ls -l /proc/self/fd` shows its own.
std::multiset<std::string> descriptors(const std::string& listing) {
  std::multiset<std::string> out;
  std::istringstream in(readFile(listing));
  for (std::string line; std::getline(in, line);) {
    const size_t arrow = line.find(" -> ");
    if (arrow == std::string::npos) continue;
    const std::string target = line.substr(arrow + 4);
    out.insert(target.rfind("/proc/", 0) == 0 ? "the listing itself" : target);
  }
  return out;
}

// Without a shell in between, which has descriptors and signals of its own.
TEST_F(LauncherTest, DirectoryDescriptorsAndSignalsAreWhatTheCallerHad) {
  std::filesystem::create_directory(path("below"));
  SpawnOptions o;
  o.directory = path("below");
  o.output = path("stdout");
  const std::vector<std::vector<std::string>> commands = {
      {"/bin/pwd", "-P"},
      {"/bin/grep", "-E", "^(Sig(Blk|Ign|Cgt)|Umask|NoNewPrivs|Seccomp):", "/proc/self/status"},
      {"/bin/cat", "/proc/self/limits"},
      {"/bin/ls", "-l", "/proc/self/fd"}};
  for (const auto& command : commands) {
    ASSERT_EQ(run(command, o).exit_code, 0);
    const std::string alone = readFile(path("stdout"));
    const auto alone_descriptors = descriptors(path("stdout"));
    EXPECT_EQ(drive(command, o).exit_code, 0);
    EXPECT_FALSE(alone.empty());
    if (command[0] == "/bin/ls") {
      EXPECT_GE(alone_descriptors.size(), 4u);
      EXPECT_EQ(descriptors(path("stdout")), alone_descriptors);
    } else {
      EXPECT_EQ(readFile(path("stdout")), alone);
    }
  }
}

TEST_F(LauncherTest, OnlyOurOwnVariablesAreAddedToTheEnvironment) {
  SpawnOptions o;
  o.environment = {"MARK=a b=c", "EMPTY=", "OPENCL_LAYERS=/other/layer.so"};
  o.output = path("alone");
  ASSERT_EQ(run({"/usr/bin/env", "-0"}, o).exit_code, 0);
  o.output = path("watched");
  ASSERT_EQ(drive({"/usr/bin/env", "-0"}, o).exit_code, 0);
  const auto alone = lines(path("alone"), '\0');
  const auto watched = lines(path("watched"), '\0');
  EXPECT_TRUE(watched.count("MARK=a b=c"));
  EXPECT_TRUE(watched.count("EMPTY="));
  std::vector<std::string> lost, added;
  std::set_difference(alone.begin(), alone.end(), watched.begin(), watched.end(),
                      std::back_inserter(lost));
  std::set_difference(watched.begin(), watched.end(), alone.begin(), alone.end(),
                      std::back_inserter(added));
  for (const std::string& entry : added) {
    const std::string name = entry.substr(0, entry.find('='));
    EXPECT_TRUE(name == "OPENCL_LAYERS" || name == "LD_PRELOAD" || name == "ASAN_OPTIONS" ||
                name == "CUDA_INJECTION64_PATH" || name == "NVTX_INJECTION64_PATH" ||
                name == "NCCL_PROFILER_PLUGIN" || name.rfind("TRACESMITH_", 0) == 0)
        << entry;
    if (name == "OPENCL_LAYERS") {
      EXPECT_THAT(entry, HasSubstr("=/other/layer.so:"));
    }
  }
  for (const std::string& entry : lost) {
    const std::string name = entry.substr(0, entry.find('='));
    EXPECT_TRUE(name == "OPENCL_LAYERS" || name == "LD_PRELOAD" || name == "ASAN_OPTIONS") << entry;
  }
  EXPECT_FALSE(added.empty());
}

class StopTest : public LauncherTest, public ::testing::WithParamInterface<int> {};

TEST_P(StopTest, IsPassedOnAndLeavesACompleteFile) {
  SpawnOptions o;
  o.own_group = true;
  const pid_t us = spawn(
      driver({}, {"/bin/sh", "-c",
                  "trap 'echo stopped > " + path("stopped") + "; exit 33' INT TERM HUP; echo x > " +
                      path("ready") + "; while :; do sleep 0.05; done"}),
      o);
  await("ready");
  kill(us, GetParam());
  const Ended ended = waitFor(us, 20);
  EXPECT_FALSE(ended.timed_out);
  EXPECT_EQ(ended.exit_code, 33);
  EXPECT_EQ(readFile(path("stopped")), "stopped\n");
  EXPECT_TRUE(load(path("out.sbt")).complete);
  EXPECT_THAT(filesLeft(), ElementsAre("out.sbt", "ready", "report", "stopped"));
}

INSTANTIATE_TEST_SUITE_P(, StopTest, ::testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& each) {
                           return std::string(each.param == SIGINT    ? "Interrupt"
                                              : each.param == SIGTERM ? "Terminate"
                                                                      : "HangUp");
                         });

TEST_F(LauncherTest, AnIgnoredSignalStaysIgnoredForBoth) {
  const pid_t us = fork();
  if (us == 0) {
    signal(SIGHUP, SIG_IGN);
    const auto words =
        driver({}, {"/bin/sh", "-c", "echo x > " + path("ready") + "; sleep 0.5; exit 5"});
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(97);
  }
  await("ready");
  kill(us, SIGHUP);
  EXPECT_EQ(waitFor(us, 20).exit_code, 5);
  EXPECT_TRUE(load(path("out.sbt")).complete);
}

// From before the session is made until after the program runs.
TEST_F(LauncherTest, AnInterruptAtAnyMomentLeavesNoSessionAndNoProgram) {
  for (int delay_us = 0; delay_us < 60'000; delay_us += 1'500) {
    SCOPED_TRACE(std::to_string(delay_us) + " us");
    std::error_code ec;
    std::filesystem::remove(path("pid"), ec);
    std::filesystem::remove(path("out.sbt"), ec);
    const pid_t us =
        spawn(driver({}, {"/bin/sh", "-c", "echo $$ > " + path("pid") + "; exec sleep 30"}));
    usleep(static_cast<useconds_t>(delay_us));
    kill(us, SIGINT);
    const Ended ended = waitFor(us, 20);
    ASSERT_FALSE(ended.timed_out);
    EXPECT_FALSE(std::filesystem::exists(path("out.sbt.session")));
    if (std::filesystem::exists(path("out.sbt"))) {
      EXPECT_TRUE(load(path("out.sbt")).complete);
    }
    const std::string pid = readFile(path("pid"));
    if (!pid.empty()) {
      EXPECT_NE(kill(std::atoi(pid.c_str()), 0), 0) << "the program runs on";
    }
  }
}

TEST_F(LauncherTest, NoZombieIsLeftWhileWeWaitForDescendants) {
  SpawnOptions o;
  o.output = path("stdout");
  EXPECT_EQ(shell("(exit 3) & (exit 4) & wait; exit 0", o).exit_code, 0);
  // Through the library itself: nothing of ours remains to be waited for.
  const Recording r = record({"/bin/sh", "-c", "exit 7"});
  EXPECT_EQ(r.outcome.exit_code, 7);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace tracesmith
