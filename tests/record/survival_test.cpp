// SPDX-License-Identifier: Apache-2.0
// What was recorded survives the death of either side, and the program survives ours.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "recording_test_util.hpp"
#include "stream.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/agent_files/channel_file.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/protocol/channel_layout.hpp"

namespace tracesmith {
namespace {

using namespace recording;  // NOLINT: their words are ours here
using test::Stream;
using ::testing::HasSubstr;

class RecordSurvivalTest : public RecordingTest {
 protected:
  std::vector<std::string> profile(const std::vector<std::string>& options,
                                   const std::vector<std::string>& command) const {
    std::vector<std::string> out = {helper("tracesmith"), "profile", "--record", "-o",
                                    path("out.sbt")};
    out.insert(out.end(), options.begin(), options.end());
    out.emplace_back("--");
    out.insert(out.end(), command.begin(), command.end());
    return out;
  }
  std::vector<Stream> streams(bool complete = true) {
    auto reader = RecordingReader::open(path("out.sbr"));
    EXPECT_TRUE(reader) << reader.error().toString();
    if (!reader) return {};
    EXPECT_EQ(reader->complete(), complete);
    return test::streamsOf(*reader);
  }
  static std::vector<std::string> filesIn(const std::string& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  /// The launches that the process has counted in its channel.
  uint64_t launchesOf(uint32_t program) const {
    const std::string session = path("out.sbt.session");
    for (const std::string& name : filesIn(session)) {
      if (!name.ends_with(channel::kSuffix)) continue;
      const auto file = ChannelFile::open(session + "/" + name);
      if (file && file->header().pid == program) return file->header().launches.load();
    }
    return 0;
  }
  /// The first process that has made so many launches; 0: none does.
  uint32_t awaitLaunches(uint64_t least) const {
    for (int i = 0; i < 12'000; ++i, usleep(5000)) {
      const std::string session = path("out.sbt.session");
      for (const std::string& name : filesIn(session)) {
        if (!name.ends_with(channel::kSuffix)) continue;
        const auto program = static_cast<uint32_t>(std::strtoul(name.c_str(), nullptr, 10));
        if (launchesOf(program) >= least) return program;
      }
    }
    return 0;
  }
  static uint32_t childOf(pid_t pid) {
    for (int i = 0; i < 500; ++i) {
      for (const ListedProcess& p : listProcesses()) {
        if (p.stat.parent_pid == static_cast<uint32_t>(pid)) return p.pid;
      }
      usleep(2000);
    }
    return 0;
  }
  static void waitUntilGone(uint32_t pid) {
    for (int i = 0; i < 3000 && readProcessStat(pid); ++i) usleep(10'000);
    EXPECT_FALSE(readProcessStat(pid));
  }
};

TEST_F(RecordSurvivalTest, AProgramThatIsKilledLosesNothingThatItHadRecorded) {
  std::mt19937 random(1);
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = spawn(profile({"-q"}, {helper("launch_heavy"), "200000"}));
    const uint32_t program = awaitLaunches(1);
    ASSERT_NE(program, 0u) << "it never launched anything";
    usleep(random() % 500'000);
    const uint64_t launched = launchesOf(program);
    kill(static_cast<pid_t>(program), SIGKILL);
    EXPECT_EQ(waitFor(pid).signal, SIGKILL);
    const auto all = streams();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_THAT(all[0].end_reason, HasSubstr("signal 9"));
    // One may have been counted that had not returned.
    EXPECT_GE(all[0].count(CommandKind::kLaunch) + 1, launched);
  }
}

/// Calls that the program says it has made.
uint64_t callsSaid(const std::string& output) { return number(readReport(output), "launches"); }

TEST_F(RecordSurvivalTest, AHandlerThatJumpsOutOfACallCostsThatCallAlone) {
  for (const char* injection : {"layer", "preload"}) {
    SpawnOptions o;
    o.output = path("said");
    ASSERT_EQ(
        run(profile({"-q", "--inject", injection}, {helper("cl_shapes"), "jumps", "20000"}), o)
            .exit_code,
        0);
    const auto all = streams();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].end_reason, "") << injection;
    const uint64_t said = callsSaid(path("said"));
    EXPECT_GT(said, 20'000u);
    // A jump may come before the program has counted its call, or before ours is written.
    EXPECT_GE(all[0].count(CommandKind::kLaunch) + 300, said) << injection;
    EXPECT_LE(all[0].count(CommandKind::kLaunch), said + 300) << injection;
    // What was left is named.
    EXPECT_GT(all[0].count(CommandKind::kUnsupported), 0u) << injection;
    EXPECT_LE(all[0].count(CommandKind::kUnsupported), 300u) << injection;
  }
}

TEST_F(RecordSurvivalTest, AThreadThatJumpedAwayAndEndedHoldsUpNobody) {
  SpawnOptions o;
  o.output = path("said");
  // Each of the forty calls would wait for half a second.
  const int64_t began = monotonicNs();
  ASSERT_EQ(run(profile({"-q"}, {helper("cl_shapes"), "jumps_away", "40"}), o).exit_code, 0);
  EXPECT_LT(monotonicNs() - began, 10'000'000'000);
  const auto all = streams();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].end_reason, "");
  EXPECT_GE(all[0].count(CommandKind::kLaunch) + 4, callsSaid(path("said")));
}

TEST_F(RecordSurvivalTest, WhenTheCollectorIsKilledTheProgramRunsOnAndRecoverFinishesTheRecording) {
  std::mt19937 random(2);
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = spawn(profile({"-q"}, {helper("launch_heavy"), "3000"}));
    const uint32_t program = childOf(pid);
    usleep(100'000 + random() % 500'000);
    kill(pid, SIGKILL);
    waitFor(pid);
    waitUntilGone(program);
    EXPECT_EQ(run({helper("tracesmith"), "recover", path("out.sbt.session")}).exit_code, 0);
    const auto all = streams();
    ASSERT_EQ(all.size(), 1u);
    // The ring has room for all of it: nothing is missing.
    EXPECT_EQ(all[0].count(CommandKind::kLaunch), 3000u);
    EXPECT_EQ(all[0].end_reason, "");
    EXPECT_NE(access(path("out.sbt.session").c_str(), F_OK), 0);
  }
}

TEST_F(RecordSurvivalTest, WithoutACollectorAFullRingEndsTheRecordingAndNotTheProgram) {
  const pid_t pid = spawn(profile({"-q", "--record-buffer", "8M"}, {helper("cl_upload"), "20000"}));
  const uint32_t program = childOf(pid);
  usleep(700'000);
  kill(pid, SIGKILL);
  waitFor(pid);
  // It waits for a collector for some seconds, and then goes on by itself.
  usleep(6'500'000);
  EXPECT_TRUE(readProcessStat(program));
  kill(static_cast<pid_t>(program), SIGKILL);
  waitUntilGone(program);
  EXPECT_EQ(run({helper("tracesmith"), "recover", path("out.sbt.session")}).exit_code, 0);
  const auto all = streams();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(all[0].end_reason, HasSubstr("nobody reads"));
}

TEST_F(RecordSurvivalTest, RecoverFinishesARecordingOfWhichNoChannelIsLeft) {
  const std::string program = helper("launch_heavy");
  const pid_t pid = spawn(profile({"-q"}, {"/bin/sh", "-c", program + " 50; exec sleep 60"}));
  const std::string session = path("out.sbt.session");
  const auto channels = [&] {
    const std::vector<std::string> names = filesIn(session);
    return std::count_if(names.begin(), names.end(),
                         [](const std::string& name) { return name.ends_with(channel::kSuffix); });
  };
  for (int i = 0; i < 2000 && channels() == 0; ++i) usleep(5000);
  for (int i = 0; i < 2000 && channels() != 0; ++i) usleep(5000);
  ASSERT_EQ(channels(), 0);
  const uint32_t shell = childOf(pid);
  kill(pid, SIGKILL);
  waitFor(pid);
  kill(static_cast<pid_t>(shell), SIGKILL);
  waitUntilGone(shell);
  EXPECT_EQ(run({helper("tracesmith"), "recover", session}).exit_code, 0);
  const auto all = streams();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].count(CommandKind::kLaunch), 50u);
}

