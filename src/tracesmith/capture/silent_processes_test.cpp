// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/silent_processes.hpp"

#include <gtest/gtest.h>

namespace tracesmith {
namespace {

constexpr const char* kProgram = "55d0-55d1 r-xp 00000000 08:01 7 /usr/bin/a program\n";
constexpr const char* kLoader = "7f00-7f01 r-xp 00000000 08:01 8 /usr/lib/libOpenCL.so.1.0.0\n";
constexpr const char* kDriver = "7f02-7f03 r-xp 00000000 08:01 9 /usr/lib/libpocl.so.2.10.0\n";
constexpr const char* kArena =
    "7f04-7f05 rw-s 00000000 08:01 10 /tmp/out.sbt.session/7.1.0.arena\n";
const std::string kSession = "/tmp/out.sbt.session";

TEST(SilentProcesses, AreThoseThatLoadedADriverAndHaveNoFileOfTheSession) {
  EXPECT_EQ(gpuDriverIn("", kSession), "");
  EXPECT_EQ(gpuDriverIn(std::string(kProgram) + kLoader, kSession), "") << "linked, but not used";
  EXPECT_EQ(gpuDriverIn(std::string(kProgram) + kLoader + kDriver, kSession), "libpocl.so.2.10.0");
  EXPECT_EQ(gpuDriverIn(std::string(kDriver) + kArena, kSession), "");
  EXPECT_EQ(gpuDriverIn(std::string(kArena) + kDriver, kSession), "");
  EXPECT_EQ(gpuDriverIn("7f02-7f03 r-xp 0 08:01 9 /usr/lib/libcuda.so.550.1", kSession),
            "libcuda.so.550.1")
      << "a last line without its end";
}

TEST(SilentProcesses, AreNotLookedForAmongProcessesThatAreGone) {
  SilentProcesses silent(kSession);
  const std::vector<SilentProcesses::Key> running = {{4'000'000'000u, 1}};
  for (int64_t now = 0; now < 1'000'000'000; now += 100'000'000) silent.look(running, now);
  EXPECT_TRUE(silent.found().empty());
}

}  // namespace
}  // namespace tracesmith
