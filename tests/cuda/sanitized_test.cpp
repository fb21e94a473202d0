// SPDX-License-Identifier: Apache-2.0
// The CUDA agent, the stand-ins, their programs and the collector with a sanitizer in all of them.
// What a sanitizer says of a program that is profiled lies in a file afterwards, and is a failure;
// what it says of the collector ends the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/capture/launch/agent_environment.hpp"
#include "tracesmith/capture/launch/armed_process.hpp"
#include "tracesmith/capture/launch/attach_session.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

using ::testing::IsEmpty;

class CudaSanitized : public ::testing::Test {
 protected:
  CudaSanitized() {
    setenv("LD_LIBRARY_PATH", STANDIN_FOLDER, 1);
    // All agents as they are, but that of CUDA.
    const auto agents = dir_.folder() / "agents";
    std::filesystem::create_directory(agents);
    std::filesystem::create_symlink(AGENT_FOLDER "/libtracesmith-process.so",
                                    agents / "libtracesmith-process.so");
    std::filesystem::create_symlink(STANDIN_FOLDER "/libtracesmith-cuda.so",
                                    agents / "libtracesmith-cuda.so");
    setenv("TRACESMITH_AGENT_DIR", agents.c_str(), 1);
    // The library that is preloaded to see processes comes before the sanitizer's; and the stand-in
    // tells by their places on the stack which call is made in which.
    const std::string log = "log_path=" + dir_.path("report");
    const std::string asan =
        log + ":verify_asan_link_order=0:detect_leaks=0:detect_stack_use_after_return=0";
    setenv("ASAN_OPTIONS", asan.c_str(), 1);
    setenv("UBSAN_OPTIONS", (log + ":print_stacktrace=1").c_str(), 1);
    setenv("TSAN_OPTIONS", log.c_str(), 1);
    options_.output = dir_.path("t.sbt");
    options_.platform = PlatformType::CUDA;
    options_.nccl = NcclEvents::kNone;
  }
  ~CudaSanitized() override { unsetenv("STANDIN_SCRIPT"); }

  void script(const char* text) { setenv("STANDIN_SCRIPT", text, 1); }

  /// Profiles a stand-in program; what it says of its work is what said() knows.
  void profile(const std::string& arguments, int code = 0,
               const char* program = "standin_program") {
    command(arguments, program);
    const auto outcome = runProfile(options_);
    ASSERT_TRUE(outcome) << outcome.error().toString();
    EXPECT_TRUE(outcome->trace_status) << outcome->trace_status.error().toString();
    EXPECT_EQ(outcome->exit_code, code);
    outcome_ = *outcome;
    load();
  }

  void command(const std::string& arguments, const char* program) {
    options_.command = {"/bin/sh", "-c",
                        std::string("exec " STANDIN_FOLDER "/") + program + " " + arguments + " >" +
                            dir_.path("said")};
  }

  void load() {
    said_ = test::contentsOf(dir_.path("said"));
    auto reader = TraceReader::open(options_.output);
    ASSERT_TRUE(reader) << reader.error().toString();
    auto trace = reader->read();
    ASSERT_TRUE(trace) << trace.error().toString();
    EXPECT_TRUE(reader->complete());
    trace_ = std::move(*trace);
    for (const auto& entry : std::filesystem::directory_iterator(dir_.folder())) {
      if (entry.path().filename().string().starts_with("report")) {
        ADD_FAILURE() << test::contentsOf(entry.path().string());
      }
    }
  }

  uint64_t said(const std::string& name) const {
    const size_t at = said_.find("\"" + name + "\": ");
    if (at == std::string::npos) return 0;
    return std::strtoull(said_.c_str() + at + name.size() + 4, nullptr, 10);
  }

  uint64_t launches() const {
    const auto& kinds = trace_.host_call.kind;
    return static_cast<uint64_t>(std::count(kinds.begin(), kinds.end(), CallKind::kLaunch));
  }

  uint64_t dropped() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < trace_.loss.size(); ++i) {
      const LossRow row = trace_.loss.row(i);
      const std::string_view source = trace_.text(row.source);
      if (source != "process events") sum += row.dropped;
    }
    return sum;
  }

  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const StringId name : trace_.kernel.name) all.emplace(trace_.text(name));
    return all;
  }

  void expectAllIsThere() {
    EXPECT_EQ(trace_.kernel.size(), said("kernels") + said("graph_kernels"));
    EXPECT_EQ(trace_.fill.size(), said("fills") + said("graph_fills"));
    EXPECT_EQ(dropped(), 0u);
  }
  /// What has no kernel is counted, and none is there twice.
  void expectEachLaunchIsAccountedFor(uint64_t launched) {
    EXPECT_EQ(trace_.kernel.size() + dropped(), launched);
    const auto& ids = trace_.kernel.correlation_id;
    EXPECT_EQ(std::set<uint64_t>(ids.begin(), ids.end()).size(), trace_.kernel.size());
  }

  test::TempFolder dir_;
  ProfileOptions options_;
  ProfileOutcome outcome_;
  std::string said_;
  Trace trace_;
};

TEST_F(CudaSanitized, Launches) {
  script("correlation_start=4294967200");
  options_.stacks.emplace();
  profile("launches 300 3");
  expectAllIsThere();
  EXPECT_EQ(launches(), said("kernels") + said("failed_launches"));
}

TEST_F(CudaSanitized, ThreadsWithSmallRings) {
  options_.ring_bytes = 64u << 10;
  profile("threads 8 1000");
  expectAllIsThere();
}

