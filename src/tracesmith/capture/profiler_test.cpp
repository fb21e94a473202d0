// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/profiler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/cupti_profiler.hpp"
#include "tracesmith/capture/in_process/event_buffer.hpp"
#include "tracesmith/capture/processes/signal_free_thread.hpp"

namespace tracesmith {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

void sleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(Profiler, SimulationGivesLabelledEventsOfTheTimeInWhichItCaptured) {
  const auto profiler = createProfiler(PlatformType::Simulation);
  ASSERT_NE(profiler, nullptr);
  EXPECT_EQ(profiler->platformType(), PlatformType::Simulation);
  EXPECT_TRUE(profiler->isAvailable());
  ASSERT_TRUE(profiler->initialize());
  const auto before = getCurrentTimestamp();
  ASSERT_TRUE(profiler->startCapture());
  EXPECT_TRUE(profiler->isCapturing());
  sleepMs(120);
  ASSERT_TRUE(profiler->stopCapture());
  const auto after = getCurrentTimestamp();
  EXPECT_FALSE(profiler->isCapturing());

  std::vector<TraceEvent> events;
  const size_t count = profiler->getEvents(events);
  EXPECT_EQ(count, events.size());
  EXPECT_EQ(profiler->eventsCaptured(), count);
  EXPECT_EQ(profiler->eventsDropped(), 0u);
  std::map<uint64_t, int> launches, kernels;
  for (const TraceEvent& e : events) {
    EXPECT_GE(e.timestamp, before);
    EXPECT_LE(e.timestamp + e.duration, after);
    EXPECT_EQ(e.metadata.count("synthetic"), 1u) << eventTypeToString(e.type);
    if (e.type == EventType::KernelLaunch) ++launches[e.correlation_id];
    if (e.type == EventType::KernelComplete) {
      ++kernels[e.correlation_id];
      EXPECT_GT(e.duration, 0u);
      EXPECT_TRUE(e.kernel_params);
    }
  }
  // 120 ms are some fifteen iterations of about seventy kernels; a busy machine sleeps longer.
  const auto elapsedMs = static_cast<size_t>((after - before) / 1'000'000);
  EXPECT_GT(kernels.size(), 500u);
  EXPECT_LT(kernels.size(), 40 * elapsedMs);
  EXPECT_EQ(launches, kernels);
  for (const auto& [id, n] : kernels) EXPECT_EQ(n, 1) << id;
  ASSERT_EQ(profiler->getDeviceInfo().size(), 1u);
  EXPECT_EQ(profiler->getDeviceInfo()[0].name, "Simulated device (synthetic)");
  events.clear();
  EXPECT_EQ(profiler->getEvents(events), 0u);
}

TEST(Profiler, LongerCapturesGiveMoreEventsAndIdsStayUnique) {
  const auto profiler = createProfiler(PlatformType::Simulation);
  ASSERT_TRUE(profiler->initialize());
  std::vector<TraceEvent> events;
  size_t counts[2];
  int lengthMs = 60;
  for (int i = 0; i < 2; ++i) {
    const int64_t start = monotonicNs();
    ASSERT_TRUE(profiler->startCapture());
    sleepMs(lengthMs);
    ASSERT_TRUE(profiler->stopCapture());
    counts[i] = profiler->getEvents(events);
    // Four times as long as the first capture really took: a busy machine sleeps longer than asked.
    lengthMs = static_cast<int>(4 * (monotonicNs() - start) / 1'000'000);
  }
  EXPECT_GT(counts[1], 2 * counts[0]);
  std::set<uint64_t> ids;
  for (const TraceEvent& e : events)
    if (e.type == EventType::KernelComplete) {
      EXPECT_TRUE(ids.insert(e.correlation_id).second);
    }
}

TEST(Profiler, EventsCanBeTakenInBatchesWhileItCaptures) {
  const auto profiler = createProfiler(PlatformType::Simulation);
  ASSERT_TRUE(profiler->initialize());
  ASSERT_TRUE(profiler->startCapture());
  std::vector<TraceEvent> events;
  const int64_t deadline = monotonicNs() + 5'000'000'000;
  while (events.size() < 100 && monotonicNs() < deadline) {
    EXPECT_LE(profiler->getEvents(events, 7), 7u);
    sleepMs(1);
  }
  EXPECT_TRUE(profiler->isCapturing());
  ASSERT_TRUE(profiler->stopCapture());
  ASSERT_GE(events.size(), 100u);
  profiler->getEvents(events);
  EXPECT_EQ(events.size(), profiler->eventsCaptured());
}

TEST(Profiler, TheCallbackSeesEveryEvent) {
  const auto profiler = createProfiler(PlatformType::Simulation);
  std::atomic<uint64_t> seen = 0;
  profiler->setEventCallback([&](const TraceEvent&) { ++seen; });
  ASSERT_TRUE(profiler->initialize());
  ASSERT_TRUE(profiler->startCapture());
  sleepMs(60);
  ASSERT_TRUE(profiler->stopCapture());
  EXPECT_GT(seen, 0u);
  EXPECT_EQ(seen, profiler->eventsCaptured() + profiler->eventsDropped());
}

TEST(Profiler, TheConfigurationLeavesOutWhatIsNotWanted) {
  ProfilerConfig config;
  config.capture_kernels = false;
  config.capture_memset = false;
  config.capture_sync = false;
  config.capture_alloc = false;
  config.capture_memory_params = false;
  const auto profiler = createProfiler(PlatformType::Simulation);
  ASSERT_TRUE(profiler->initialize(config));
  ASSERT_TRUE(profiler->startCapture());
  sleepMs(60);
  ASSERT_TRUE(profiler->stopCapture());
  std::vector<TraceEvent> events;
  ASSERT_GT(profiler->getEvents(events), 0u);
  size_t copies = 0;
  for (const TraceEvent& e : events) {
    EXPECT_NE(e.type, EventType::KernelLaunch);
    EXPECT_NE(e.type, EventType::KernelComplete);
    EXPECT_NE(e.type, EventType::MemsetDevice);
    EXPECT_NE(e.type, EventType::StreamSync);
    EXPECT_NE(e.type, EventType::MemAlloc);
    EXPECT_FALSE(e.memory_params);
    copies += e.type == EventType::MemcpyH2D;
  }
  EXPECT_GT(copies, 0u);
}

TEST(Profiler, AFullBufferLosesEventsAsThePolicySaysAndCountsThem) {
  for (const OverflowPolicy policy :
       {OverflowPolicy::DropOldest, OverflowPolicy::DropNewest, OverflowPolicy::Block}) {
    ProfilerConfig config;
    config.buffer_size = 50;
    config.overflow_policy = policy;
    std::atomic<uint64_t> seen = 0;
    const auto profiler = createProfiler(PlatformType::Simulation);
    profiler->setEventCallback([&](const TraceEvent&) { ++seen; });
    ASSERT_TRUE(profiler->initialize(config));
    const int64_t begin = monotonicNs();
    ASSERT_TRUE(profiler->startCapture());
    sleepMs(80);
    ASSERT_TRUE(profiler->stopCapture());
    EXPECT_LT(monotonicNs() - begin, 3'000'000'000);
    std::vector<TraceEvent> events;
    EXPECT_EQ(profiler->getEvents(events), 50u);
    EXPECT_EQ(profiler->eventsCaptured(), 50u);
    EXPECT_GT(profiler->eventsDropped(), 0u);
    EXPECT_EQ(profiler->eventsCaptured() + profiler->eventsDropped(), seen);
  }
}

TEST(Profiler, WrongOrderIsRefusedWithAReason) {
  const auto profiler = createProfiler(PlatformType::Simulation);
  EXPECT_EQ(profiler->lastError(), "");
  EXPECT_FALSE(profiler->startCapture());
  EXPECT_EQ(profiler->lastError(), "not initialized");
  EXPECT_EQ(profiler->lastErrorCode(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(profiler->stopCapture());
  ProfilerConfig nothing;
  nothing.buffer_size = 0;
  EXPECT_FALSE(profiler->initialize(nothing));
  EXPECT_THAT(profiler->lastError(), HasSubstr("buffer_size"));
  ASSERT_TRUE(profiler->initialize());
  EXPECT_FALSE(profiler->initialize());
  ASSERT_TRUE(profiler->startCapture());
  EXPECT_FALSE(profiler->startCapture());
  EXPECT_EQ(profiler->lastError(), "already capturing");
  profiler->finalize();  // while capturing
  EXPECT_FALSE(profiler->isCapturing());
  EXPECT_TRUE(profiler->initialize());
}

TEST(Profiler, AForkedChildCanLetGoOfItAndTheParentGoesOn) {
  auto profiler = createProfiler(PlatformType::Simulation);
  ASSERT_TRUE(profiler->initialize());
  ASSERT_TRUE(profiler->startCapture());
  sleepMs(30);
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = !profiler->isCapturing() && !profiler->stopCapture() &&
                         profiler->lastError().find("forked") != std::string::npos;
    profiler->finalize();
    profiler.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  const int64_t deadline = monotonicNs() + 20'000'000'000;
  while (waitpid(child, &status, WNOHANG) == 0 && monotonicNs() < deadline) sleepMs(5);
  if (status == -1) kill(child, SIGKILL);
  EXPECT_EQ(status, 0) << "the child hung, or was not refused";
  EXPECT_TRUE(profiler->isCapturing());
  EXPECT_TRUE(profiler->stopCapture());
  std::vector<TraceEvent> events;
  EXPECT_GT(profiler->getEvents(events), 0u);
}

TEST(QuietThread, LeavesTheProgramsSignalsToTheProgramsThreads) {
  sigset_t before, after, inside;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  auto thread = startSignalFreeThread([&] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); });
  ASSERT_TRUE(thread);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  thread->join();
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGUSR1, SIGPROF, SIGRTMIN}) {
    EXPECT_EQ(sigismember(&inside, signal), 1) << signal;
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
  EXPECT_EQ(sigismember(&inside, SIGSEGV), 0);
}

TEST(Profiler, BackendsThatThisBuildCanNotCaptureSayWhatIsMissing) {
  for (const PlatformType platform :
       {PlatformType::ROCm, PlatformType::Metal, PlatformType::MACA, PlatformType::Ascend,
        PlatformType::Vulkan, PlatformType::Unknown}) {
    const auto profiler = createProfiler(platform);
    ASSERT_NE(profiler, nullptr);
    EXPECT_EQ(profiler->platformType(), platform);
    EXPECT_FALSE(profiler->isAvailable());
    EXPECT_FALSE(profiler->initialize());
    EXPECT_FALSE(profiler->startCapture());
    EXPECT_FALSE(profiler->lastError().empty());
  }
}

TEST(Profiler, ForCudaSaysWhichLibraryIsMissing) {
  if (isCUDAAvailable()) GTEST_SKIP() << "tests/cuda has what a driver can do";
  const auto cuda = createProfiler(PlatformType::CUDA);
  EXPECT_EQ(cuda->platformType(), PlatformType::CUDA);
  EXPECT_NE(dynamic_cast<CUPTIProfiler*>(cuda.get()), nullptr);
  EXPECT_FALSE(cuda->isAvailable());
  EXPECT_FALSE(cuda->initialize());
  EXPECT_THAT(cuda->lastError(), AnyOf(HasSubstr("libcuda.so.1"), HasSubstr("libtracesmith-cuda")));
  EXPECT_FALSE(cuda->startCapture());
  EXPECT_EQ(cuda->getDeviceInfo().size(), static_cast<size_t>(getCUDADeviceCount()));
  if (cuda->lastError().find("is not installed") != std::string::npos) {
    EXPECT_THAT(cuda->lastError(), HasSubstr("looked in"));
    EXPECT_EQ(getCUDADriverVersion(), 0);
  }
}

TEST(Profiler, TheDetectedPlatformHasDevices) {
  switch (detectPlatform()) {
    case PlatformType::CUDA:
      EXPECT_TRUE(isCUDAAvailable());
      break;
    case PlatformType::OpenCL:
      EXPECT_TRUE(isOpenCLAvailable());
      EXPECT_FALSE(isCUDAAvailable());
      break;
    case PlatformType::Unknown:
      EXPECT_FALSE(isCUDAAvailable() || isROCmAvailable() || isOpenCLAvailable());
      break;
    default:
      break;
  }
  EXPECT_STREQ(platformTypeToString(PlatformType::CUDA), "CUDA");
  EXPECT_STREQ(platformTypeToString(PlatformType::Simulation), "Simulation");
  EXPECT_STREQ(platformTypeToString(static_cast<PlatformType>(200)), "Unknown");
}

TEST(Profiler, StacksAreCutToTheDepthThatIsWanted) {
  TraceEvent event(EventType::KernelLaunch, 1);
  event.call_stack.emplace();
  event.call_stack->frames.resize(40);
  ProfilerConfig config;
  config.capture_callstacks = true;
  EXPECT_TRUE(applyConfig(config, event));
  EXPECT_EQ(event.call_stack->depth(), 32u);
  config.capture_callstacks = false;
  EXPECT_TRUE(applyConfig(config, event));
  EXPECT_FALSE(event.call_stack);
}

TEST(Profiler, WaitsAndCopiesWithoutATypeOfTheirOwnAreLeftOutWithTheirKind) {
  ProfilerConfig config;
  config.capture_sync = config.capture_memcpy = false;
  TraceEvent wait(EventType::Marker), copy(EventType::Custom);
  EXPECT_TRUE(applyConfig(config, wait));
  EXPECT_TRUE(applyConfig(config, copy));
  wait.metadata["sync_kind"] = "barrier";
  copy.metadata["copy_kind"] = "host_to_host";
  EXPECT_FALSE(applyConfig(config, wait));
  EXPECT_FALSE(applyConfig(config, copy));
  EXPECT_TRUE(applyConfig({}, wait));
  EXPECT_TRUE(applyConfig({}, copy));
}

TEST(EventBuffer, ABlockedWriterGoesOnWhenEventsAreTaken) {
  EventBuffer buffer(1, OverflowPolicy::Block);
  EXPECT_TRUE(buffer.push(TraceEvent(EventType::Marker, 1)));
  std::vector<TraceEvent> events;
  std::thread reader([&] {
    sleepMs(20);
    buffer.take(events, 0);
  });
  EXPECT_TRUE(buffer.push(TraceEvent(EventType::Marker, 2)));
  reader.join();
  EXPECT_EQ(events.size(), 1u);
  EXPECT_EQ(buffer.captured(), 2u);
  EXPECT_EQ(buffer.dropped(), 0u);
}

TEST(EventBuffer, ABlockedWriterGivesUpOnceAndDoesNotWaitAgainForNobody) {
  EventBuffer buffer(1, OverflowPolicy::Block);
  buffer.push(TraceEvent(EventType::Marker, 1));
  const int64_t begin = monotonicNs();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(buffer.push(TraceEvent(EventType::Marker, 2)));
  const int64_t took = monotonicNs() - begin;
  EXPECT_GE(took, EventBuffer::kMaxBlockNs);
  EXPECT_LT(took, 10 * EventBuffer::kMaxBlockNs);
  EXPECT_EQ(buffer.dropped(), 100u);
}

TEST(EventBuffer, DropOldestKeepsTheLastAndDropNewestTheFirst) {
  for (const bool oldest : {true, false}) {
    EventBuffer buffer(3, oldest ? OverflowPolicy::DropOldest : OverflowPolicy::DropNewest);
    for (uint64_t i = 1; i <= 10; ++i) buffer.push(TraceEvent(EventType::Marker, i));
    std::vector<TraceEvent> events;
    EXPECT_EQ(buffer.take(events, 0), 3u);
    EXPECT_EQ(events.front().timestamp, oldest ? 8u : 1u);
    EXPECT_EQ(events.back().timestamp, oldest ? 10u : 3u);
    EXPECT_EQ(buffer.dropped(), 7u);
  }
}

}  // namespace
}  // namespace tracesmith
