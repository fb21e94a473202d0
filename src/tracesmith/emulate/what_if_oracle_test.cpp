// SPDX-License-Identifier: Apache-2.0
// Compares predictions with the real effect, on a GPU whose parameters the emulator does not know.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "tracesmith/emulate/emulator.hpp"
#include "tracesmith/emulate/gpu_oracle_test_util.hpp"
#include "tracesmith/emulate/what_if.hpp"

namespace tracesmith {
namespace {

using test::GpuOracle;
using test::OracleAction;
using test::OracleParameters;
using test::OracleProgram;
using test::OracleRun;

OracleRun runOn(const OracleParameters& parameters, uint32_t streams,
                const OracleProgram& program) {
  return GpuOracle(parameters, streams).run(program.actions);
}

/// Error of the makespan predicted from one run for another.
double predictionError(const OracleRun& recorded, const WhatIf& change, int64_t truth_ns) {
  const Result<EmulatorGraph> graph = emulatorGraph(recorded.trace.trace);
  EXPECT_TRUE(graph) << graph.error().toString();
  std::vector<WhatIfEffect> effects;
  const Result<EmulatorGraph> other = changed(recorded.trace.trace, *graph, change, effects);
  EXPECT_TRUE(other) << other.error().toString();
  const Result<Emulation> times = emulate(*other);
  EXPECT_TRUE(times) << times.error().toString();
  return static_cast<double>(times->makespan() - truth_ns) / static_cast<double>(truth_ns);
}

WhatIf scaled(const char* what) {
  WhatIf change;
  change.scale.push_back(*WhatIf::parseScale(what));
  return change;
}

/// Layers of two kernels and a copy, with a host wait after some of them.
OracleProgram layers(double gemm) {
  OracleProgram program;
  for (int i = 0; i < 60; ++i) {
    program.work(2'000 + 137 * (i % 7));
    program.kernel("gemm", 0, 16, std::llround(40'000 * gemm));
    program.work(1'500).kernel("norm", 0, 16, 6'000);
    if (i % 5 == 0) program.copy(0, false, 4096, true).work(9'000);
    if (i % 11 == 0) program.sync(0).work(60'000);
  }
  return program.sync(0), program;
}

TEST(WhatIfOracle, UnchangedGivesWhatHappened) {
  const OracleRun run = runOn({}, 1, layers(1));
  EXPECT_NEAR(predictionError(run, {}, run.makespan_ns), 0, 1e-4);
}

TEST(WhatIfOracle, ScaledKernelsAreAsFastAsTheyWouldBe) {
  const OracleRun run = runOn({}, 1, layers(1));
  for (const double factor : {0.1, 0.5, 0.9, 3.0}) {
    const OracleRun truth = runOn({}, 1, layers(factor));
    const std::string change = "kernel=gemm:" + std::to_string(factor);
    EXPECT_NEAR(predictionError(run, scaled(change.c_str()), truth.makespan_ns), 0, 2e-3)
        << factor << ": waits are found again, whether the host or the device is the slower one";
  }
}

OracleProgram copies(uint32_t) {
  OracleProgram program;
  for (int i = 0; i < 50; ++i) {
    const auto s = static_cast<uint32_t>(i % 2);
    program.work(1'000).copy(s, true, 200'000 + 50'000 * static_cast<uint64_t>(i % 5));
    program.work(500).kernel("use", s, 8, 9'000 + 1'000 * (i % 3));
    program.work(500).copy(s, false, 100'000 + 30'000 * static_cast<uint64_t>(i % 3));
  }
  return program.syncAll(), program;
}

TEST(WhatIfOracle, BandwidthChangesWhatGoesBySizeAlone) {
  const OracleRun run = runOn({}, 2, copies(2));
  for (const double factor : {0.5, 2.0, 4.0}) {
    OracleParameters faster;
    for (double& b : faster.bytes_per_ns) b *= factor;
    const OracleRun truth = runOn(faster, 2, copies(2));
    WhatIf change;
    change.bandwidth.push_back(*WhatIf::parseBandwidth(std::to_string(factor) + "x"));
    EXPECT_NEAR(predictionError(run, change, truth.makespan_ns), 0, 5e-3)
        << factor << ": two streams want one engine in each direction";
  }
  OracleParameters one_way;
  one_way.bytes_per_ns[0] *= 2;
  const OracleRun truth = runOn(one_way, 2, copies(2));
  WhatIf change;
  change.bandwidth.push_back(*WhatIf::parseBandwidth("h2d=2"));
  EXPECT_NEAR(predictionError(run, change, truth.makespan_ns), 0, 5e-3);
}

/// Independent kernels, distributed to the streams in turn.
OracleProgram independent(uint32_t streams, uint32_t blocks) {
  OracleProgram program;
  for (uint32_t i = 0; i < 120; ++i) {
    program.work(300).kernel("task", i % streams, blocks, 50'000 + 1'000 * (i % 9));
  }
  return program.syncAll(), program;
}

TEST(WhatIfOracle, MoreStreamsGainAsMuchAsTheDeviceHasRoom) {
  for (const uint32_t blocks : {2U, 4U, 8U, 16U}) {
    const OracleRun run = runOn({}, 1, independent(1, blocks));
    for (const uint32_t streams : {2U, 3U, 4U, 8U}) {
      const OracleRun truth = runOn({}, streams, independent(streams, blocks));
      WhatIf change;
      change.streams = streams;
      EXPECT_NEAR(predictionError(run, change, truth.makespan_ns), 0, 0.033)
          << streams << " streams of kernels with " << blocks << " of 16 blocks";
    }
  }
}

TEST(WhatIfOracle, FewerStreamsLoseWhatTheyHadAtOnce) {
  const OracleRun run = runOn({}, 4, independent(4, 4));
  for (const uint32_t streams : {1U, 2U}) {
    const OracleRun truth = runOn({}, streams, independent(streams, 4));
    WhatIf change;
    change.streams = streams;
    EXPECT_NEAR(predictionError(run, change, truth.makespan_ns), 0, 0.01) << streams;
  }
}

OracleProgram pipeline(double produce) {
  OracleProgram program;
  for (int i = 0; i < 40; ++i) {
    program.work(700).kernel("produce", 0, 4, std::llround(30'000 * produce));
    program.waitFor(1, 0).work(700).kernel("consume", 1, 4, 20'000 + 500 * (i % 4));
  }
  return program.syncAll(), program;
}

TEST(WhatIfOracle, EventsBetweenStreamsAreKept) {
  const OracleRun run = runOn({}, 2, pipeline(1));
  for (const double factor : {0.2, 0.5, 2.0}) {
    const OracleRun truth = runOn({}, 2, pipeline(factor));
    EXPECT_NEAR(predictionError(run, scaled(("produce:" + std::to_string(factor)).c_str()),
                                truth.makespan_ns),
                0, 5e-3)
        << factor;
  }
}

OracleProgram elementwise(bool there, bool fused) {
  OracleProgram program;
  for (int i = 0; i < 50; ++i) {
    program.work(900).kernel("gemm", 0, 16, 12'000);
    program.work(900);
    if (there && !fused) program.kernel("ew", 0, 16, 3'000);
    program.work(900);
    if (there && !fused) program.kernel("ew", 0, 16, 4'000);
    if (fused) program.kernel("ew", 0, 16, 7'000);
    if (i % 10 == 9) program.sync(0);
  }
  return program.sync(0), program;
}

TEST(WhatIfOracle, RemovedWorkIsNotLaunchedEither) {
  const OracleRun run = runOn({}, 1, elementwise(true, false));
  const OracleRun truth = runOn({}, 1, elementwise(false, false));
  WhatIf change;
  change.remove.push_back(*NameSelector::parse("^ew$"));
  EXPECT_NEAR(predictionError(run, change, truth.makespan_ns), 0, 5e-3);
}

TEST(WhatIfOracle, FusedKernelsAreLaunchedOnce) {
  const OracleRun run = runOn({}, 1, elementwise(true, false));
  const OracleRun truth = runOn({}, 1, elementwise(true, true));
  WhatIf change;
  change.fuse.push_back(*NameSelector::parse("^ew$"));
  EXPECT_NEAR(predictionError(run, change, truth.makespan_ns), 0, 5e-3);
}

OracleProgram longQueue(double factor) {
  OracleProgram program;
  for (int i = 0; i < 900; ++i) {
    program.work(500).kernel("slow", 0, 16, std::llround((60'000 + 500 * (i % 5)) * factor));
  }
  program.work(200'000);
  return program.sync(0), program;
}

TEST(WhatIfOracle, LaunchesWaitForRoomInAFullQueue) {
  OracleParameters small;
  small.queue_room = 300;
  const OracleRun run = runOn(small, 1, longQueue(1));
  const Result<EmulatorGraph> graph = emulatorGraph(run.trace.trace);
  ASSERT_TRUE(graph);
  EXPECT_NEAR(static_cast<double>(graph->facts.queue_room), 300, 2);
  for (const double factor : {0.05, 0.5, 2.0}) {
    const OracleRun truth = runOn(small, 1, longQueue(factor));
    EXPECT_NEAR(
        predictionError(run, scaled(("slow:" + std::to_string(factor)).c_str()), truth.makespan_ns),
        0, 0.01)
        << factor;
  }
}

/// A random program; `gemm` and `bandwidth` are the targets of a change.
OracleProgram anything(uint32_t seed, uint32_t streams, double gemm) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  OracleProgram program;
  for (int i = 0; i < 250; ++i) {
    program.work(300 + below(6'000));
    const uint32_t stream = below(streams);
    switch (below(10)) {
      case 0:
        program.copy(stream, true, 1'000 + below(600'000));
        break;
      case 1: {
        const uint32_t bytes = 1'000 + below(300'000);
        program.copy(stream, false, bytes, below(2) == 0);
        break;
      }
      case 2:
        if (streams > 1) program.waitFor(stream, (stream + 1) % streams);
        break;
      case 3:
        if (below(4) == 0) program.sync(stream).work(20'000 + below(50'000));
        break;
      case 4:
      case 5:
      case 6: {
        const uint32_t blocks = 1 + below(40);
        program.kernel("gemm", stream, blocks, std::llround((8'000 + below(20'000)) * gemm));
        break;
      }
      default: {
        const uint32_t blocks = 1 + below(16);
        program.kernel("other", stream, blocks, 2'000 + below(10'000));
      }
    }
  }
  return program.syncAll(), program;
}

TEST(WhatIfOracle, MeanErrorOverRandomProgramsIsBelowTheBestPublishedFigure) {
  double sum = 0;
  double worst = 0;
  int count = 0;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    const uint32_t streams = 1 + seed % 4;
    const OracleRun run = runOn({}, streams, anything(seed, streams, 1));
    const auto add = [&](const WhatIf& change, const OracleRun& truth) {
      const double error = std::abs(predictionError(run, change, truth.makespan_ns));
      sum += error;
      worst = std::max(worst, error);
      ++count;
    };
    add({}, run);
    for (const double factor : {0.25, 0.5, 2.0}) {
      add(scaled(("gemm:" + std::to_string(factor)).c_str()),
          runOn({}, streams, anything(seed, streams, factor)));
    }
    OracleParameters faster;
    for (double& b : faster.bytes_per_ns) b *= 2;
    WhatIf change;
    change.bandwidth.push_back(*WhatIf::parseBandwidth("2x"));
    add(change, runOn(faster, streams, anything(seed, streams, 1)));
  }
  std::printf("%d predictions for 40 random programs: mean error %.2f %%, at most %.2f %%\n", count,
              100 * sum / count, 100 * worst);
  EXPECT_LT(sum / count, 0.02);
  EXPECT_LT(worst, 0.1);
}

}  // namespace
}  // namespace tracesmith
