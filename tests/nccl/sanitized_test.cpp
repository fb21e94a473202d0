// SPDX-License-Identifier: Apache-2.0
// The profiler plugin for NCCL, the program that calls it as NCCL does, and the collector, with a
// sanitizer in all of them. What a sanitizer says of the program lies in a file afterwards, and is
// a failure; what it says of the collector ends the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

class NcclSanitized : public ::testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  NcclSanitized() {
    const auto agents = dir_.folder() / "agents";
    std::filesystem::create_directory(agents);
    std::filesystem::create_symlink(AGENT_FOLDER "/libtracesmith-process.so",
                                    agents / "libtracesmith-process.so");
    std::filesystem::create_symlink(NCCL_FOLDER "/libtracesmith-nccl.so",
                                    agents / "libtracesmith-nccl.so");
    setenv("TRACESMITH_AGENT_DIR", agents.c_str(), 1);
    const std::string log = "log_path=" + dir_.path("report");
    setenv("ASAN_OPTIONS", (log + ":verify_asan_link_order=0:detect_leaks=0").c_str(), 1);
    setenv("UBSAN_OPTIONS", (log + ":print_stacktrace=1").c_str(), 1);
    setenv("TSAN_OPTIONS", log.c_str(), 1);
  }

  void profile(int version, const std::string& scenario) {
    ProfileOptions options;
    options.output = dir_.path("t.sbt");
    options.platform = PlatformType::Metal;  // no agent of a GPU
    options.nccl = NcclEvents::kFull;
    options.command = {NCCL_FOLDER "/nccl_program", std::to_string(version), scenario};
    const auto outcome = runProfile(options);
    ASSERT_TRUE(outcome) << outcome.error().toString();
    EXPECT_EQ(outcome->exit_code, 0);
    auto reader = TraceReader::open(options.output);
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

  test::TempFolder dir_;
  Trace trace_;
};

TEST_P(NcclSanitized, HasNothingToSay) {
  const auto [version, scenario] = GetParam();
  const std::string plugin =
      NCCL_FOLDER "/libnccl-profiler-other" + std::to_string(version) + ".so";
  const bool has_next = std::filesystem::exists(plugin);
  if (has_next) setenv("NCCL_PROFILER_PLUGIN", plugin.c_str(), 1);
  setenv("OTHER_PLUGIN_MASK", "127", 1);
  // Handles that no plugin gave: the other one would say so, and abort.
  if (scenario == std::string("random")) unsetenv("NCCL_PROFILER_PLUGIN");
  profile(version, scenario);
  unsetenv("NCCL_PROFILER_PLUGIN");
  if (scenario == std::string("random")) return;
  EXPECT_GT(trace_.comm.size(), 0u);
  uint64_t emitted = 0, written = 0, dropped = 0;
  for (size_t i = 0; i < trace_.loss.size(); ++i) {
    emitted += trace_.loss.emitted[i];
    written += trace_.loss.written[i];
    dropped += trace_.loss.dropped[i];
  }
  EXPECT_EQ(emitted, written + dropped);
}

INSTANTIATE_TEST_SUITE_P(All, NcclSanitized,
                         ::testing::Combine(::testing::Values(1, 4, 7),
                                            ::testing::Values("proxies", "random", "abort", "pxn")),
                         [](const auto& test) {
                           return std::string(std::get<1>(test.param)) + "_" +
                                  std::to_string(std::get<0>(test.param));
                         });

}  // namespace
}  // namespace tracesmith
