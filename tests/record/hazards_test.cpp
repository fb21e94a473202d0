// SPDX-License-Identifier: Apache-2.0
// Programs that do what is legal and hard to record (cl_hazards) run as they do alone, and what is
// recorded of them is right or said to be unknown.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "stream_fixture.hpp"

namespace tracesmith {
namespace {

using namespace recording;  // NOLINT: their words are ours here
using test::Recorded;
using test::Stream;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

std::vector<std::string> linesOf(const std::string& path) {
  std::vector<std::string> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

class HazardTest : public StreamTest {
 protected:
  Stream hazard(const char* word, const std::vector<std::string>& options = {}) {
    return recorded(options, {helper("cl_hazards"), word});
  }
  /// What the program says that it left in shared memory, or wrote, is in the stream, and nothing
  /// else: not what a kernel left there, nor what lay in its place before.
  void expectInputs(const char* word) {
    SpawnOptions said;
    said.output = path("said");
    ASSERT_EQ(run(profile({}, {helper("cl_hazards"), word}), said).exit_code, 0);
    const auto isInput = [](const std::string& line) {
      return line.starts_with("shared ") || line.starts_with("write ");
    };
    std::vector<std::string> expected = linesOf(path("said"));
    ASSERT_FALSE(expected.empty());
    if (expected.front() == "no fine-grained memory") GTEST_SKIP() << expected.front();
    std::erase_if(expected, std::not_fn(isInput));
    const auto all = streams();
    ASSERT_EQ(all.size(), 1u);
    std::vector<std::string> seen = test::traffic(all[0]);
    std::erase_if(seen, std::not_fn(isInput));
    // What several of them hold when a launch comes is recorded in the order of a table.
    EXPECT_THAT(seen, UnorderedElementsAreArray(expected));
  }
  uint64_t contentBytes() const {
    const auto reader = RecordingReader::open(path("out.sbr"));
    return reader ? reader->contentBytes() : 0;
  }
};

TEST_F(HazardTest, WhatIsReadWhenTheRecordingEndsIsNotLookedAtAnyMore) {
  EXPECT_THAT(hazard("ended").end_reason, HasSubstr("too large"));
}

TEST_F(HazardTest, WhatIsUnmappedBeforeItWasMappedIsUnknown) {
  const Stream stream = hazard("unmapped");
  for (const Recorded& c : stream.commands) {
    if (c.header.kind != CommandKind::kMap) continue;
    const Recorded* done = stream.doneOf(c.header.sequence);
    ASSERT_NE(done, nullptr);
    EXPECT_FALSE(done->as<Done>().content.known());
  }
  EXPECT_EQ(stream.count(CommandKind::kMap), 1u);
}

TEST_F(HazardTest, OtherThreadsMayFreeWhatIsBeingLookedAt) {
  const Stream all = hazard("freed");
  EXPECT_GT(all.count(CommandKind::kSvmFree), 1u);
  const Stream ranges = hazard("freed", {"--range", "kernel:^add$"});
  EXPECT_EQ(ranges.count(CommandKind::kRangeEdge), 2 * ranges.count(CommandKind::kLaunch));
}

TEST_F(HazardTest, AKernelThatWaitsForTheHostIsNotWaitedFor) {
  EXPECT_EQ(hazard("polled").end_reason, "");
  // The range cannot begin while it runs.
  EXPECT_EQ(hazard("polled", {"--range", "launch:2-10"}).end_reason, "");
}

TEST_F(HazardTest, WhatIsWrittenOutsideOfARangeIsNotSent) {
  (void)hazard("mapped");
  EXPECT_GE(contentBytes(), 16u << 20);
  (void)hazard("mapped", {"--range", "trigger"});
  EXPECT_LT(contentBytes(), 1u << 20);
}

TEST_F(HazardTest, OpenClMayComeLaterWithAModule) {
  const std::vector<std::string> program = {helper("cl_dlopens"), helper("cl_module")};
  ASSERT_EQ(run(program).exit_code, 0);
  const Stream stream = recorded({"--inject", "preload"}, program);
  EXPECT_EQ(stream.count(CommandKind::kLaunch), 1u);
  EXPECT_EQ(stream.count(CommandKind::kCreateContext), 1u);
  ProfileOptions traced = options(program);
  traced.injection = Injection::kPreload;
  EXPECT_EQ(record(traced).outcome.kernels, 1u);
}

TEST_F(HazardTest, CommandsOfTwoLoadersAreInOneStream) {
  std::filesystem::copy_file(systemLoader(), path("another.so"));
  const std::vector<std::string> program = {helper("cl_loaders"), "3", "libOpenCL.so.1",
                                            path("another.so")};
  for (const char* const injection : {"layer", "preload"}) {
    std::filesystem::remove(path("out.sbt"));
    std::filesystem::remove(path("out.sbr"));
    const Stream stream = recorded({"--inject", injection}, program);
    EXPECT_EQ(stream.count(CommandKind::kLaunch), 6u) << injection;
    EXPECT_EQ(stream.count(CommandKind::kCreateContext), 2u) << injection;
  }
}

TEST_F(HazardTest, TwiceAsManyReadsUnderWayCostTwiceAsMuch) {
  SpawnOptions said;
  said.output = path("said");
  ASSERT_EQ(run(profile({}, {helper("cl_hazards"), "many"}), said).exit_code, 0);
  const auto report = readReport(path("said"));
  const double once = std::stod(report.at("seconds_of_20000"));
  const double twice = std::stod(report.at("seconds_of_40000"));
  EXPECT_LT(twice, 3 * once + 0.1) << once;
}

TEST_F(HazardTest, LinesOfAnImageArrayLieASlicePitchApart) { expectInputs("sliced"); }

class InputTest : public HazardTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(InputTest, TheStreamHasWhatTheHostGaveAndAReplayComesToTheSame) {
  expectInputs(GetParam());
  if (IsSkipped()) return;
  EXPECT_EQ(run({helper("tracesmith"), "replay", "--verify", path("out.sbr")}).exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(, InputTest, ::testing::Values("waited", "ahead", "chained", "bounced"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace tracesmith