TEST_F(CudaSanitized, ThreadsThatComeAndGo) {
  options_.ring_bytes = 64u << 10;
  options_.stacks.emplace();
  profile("many_threads 100");
  expectAllIsThere();
}

TEST_F(CudaSanitized, FullRingsThatDrop) {
  options_.ring_bytes = 64u << 10;
  options_.overflow = OverflowPolicy::DropNewest;
  profile("threads 4 3000");
  EXPECT_LE(trace_.kernel.size(), said("kernels"));
}

TEST_F(CudaSanitized, Graphs) {
  options_.stacks.emplace();
  profile("capture 20");
  expectAllIsThere();
}

TEST_F(CudaSanitized, Memory) {
  profile("memory 20");
  EXPECT_EQ(trace_.memory_event.size(), said("allocations") + said("frees"));
}

TEST_F(CudaSanitized, Devices) {
  script("devices=2");
  profile("two_devices");
  expectAllIsThere();
  profile("reset");
  expectAllIsThere();
}

TEST_F(CudaSanitized, Forks) {
  profile("fork");
  expectAllIsThere();
  profile("child_exit");
  expectAllIsThere();
}

TEST_F(CudaSanitized, Exec) {
  profile("exec 500");
  EXPECT_THAT(names(), ::testing::ElementsAre("vectorAdd", "vectorScale"));
  EXPECT_EQ(trace_.kernel.size(), said("before_kernels") + said("kernels"));
}

TEST_F(CudaSanitized, CallsThatAreLeft) {
  profile("longjmp");
  expectAllIsThere();
}

TEST_F(CudaSanitized, CuptiThatIsFinalized) {
  profile("finalize");
  expectEachLaunchIsAccountedFor(said("synchronized_kernels"));
}

TEST_F(CudaSanitized, Kills) {
  script("long_kernel_ns=1000000");
  profile("busy 600 300", 128 + SIGKILL);
  expectEachLaunchIsAccountedFor(said("kernels"));
  EXPECT_GT(trace_.kernel.size(), said("synchronized_kernels"));
}

TEST_F(CudaSanitized, TheRuntime) {
  profile("mixed 200", 0, "standin_runtime_program");
  expectAllIsThere();
  profile("threads 4 200", 0, "standin_runtime_program");
  expectAllIsThere();
}

TEST_F(CudaSanitized, NoRoomForMoreThanTheRings) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  options_.ring_bytes = 64u << 10;
  const rlimit little{2u << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  profile("launches 100");
  setrlimit(RLIMIT_FSIZE, &before);
  expectAllIsThere();
}

/// The collector dies amid the work, and another one goes on.
TEST_F(CudaSanitized, ACollectorThatIsKilled) {
  script("kernel_ns=1000000");
  command("launches 1000 1", "standin_program");
  const pid_t collector = fork();
  if (collector == 0) {
    (void)runProfile(options_);
    _exit(0);
  }
  usleep(700'000);
  kill(collector, SIGKILL);
  waitpid(collector, nullptr, 0);
  // The program ends by itself.
  for (int i = 0; i < 200 && test::contentsOf(dir_.path("said")).empty(); ++i) usleep(50'000);
  usleep(500'000);
  const auto recovered = recoverSession(options_.output + ".session");
  ASSERT_TRUE(recovered) << recovered.error().toString();
  load();
  EXPECT_THAT(names(), ::testing::ElementsAre("vectorAdd"));
  expectEachLaunchIsAccountedFor(said("kernels"));
  EXPECT_EQ(trace_.kernel.size(), said("kernels"));
  EXPECT_EQ(launches(), said("kernels") + said("failed_launches"));
}

/// Threads launch, copy and annotate while it is captured, left, and captured again.
TEST_F(CudaSanitized, CapturedWhileItRuns) {
  const std::string control = dir_.path("control");
  std::filesystem::create_directory(control);
  std::filesystem::permissions(control, std::filesystem::perms::owner_all);
  command("4", "standin_training");
  setenv("TRACESMITH_CONTROL", control.c_str(), 1);
  const auto armed = armedEnvironment(control);
  ASSERT_TRUE(armed);
  for (const auto& [name, value] : *armed) setenv(name.c_str(), value.c_str(), 1);
  FILE* const program = popen(options_.command[2].c_str(), "w");
  for (const auto& [name, value] : *armed) unsetenv(name.c_str());
  ASSERT_NE(program, nullptr);
  const auto tell = [&](const char* line) {
    fputs(line, program);
    fflush(program);
  };
  tell("start\ngo\n");
  const auto pid = [&]() -> uint32_t {
    const std::vector<ArmedProcessInfo> there = listArmed(control);
    return there.empty() ? 0 : there.front().pid;
  };
  for (int i = 0; i < 600 && pid() == 0; ++i) usleep(50'000);
  ASSERT_NE(pid(), 0u);
  options_.duration_s = 0.3;
  for (int round = 0; round < 3; ++round) {
    if (round == 1) options_.stacks.emplace();
    if (round == 2) options_.stacks.reset();
    const auto outcome = runAttach(pid(), options_, [](const std::string&) {});
    ASSERT_TRUE(outcome) << outcome.error().toString();
    EXPECT_TRUE(outcome->trace_status);
    load();
    EXPECT_GT(trace_.host_call.size(), 0u);
    EXPECT_GT(trace_.range.size(), 0u);
  }
  tell("halt\nquit\n");
  EXPECT_EQ(pclose(program), 0);
  load();  // with what a sanitizer said at its end
}

}  // namespace
}  // namespace tracesmith
