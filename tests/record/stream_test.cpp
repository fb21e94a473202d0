// SPDX-License-Identifier: Apache-2.0
// The stream of commands says what the program did.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "stream_fixture.hpp"

namespace tracesmith {
namespace {

using namespace recording;  // NOLINT: their words are ours here
using test::Recorded;
using test::Stream;
using ::testing::HasSubstr;

constexpr const char* kOclgrind = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";

std::vector<std::string> linesOf(const std::string& path, bool remarks) {
  std::vector<std::string> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if ((line[0] == '#') == remarks) out.push_back(line);
  }
  return out;
}

class ContentTest : public StreamTest,
                    public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {};

TEST_P(ContentTest, WhatWentInAndOutIsInTheStreamAndTheProgramSeesNoDifference) {
  const auto [injection, driver_file] = GetParam();
  SpawnOptions alone;
  alone.output = path("alone");
  if (*driver_file != 0) {
    if (readFile(driver_file).empty()) GTEST_SKIP() << driver_file << " is not installed";
    alone.environment = {std::string("OCL_ICD_VENDORS=") + driver_file};
  }
  ASSERT_EQ(run({helper("cl_objects"), path("notes")}, alone).exit_code, 0);
  SpawnOptions watched = alone;
  watched.output = path("watched");
  ASSERT_EQ(run(profile({"--inject", injection}, {helper("cl_objects"), path("notes")}), watched)
                .exit_code,
            0);
  EXPECT_EQ(readFile(path("watched")), readFile(path("alone")));
  // Memory that nobody filled is defined while it is recorded.
  EXPECT_EQ(readFile(path("notes")), "zeros 1\nzeros 1\n");
  const auto all = streams();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].end_reason, "");
  std::vector<std::string> seen = test::traffic(all[0]);
  for (const size_t bytes : {4096, 800}) {  // the reads of what nobody filled
    const std::string zeros = fmt::format("read {} ", bytes);
    const ContentHash hash = hashOf(Bytes(bytes));
    std::erase(seen, zeros + fmt::format("{:016x}{:016x}", hash.high, hash.low));
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(seen, "\n")),
            fmt::format("{}", fmt::join(linesOf(path("alone"), false), "\n")));
}

TEST_P(ContentTest, CallsThatFailedAreThereWithTheirCodes) {
  const auto [injection, driver_file] = GetParam();
  SpawnOptions options;
  options.output = path("said");
  if (*driver_file != 0) {
    if (readFile(driver_file).empty()) GTEST_SKIP() << driver_file << " is not installed";
    options.environment = {std::string("OCL_ICD_VENDORS=") + driver_file};
  }
  ASSERT_EQ(run(profile({"--inject", injection}, {helper("cl_objects"), path("notes")}), options)
                .exit_code,
            0);
  const auto all = streams();
  ASSERT_EQ(all.size(), 1u);
  std::vector<std::string> codes;
  for (const Recorded& c : all[0].commands) {
    if (c.header.result != 0) codes.push_back(fmt::format("# fails {}", c.header.result));
  }
  std::vector<std::string> expected;
  for (const std::string& line : linesOf(path("said"), true)) {
    if (line.starts_with("# fails")) expected.push_back(line);
  }
  ASSERT_EQ(expected.size(), 3u);
  for (const std::string& code : expected) EXPECT_THAT(codes, ::testing::Contains(code));
}

INSTANTIATE_TEST_SUITE_P(, ContentTest,
                         ::testing::Combine(::testing::Values("layer", "preload"),
                                            ::testing::Values("", kOclgrind)),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param)) +
                                  (*std::get<1>(each.param) ? "OnOclgrind" : "OnTheSystemsDriver");
                         });

TEST_F(StreamTest, EveryKindOfCommandOfManyThreadsIsThereAsOftenAsItWasMade) {
  const Stream stream = recorded({}, {helper("cl_mix"), path("counts"), "4", "25"});
  const auto made = readReport(path("counts"));
  ASSERT_FALSE(made.empty());
  size_t launches = 0;
  for (const Recorded& c : stream.commands) {
    if (c.header.kind == CommandKind::kLaunch && c.header.result == 0) ++launches;
  }
  EXPECT_EQ(launches, number(made, "launches") + number(made, "tasks"));
  EXPECT_EQ(stream.count(CommandKind::kMap), number(made, "maps"));
  EXPECT_EQ(stream.count(CommandKind::kUnmap), number(made, "unmaps"));
  EXPECT_EQ(stream.count(CommandKind::kCreateSubBuffer), number(made, "sub_buffers"));
  EXPECT_EQ(stream.count(CommandKind::kFinish), number(made, "finishes"));
  EXPECT_EQ(stream.count(CommandKind::kUnsupported), 0u);
}

TEST_F(StreamTest, TheBytesThatWereReadAreKeptWhenAskedFor) {
  const Stream stream = recorded({"--keep-outputs"}, {helper("launch_heavy"), "200"});
  size_t kept = 0;
  for (const Recorded& c : stream.commands) {
    if (c.header.kind != CommandKind::kDone) continue;
    const Done done = c.as<Done>();
    if (done.content.bytes > 0) kept += done.kept;  // streamsOf() has read them
  }
  EXPECT_EQ(kept, 2u);
}

