// SPDX-License-Identifier: Apache-2.0
// On the simulation, which is one device. tests/cuda/cuda_multi_gpu_test.py has two.
#include "tracesmith/cluster/multi_gpu_profiler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MultiGPUConfig simulated() {
  MultiGPUConfig config;
  config.platform = PlatformType::Simulation;
  config.capture_topology = false;
  return config;
}

void captureUntil(MultiGPUProfiler& profiler, uint64_t events) {
  ASSERT_TRUE(profiler.startCapture()) << profiler.lastError();
  for (int i = 0; i < 6000 && profiler.totalEventsCaptured() < events; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(profiler.stopCapture()) << profiler.lastError();
}

TEST(MultiGPUProfiler, GivesTheEventsOfAGpuAndCountsThem) {
  MultiGPUProfiler profiler(simulated());
  std::atomic<uint64_t> called = 0;
  profiler.setEventCallback([&](const TraceEvent&) { ++called; });
  ASSERT_TRUE(profiler.initialize()) << profiler.lastError();
  EXPECT_THAT(profiler.getActiveGPUs(), ElementsAre(0));
  EXPECT_EQ(profiler.getAvailableGPUCount(), 1U);
  ASSERT_EQ(profiler.getAllDeviceInfo().size(), 1U);
  EXPECT_EQ(profiler.getDeviceInfo(0)->name, profiler.getAllDeviceInfo()[0].name);
  EXPECT_FALSE(profiler.getDeviceInfo(1));
  captureUntil(profiler, 100);
  const MultiGPUStats stats = profiler.getStatistics();
  EXPECT_GE(stats.total_events, 100U);
  EXPECT_EQ(stats.total_dropped, 0U);
  EXPECT_EQ(stats.events_per_gpu.at(0), stats.total_events);
  EXPECT_EQ(called, stats.total_events);
  EXPECT_GT(stats.capture_duration_ms, 0);

  std::vector<TraceEvent> events;
  EXPECT_EQ(profiler.getEvents(events, 7), 7U);
  EXPECT_EQ(profiler.getEventsFromGPU(0, events), stats.total_events - 7);
  EXPECT_EQ(profiler.getEventsFromGPU(1, events), 0U);
  EXPECT_EQ(profiler.getEvents(events), 0U);
  EXPECT_EQ(events.size(), stats.total_events);
}

TEST(MultiGPUProfiler, AGpuThatWasRemovedHasNoMoreEvents) {
  MultiGPUProfiler profiler(simulated());
  ASSERT_TRUE(profiler.initialize());
  captureUntil(profiler, 10);
  const uint64_t before = profiler.eventsFromGPU(0);
  EXPECT_TRUE(profiler.removeGPU(0));
  EXPECT_THAT(profiler.getActiveGPUs(), IsEmpty());
  ASSERT_TRUE(profiler.startCapture());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(profiler.stopCapture());
  EXPECT_EQ(profiler.eventsFromGPU(0), before);
  EXPECT_TRUE(profiler.addGPU(0));
  captureUntil(profiler, before + 10);
}

TEST(MultiGPUProfiler, AFullBufferDropsAndCounts) {
  for (const OverflowPolicy policy :
       {OverflowPolicy::DropOldest, OverflowPolicy::DropNewest, OverflowPolicy::Block}) {
    MultiGPUConfig config = simulated();
    config.per_gpu_buffer_size = 20;
    config.overflow_policy = policy;
    MultiGPUProfiler profiler(config);
    ASSERT_TRUE(profiler.initialize());
    ASSERT_TRUE(profiler.startCapture());
    for (int i = 0; i < 6000 && profiler.getStatistics().total_dropped == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_TRUE(profiler.stopCapture());
    const MultiGPUStats stats = profiler.getStatistics();
    EXPECT_GT(stats.total_dropped, 0U);
    EXPECT_EQ(stats.total_dropped, stats.dropped_per_gpu.at(0));
    std::vector<TraceEvent> events;
    EXPECT_EQ(profiler.getEvents(events), 20U);
  }
}

TEST(MultiGPUProfiler, SaysWhyItCannot) {
  MultiGPUConfig config = simulated();
  config.gpu_ids = {0, 7};
  MultiGPUProfiler absent(config);
  EXPECT_FALSE(absent.initialize());
  EXPECT_THAT(absent.lastError(), HasSubstr("no Simulation device 7; this machine has 1"));
  EXPECT_FALSE(absent.startCapture());
  EXPECT_EQ(absent.lastError(), "not initialized");
  EXPECT_FALSE(absent.addGPU(0));

  config = simulated();
  config.per_gpu_buffer_size = 0;
  EXPECT_FALSE(MultiGPUProfiler(config).initialize());

  MultiGPUProfiler profiler(simulated());
  ASSERT_TRUE(profiler.initialize());
  EXPECT_FALSE(profiler.initialize());
  EXPECT_EQ(profiler.lastErrorCode(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(profiler.stopCapture());
  EXPECT_FALSE(profiler.removeGPU(3));
  profiler.finalize();
  EXPECT_FALSE(profiler.isInitialized());
  EXPECT_EQ(profiler.getStatistics().total_events, 0U);
  MultiGPUProfiler moved = std::move(profiler);
  EXPECT_TRUE(moved.initialize()) << moved.lastError();
}

}  // namespace
}  // namespace tracesmith
