// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_system.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tracesmith {
namespace {

SampledFrame frameIn(std::string module, uint64_t offset) {
  SampledFrame frame;
  frame.module = std::move(module);
  frame.module_offset = offset;
  return frame;
}

/// Modules of the frames of a path, innermost first.
std::vector<std::string> modulesOf(const Trace& trace, CallPathId path) {
  std::vector<std::string> out;
  for (; path != CallPathId::kNone; path = trace.call_path.parent[indexOf(path)]) {
    const FrameId frame = trace.call_path.frame[indexOf(path)];
    out.emplace_back(trace.text(trace.frame.module[indexOf(frame)]));
  }
  return out;
}

TEST(RecordedSystemTest, NumbersGoOnFromOneBatchToTheNext) {
  SharedRows shared;
  RecordedSystem system(shared, [&](const SampledProcess&) {
    return static_cast<ProcessId>(10 + ++shared.processes);
  });
  SystemEvents first;
  first.sample_ns = 1'000'000;
  first.processes = {{.pid = 100}};
  first.frames = {frameIn("a.out", 1), frameIn("b.so", 2)};
  first.paths = {{0, 1}, {1, 2}};
  first.names = {{0, 100, "main"}};
  first.samples = {
      {.time_ns = 5, .process = 0, .tid = 100, .cpu = 3, .path = 2, .mode = CpuMode::kUser}};
  system.add(first);
  SystemEvents second;
  second.processes = {{.pid = 200}};
  second.frames = {frameIn("a.out", 1), frameIn("c.so", 3)};  // one that is known
  second.paths = {{1, 4}};
  second.samples = {{.time_ns = 6, .process = 1, .tid = 100, .path = 3, .mode = CpuMode::kKernel},
                    {.time_ns = 7, .process = 0, .tid = 100}};
  second.states = {{.start_ns = 1,
                    .duration_ns = 2,
                    .process = 1,
                    .tid = 100,
                    .cpu = 4,
                    .state = RunState::kWaiting}};
  system.add(second);

  const Trace& t = shared.delta;
  ASSERT_EQ(t.cpu_sample.size(), 3u);
  EXPECT_EQ(t.cpu_sample.process_id[0], static_cast<ProcessId>(11));
  EXPECT_EQ(t.cpu_sample.process_id[1], static_cast<ProcessId>(12));
  EXPECT_NE(t.cpu_sample.thread_id[0], t.cpu_sample.thread_id[1]) << "another process";
  EXPECT_EQ(t.cpu_sample.thread_id[0], t.cpu_sample.thread_id[2]);
  EXPECT_EQ(t.cpu_sample.weight_ns[0], 1'000'000u);
  EXPECT_EQ(t.cpu_sample.cpu[0], 3u);
  EXPECT_EQ(t.cpu_sample.call_path_id[2], CallPathId::kNone);
  EXPECT_EQ(t.frame.size(), 3u);
  EXPECT_EQ(modulesOf(t, t.cpu_sample.call_path_id[1]),
            (std::vector<std::string>{"c.so", "a.out"}));
  ASSERT_EQ(t.thread_state.size(), 1u);
  EXPECT_EQ(t.thread_state.state[0], RunState::kWaiting);
  EXPECT_EQ(t.thread_state.thread_id[0], t.cpu_sample.thread_id[1]);
  ASSERT_EQ(t.thread.size(), 2u);
  EXPECT_EQ(t.text(t.thread.name[0]), "main");
  EXPECT_EQ(system.samples(), 3u);
}

TEST(ThreadRowsTest, AgentsAndTheSystemTellOfTheSameThreads) {
  Trace delta;
  ThreadRows rows(delta);
  constexpr auto kProcess = static_cast<ProcessId>(1);
  const ThreadId id = rows.thread(kProcess, 7);
  EXPECT_EQ(rows.thread(kProcess, 7, "worker"), id);
  EXPECT_EQ(rows.thread(kProcess, 7, "worker"), id);
  EXPECT_EQ(rows.thread(kProcess, 7, "Loader", NamedBy::kProgram), id);
  EXPECT_EQ(rows.thread(kProcess, 7, "worker"), id);  // the program's name stays
  EXPECT_NE(rows.thread(static_cast<ProcessId>(2), 7), id);
  ASSERT_EQ(delta.thread.size(), 4u);  // a row for each change
  EXPECT_EQ(delta.text(delta.thread.name[2]), "Loader");

  ThreadRows resumed(delta);
  for (size_t i = 0; i < 4; ++i) resumed.restore(delta.thread.row(i));
  EXPECT_EQ(resumed.thread(kProcess, 7), id);
  EXPECT_EQ(static_cast<uint32_t>(resumed.thread(kProcess, 8)), 3u);
}

}  // namespace
}  // namespace tracesmith
