// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tracesmith/export/perfetto/perfetto_test_util.hpp"

namespace tracesmith {
namespace {

using Texts = std::vector<std::string>;
constexpr ThreadId kMain{1}, kWorker{2};

class PerfettoSched : public ::testing::Test {
 protected:
  void SetUp() override {
    trace_.metadata.push({.key = text("start_monotonic_ns"), .value = text("1000")});
    trace_.metadata.push({.key = text("start_boottime_ns"), .value = text("501000")});
    trace_.process.push({.id = ProcessId{1}, .pid = 10});
    trace_.thread.push({.id = kMain, .process_id = ProcessId{1}, .tid = 10, .name = text("main")});
    trace_.thread.push({.id = kWorker,
                        .process_id = ProcessId{1},
                        .tid = 11,
                        .name = text("a worker with a long name")});
  }
  StringId text(std::string_view t) { return trace_.strings.intern(t); }
  void state(ThreadId thread, int64_t begin, int64_t end, RunState state, uint32_t cpu) {
    trace_.thread_state.push({.start_ns = begin,
                              .duration_ns = end - begin,
                              .state = state,
                              .process_id = ProcessId{1},
                              .thread_id = thread,
                              .cpu = cpu});
  }
  static Texts textsOf(const reading::File& file) {
    Texts out;
    for (const reading::SchedulerEvent& e : file.scheduler) {
      out.push_back("cpu " + std::to_string(e.cpu) + " at " + std::to_string(e.time - 500'000) +
                    ": " + std::to_string(e.previous) +
                    (e.is_wakeup ? " wakes " : " (" + std::to_string(e.state) + ") to ") +
                    std::to_string(e.next) + " " + e.next_name);
    }
    return out;
  }

  Trace trace_;
};

TEST_F(PerfettoSched, SwitchesAreThoseOfTheStatesOfThreads) {
  state(kMain, 1'000, 1'100, RunState::kRunning, 0);
  state(kMain, 1'100, 1'300, RunState::kSleeping, 0);
  state(kMain, 1'300, 1'310, RunState::kRunnable, 1);
  state(kMain, 1'310, 1'400, RunState::kRunning, 1);
  state(kMain, 1'400, 1'500, RunState::kDiskWait, 1);
  state(kWorker, 1'100, 1'250, RunState::kRunning, 0);  // at once after it
  trace_.wakeup.push({.time_ns = 1'300,
                      .process_id = ProcessId{1},
                      .thread_id = kMain,
                      .waker_thread_id = kWorker,
                      .cpu = 1});
  const reading::File file = readBack(trace_);
  EXPECT_EQ(textsOf(file),
            (Texts{"cpu 0 at 1000: 0 (0) to 10 main", "cpu 0 at 1100: 10 (1) to 11 a worker with a",
                   "cpu 0 at 1250: 11 (16) to 0 swapper", "cpu 1 at 1310: 0 (0) to 10 main",
                   "cpu 1 at 1400: 10 (2) to 0 swapper", "cpu 1 at 1300: 11 wakes 10 main"}));
  size_t threads = 0;
  for (const auto& [uuid, track] : file.tracks) {
    threads += track.thread && track.pid == 10 ? 1 : 0;
  }
  EXPECT_EQ(threads, 2u) << "each belongs to its process";
}

TEST_F(PerfettoSched, AreInTheSelectedTimeOnly) {
  state(kMain, 1'000, 1'100, RunState::kRunning, 0);
  state(kMain, 2'000, 2'100, RunState::kRunning, 0);
  const reading::File file = readBack(trace_, {.from_ns = 1'900, .to_ns = 2'200});
  EXPECT_EQ(textsOf(file),
            (Texts{"cpu 0 at 2000: 0 (0) to 10 main", "cpu 0 at 2100: 10 (0) to 0 swapper"}));
}

TEST_F(PerfettoSched, WithoutTheClockOfTheKernelsEventsThereAreNone) {
  trace_.metadata = {};
  state(kMain, 1'000, 1'100, RunState::kRunning, 0);
  EXPECT_TRUE(readBack(trace_).scheduler.empty());
}

TEST_F(PerfettoSched, ManyEventsAndDamagedIdsAreWritten) {
  for (int64_t i = 0; i < 2'000; ++i) {
    state(kMain, 1'000 + 10 * i, 1'005 + 10 * i, RunState::kRunning, 3);
  }
  state(ThreadId{77}, 5, 6, RunState::kRunning, 3);
  trace_.wakeup.push({.time_ns = 7, .thread_id = ThreadId{78}});
  trace_.wakeup.push({.time_ns = 8, .thread_id = kMain, .waker_thread_id = ThreadId{78}});
  const reading::File file = readBack(trace_);
  EXPECT_EQ(file.scheduler.size(), 4'001u);
}

}  // namespace
}  // namespace tracesmith