TEST_F(StreamTest, AfterEachLaunchItsMemoryIsHashedWhenAskedFor) {
  const Stream stream = recorded({"--launch-hashes"}, {helper("launch_heavy"), "20"});
  std::map<uint64_t, int> of_launch;
  for (const Recorded& c : stream.commands) {
    if (c.header.kind != CommandKind::kSnapshot) continue;
    const auto snapshot = c.as<Snapshot>();
    EXPECT_TRUE(snapshot.content.known());
    EXPECT_EQ(snapshot.kept, 0u);
    ASSERT_GT(snapshot.after, 0u);
    EXPECT_EQ(stream.commands.at(snapshot.after - 1).header.kind, CommandKind::kLaunch);
    ++of_launch[snapshot.after];
  }
  EXPECT_EQ(of_launch.size(), 20u);
  for (const auto& [launch, memories] : of_launch) EXPECT_EQ(memories, 2);
}

// --- ranges -----------------------------------------------------------------------------------

struct RangeCase {
  const char* name;
  const char* range;
  size_t edges;
  size_t launches;
};
class RangeTest : public StreamTest, public ::testing::WithParamInterface<RangeCase> {};

TEST_P(RangeTest, HoldsTheCommandsOfTheRangeAndTheMemoryAtItsStart) {
  const Stream stream = recorded({"--range", GetParam().range}, {helper("launch_heavy"), "300"});
  EXPECT_EQ(stream.count(CommandKind::kRangeEdge), GetParam().edges);
  EXPECT_EQ(stream.count(CommandKind::kLaunch), GetParam().launches);
  bool inside = false;
  size_t snapshots = 0;
  for (const Recorded& c : stream.commands) {
    if (c.header.kind == CommandKind::kRangeEdge) {
      inside = c.as<RangeEdge>().is_begin != 0;
      if (inside) {
        EXPECT_EQ(snapshots, 2u);  // both buffers
      }
      snapshots = 0;
    }
    if (c.header.kind == CommandKind::kSnapshot) {
      ++snapshots;
      EXPECT_EQ(c.as<Snapshot>().kept, 1u);
    }
    if (c.header.kind == CommandKind::kLaunch || c.header.kind == CommandKind::kWrite) {
      EXPECT_TRUE(inside) << c.header.sequence;
    }
  }
  // Objects and arguments are there in any case.
  EXPECT_EQ(stream.count(CommandKind::kCreateBuffer), 2u);
  EXPECT_EQ(stream.count(CommandKind::kSetArgument), 1200u);
}

INSTANTIATE_TEST_SUITE_P(, RangeTest,
                         ::testing::Values(RangeCase{"Launches", "launch:100-150", 2, 51},
                                           RangeCase{"KernelsThatMatch", "kernel:^accum", 1, 300},
                                           RangeCase{"NoKernelMatches", "kernel:nothing", 0, 0},
                                           RangeCase{"TheFirstStep", "step:1", 1, 300},
                                           RangeCase{"AStepThatNeverComes", "step:7", 0, 0},
                                           RangeCase{"AllTheTime", "time:0s-1000s", 1, 300},
                                           RangeCase{"NeverTriggered", "trigger", 0, 0}),
                         [](const auto& each) { return each.param.name; });

TEST_F(StreamTest, ARangeHoldsAlsoWhereTheAgentIsPreloaded) {
  const Stream stream = recorded({"--inject", "preload", "--range", "launch:100-150"},
                                 {helper("launch_heavy"), "300"});
  EXPECT_EQ(stream.count(CommandKind::kRangeEdge), 2u);
  EXPECT_EQ(stream.count(CommandKind::kLaunch), 51u);
}

TEST_F(StreamTest, ARangeThatMakesNoSenseIsRefusedBeforeTheProgramRuns) {
  for (const char* range :
       {"launch", "launch:0-3", "launch:5-3", "time:2s-1s", "kernel:(", "soon"}) {
    SpawnOptions options;
    options.error = path("error");
    EXPECT_EQ(run(profile({"--range", range}, {"/bin/false"}), options).exit_code, 125) << range;
    EXPECT_THAT(readFile(path("error")), HasSubstr("range")) << range;
  }
}

/// It is no command of the range, so what it wrote must be in what the range begins with.
TEST_F(StreamTest, ARangeBeginsAfterACallThatBeganBeforeIt) {
  const ScopedVariable below("OPENCL_LAYERS", helper("libcounting-layer.so"));
  const ScopedVariable slow("COUNTING_LAYER_WRITE_MS", "400");
  const Stream stream = recorded({"--range", "launch:1-9"}, {helper("cl_range")});
  EXPECT_EQ(stream.count(CommandKind::kLaunch), 2u);
  EXPECT_EQ(stream.count(CommandKind::kWrite), 0u);
  EXPECT_EQ(run({helper("tracesmith"), "replay", path("out.sbr")}).exit_code, 0);
}

}  // namespace
}  // namespace tracesmith
