// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/agentless_processes.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>

namespace tracesmith {
namespace {

constexpr const char* kProgram = "55d0-55d1 r-xp 00000000 08:01 7 /usr/bin/a program\n";
constexpr const char* kLoader = "7f00-7f01 r-xp 00000000 08:01 8 /usr/lib/libOpenCL.so.1.0.0\n";
constexpr const char* kDriver = "7f02-7f03 r-xp 00000000 08:01 9 /usr/lib/libpocl.so.2.10.0\n";
constexpr const char* kArena =
    "7f04-7f05 rw-s 00000000 08:01 10 /tmp/out.sbt.session/7.1.0.arena\n";
const std::string kSession = "/tmp/out.sbt.session";

std::string gpuDriver(const std::string& maps) { return gpuDriverIn(maps, kSession).name(); }

TEST(AgentlessProcesses, AreThoseThatLoadedADriverAndHaveNoFileOfTheSession) {
  EXPECT_EQ(gpuDriver(""), "");
  EXPECT_EQ(gpuDriver(std::string(kProgram) + kLoader), "") << "linked, but not used";
  EXPECT_EQ(gpuDriver(std::string(kProgram) + kLoader + kDriver), "libpocl.so.2.10.0");
  EXPECT_EQ(gpuDriver(std::string(kDriver) + kArena), "");
  EXPECT_EQ(gpuDriver(std::string(kArena) + kDriver), "");
  EXPECT_EQ(gpuDriver("7f02-7f03 r-xp 0 08:01 9 /usr/lib/libcuda.so.550.1"), "libcuda.so.550.1")
      << "a last line without its end";
}

TEST(AgentlessProcesses, AreExplainedByTheirLoader) {
  const auto why = [](const std::string& maps) {
    return whyAgentless(gpuDriverIn(maps, kSession), kSession);
  };
  const std::string old = testing::TempDir() + "libOpenCL_of_a_test.so.1";
  std::ofstream(old) << "no layers here";
  EXPECT_NE(why("7f00-7f01 r-xp 0 08:01 8 " + old + "\n" + kDriver).find("--inject preload"),
            std::string::npos);
  std::ofstream(old) << "OPENCL_LAYERS";
  EXPECT_NE(why("7f00-7f01 r-xp 0 08:01 8 " + old + "\n" + kDriver).find("could not reach"),
            std::string::npos);
  std::remove(old.c_str());
  EXPECT_NE(
      why("7f00-7f01 r-xp 0 08:01 8 /usr/lib/oclgrind/liboclgrind-rt.so\n").find("OCL_ICD_VENDORS"),
      std::string::npos);
}

TEST(AgentlessProcesses, AreNotLookedForAmongProcessesThatAreGone) {
  AgentlessProcesses agentless(kSession);
  const std::vector<AgentlessProcesses::Key> running = {{4'000'000'000u, 1}};
  for (int64_t now = 0; now < 1'000'000'000; now += 100'000'000) agentless.inspect(running, now);
  EXPECT_TRUE(agentless.found().empty());
}

/// read() of /proc/PID/maps fails with ESRCH if the process ends after the file was opened.
TEST(AgentlessProcesses, MayEndWhileTheyAreInspected) {
  AgentlessProcesses agentless(kSession);
  int64_t now = 0;
  for (uint64_t life = 1; life <= 100; ++life) {
    const pid_t pid = fork();
    if (pid == 0) {
      usleep(300);
      _exit(0);
    }
    std::atomic<bool> gone{false};
    std::thread reaper([&] {
      waitpid(pid, nullptr, 0);
      gone = true;
    });
    while (!gone) {
      now += 60'000'000'000;  // due again
      EXPECT_NO_THROW(agentless.inspect({{static_cast<uint32_t>(pid), life}}, now));
    }
    reaper.join();
  }
  EXPECT_TRUE(agentless.found().empty());
}

}  // namespace
}  // namespace tracesmith