TEST_F(RecordSurvivalTest, AThreadThatIsCancelledWhileItWaitsTakesNoLockWithIt) {
  SpawnOptions options;
  options.output = path("said");
  const pid_t pid =
      spawn(profile({"-q", "--record-buffer", "8M"}, {helper("cl_hazards"), "cancelled"}), options);
  const uint32_t program = childOf(pid);
  usleep(1'000'000);
  kill(pid, SIGKILL);  // nobody makes room in the ring any more
  waitFor(pid);
  for (int i = 0; i < 2500 && readProcessStat(program); ++i) usleep(10'000);
  EXPECT_EQ(readFile(path("said")), "ok\n");
  kill(static_cast<pid_t>(program), SIGKILL);
}

TEST_F(RecordSurvivalTest, AFullDiskEndsTheRecordingAndLeavesWhatIsThereReadable) {
  SpawnOptions options;
  options.largest_file = 40u << 20;
  options.error = path("error");
  EXPECT_EQ(
      run(profile({"--record-buffer", "8M"}, {helper("cl_upload"), "256"}), options).exit_code, 0);
  EXPECT_THAT(readFile(path("error")), HasSubstr("recording is not complete"));
  auto reader = RecordingReader::open(path("out.sbr"));
  ASSERT_TRUE(reader) << reader.error().toString();
  EXPECT_TRUE(reader->losses().empty());
  EXPECT_GT(reader->contentBytes(), 8u << 20);
}

TEST_F(RecordSurvivalTest, EveryProcessHasAStreamOfItsOwn) {
  const std::string program = helper("launch_heavy");
  ASSERT_EQ(
      run(profile({}, {"/bin/sh", "-c", program + " 50 & " + program + " 70; wait"})).exit_code, 0);
  const auto all = streams();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].count(CommandKind::kLaunch) + all[1].count(CommandKind::kLaunch), 120u);
  EXPECT_NE(all[0].process.pid, all[1].process.pid);
}

TEST_F(RecordSurvivalTest, ASmallRingMakesTheProgramWaitAndLosesNothing) {
  SpawnOptions options;
  options.error = path("said");
  ASSERT_EQ(
      run(profile({"--record-buffer", "8M"}, {helper("cl_upload"), "512"}), options).exit_code, 0);
  const auto all = streams();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].count(CommandKind::kWrite), 16u);
  EXPECT_THAT(readFile(path("said")), HasSubstr("the program waited"));
}

}  // namespace
}  // namespace tracesmith
