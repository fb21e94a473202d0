// SPDX-License-Identifier: Apache-2.0
// Every call that a program makes is in its trace, or in a count of what was dropped.
#include <sstream>

#include "recording_test_util.hpp"

namespace tracesmith {
namespace {

constexpr int kThreads = 4;
constexpr int kLaunches = 200;  // per queue; two queues per thread

/// "pid launched failed" as the counting layer appends it.
struct Counted {
  uint64_t pid = 0, launched = 0, failed = 0;
};
Counted countedBy(const std::string& file) {
  Counted c;
  std::istringstream(readFile(file)) >> c.pid >> c.launched >> c.failed;
  return c;
}

template <class Table, class Kind>
size_t ofKind(const Table& table, Kind kind) {
  size_t n = 0;
  for (Kind k : table.kind) n += k == kind;
  return n;
}

class CountsTest : public RecordingTest, public ::testing::WithParamInterface<Injection> {};

TEST_P(CountsTest, EveryKindOfCommandIsRecordedAsOftenAsItWasMade) {
  const ScopedVariable layer("OPENCL_LAYERS", helper("libcounting-layer.so"));
  const ScopedVariable file("COUNTING_LAYER_FILE", path("counted"));
  ProfileOptions o = options(
      {helper("cl_mix"), path("made"), std::to_string(kThreads), std::to_string(kLaunches)});
  o.injection = GetParam();
  const Recording r = record(o);
  ASSERT_EQ(r.outcome.exit_code, 0);
  EXPECT_EQ(r.outcome.dropped, 0u);
  EXPECT_EQ(r.outcome.unresolved, 0u);
  const auto made = readReport(path("made"));
  const Counted counted = countedBy(path("counted"));
  const Trace& t = r.trace;

  EXPECT_EQ(number(made, "launches"), uint64_t{2} * kThreads * kLaunches);
  EXPECT_EQ(counted.launched, number(made, "launches") + number(made, "tasks"));
  EXPECT_EQ(t.kernel.size(), counted.launched);
  EXPECT_EQ(r.outcome.kernels, counted.launched);
  EXPECT_EQ(t.fill.size(), number(made, "fills"));
  EXPECT_EQ(ofKind(t.copy, CopyKind::kMap), number(made, "maps"));
  EXPECT_EQ(ofKind(t.copy, CopyKind::kUnmap), number(made, "unmaps"));
  EXPECT_EQ(t.copy.size(), number(made, "copies") + number(made, "maps") + number(made, "unmaps"));
  EXPECT_EQ(ofKind(t.sync, SyncKind::kMarker), number(made, "markers"));
  EXPECT_EQ(ofKind(t.sync, SyncKind::kBarrier), number(made, "barriers"));
  EXPECT_EQ(ofKind(t.sync, SyncKind::kStreamWait), number(made, "finishes"));
  EXPECT_EQ(t.flow.size(), number(made, "waits"));
  EXPECT_EQ(ofKind(t.memory_event, MemoryKind::kAlloc), number(made, "allocations"));
  EXPECT_EQ(ofKind(t.memory_event, MemoryKind::kFree), number(made, "allocations"));
  EXPECT_EQ(t.stream.size(), size_t{2} * kThreads);
  // Completions come on threads of the driver, which may have rows as well.
  EXPECT_GE(t.thread.size(), size_t{kThreads} + 1);
  expectNoDuplicates(t);
  expectLossesAddUp(t);
}

TEST_P(CountsTest, FailingCallsAreRecordedWithTheirCodes) {
  ProfileOptions o = options({helper("cl_mix"), path("made"), "1", "17"});
  o.injection = GetParam();
  const Recording r = record(o);
  ASSERT_EQ(r.outcome.exit_code, 0);
  const auto made = readReport(path("made"));
  std::map<std::string, std::map<int64_t, int>> codes;
  uint64_t failed = 0;
  const Trace& t = r.trace;
  for (size_t i = 0; i < t.host_call.size(); ++i) {
    if (t.host_call.result[i] == 0) continue;
    ++failed;
    ++codes[std::string(t.text(t.host_call.name[i]))][t.host_call.result[i]];
    EXPECT_GE(t.host_call.duration_ns[i], 0);
  }
  EXPECT_EQ(failed, number(made, "failed"));
  const int rounds = static_cast<int>(number(made, "fills"));
  ASSERT_GT(rounds, 0);
  EXPECT_EQ(codes["clEnqueueNDRangeKernel"][-53], rounds);  // CL_INVALID_WORK_DIMENSION
  EXPECT_EQ(codes["clEnqueueNDRangeKernel"][-54], rounds);  // CL_INVALID_WORK_GROUP_SIZE
  EXPECT_EQ(codes["clEnqueueReadBuffer"][-30], rounds);     // CL_INVALID_VALUE
  EXPECT_EQ(codes["clEnqueueWriteBuffer"][-30], rounds);
  EXPECT_EQ(codes["clEnqueueCopyBuffer"][-8], rounds);  // CL_MEM_COPY_OVERLAP
  EXPECT_EQ(codes["clEnqueueFillBuffer"][-30], rounds);
  EXPECT_EQ(codes["clEnqueueMarkerWithWaitList"][-57], rounds);  // CL_INVALID_EVENT_WAIT_LIST
}

TEST_P(CountsTest, ATinyRingLosesOnlyWhatItCounts) {
  const ScopedVariable layer("OPENCL_LAYERS", helper("libcounting-layer.so"));
  const ScopedVariable file("COUNTING_LAYER_FILE", path("counted"));
  // The program makes calls faster than any collector can read a ring of 64 KiB.
  ProfileOptions o = options({helper("enqueue_cost"), "null", "3", "100000"});
  o.injection = GetParam();
  o.ring_bytes = 1;
  o.overflow = OverflowPolicy::DropNewest;
  const Recording r = record(o);
  ASSERT_EQ(r.outcome.exit_code, 0);
  const Counted counted = countedBy(path("counted"));
  EXPECT_EQ(counted.failed, 300'000u);
  uint64_t recorded = 0;
  for (size_t i = 0; i < r.trace.host_call.size(); ++i) {
    recorded += r.trace.text(r.trace.host_call.name[i]) == "clEnqueueNDRangeKernel";
  }
  EXPECT_GT(r.outcome.dropped, 0u);
  EXPECT_EQ(recorded + r.outcome.dropped, counted.failed);
  expectLossesAddUp(r.trace);
}

TEST_P(CountsTest, ABlockedProgramLosesNothing) {
  ProfileOptions o = options({helper("enqueue_cost"), "null", "2", "50000"});
  o.injection = GetParam();
  o.ring_bytes = 1;
  o.overflow = OverflowPolicy::Block;
  const Recording r = record(o);
  EXPECT_EQ(r.outcome.dropped, 0u);
  uint64_t recorded = 0;
  for (size_t i = 0; i < r.trace.host_call.size(); ++i) {
    recorded += r.trace.text(r.trace.host_call.name[i]) == "clEnqueueNDRangeKernel";
  }
  EXPECT_EQ(recorded, 100'000u);
}

INSTANTIATE_TEST_SUITE_P(, CountsTest, ::testing::Values(Injection::kLayer, Injection::kPreload),
                         [](const auto& each) {
                           return each.param == Injection::kLayer ? "Layer" : "Preload";
                         });

TEST_F(RecordingTest, LaunchesAreFoundByTheirQueueKernelAndShape) {
  const Recording r = record({helper("cl_mix"), path("made"), "1", "40"});
  const Trace& t = r.trace;
  const uint64_t tasks = number(readReport(path("made")), "tasks");
  ASSERT_GT(tasks, 0u);
  ASSERT_EQ(t.kernel.size(), 80 + tasks);
  uint64_t found_tasks = 0;
  std::map<StreamId, int> per_stream;
  std::map<std::string, int> per_name;
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    const KernelRow k = t.kernel.row(i);
    const LaunchShapeRow shape = t.launch_shape.row(indexOf(k.shape_id));
    if (shape.global_x == 1) {  // clEnqueueTask: one work-item
      ++found_tasks;
      EXPECT_EQ(shape.local_x, 1u);
      EXPECT_EQ(t.text(k.name), "empty");
      continue;
    }
    ++per_stream[k.stream_id];
    ++per_name[std::string(t.text(k.name))];
    EXPECT_NE(t.deviceOf(k.stream_id), DeviceId::kNone);
    EXPECT_NE(t.contextOf(k.stream_id), ContextId::kNone);
    EXPECT_EQ(shape.dimensions, 1u);
    EXPECT_EQ(shape.global_x, 1024u);
    EXPECT_TRUE(shape.local_x == 64 || shape.local_x == 0);
    EXPECT_GT(k.duration_ns, 0);
    if (t.text(k.name) == "add") {
      EXPECT_EQ(t.text(k.arguments), "memory 4096 B, 4 B");
    }
  }
  EXPECT_EQ(found_tasks, tasks);
  EXPECT_EQ(per_stream.size(), 2u);
  for (const auto& [stream, n] : per_stream) EXPECT_EQ(n, 40);
  EXPECT_EQ(per_name["empty"], 16);
  EXPECT_EQ(per_name["add"], 64);
}

}  // namespace
}  // namespace tracesmith
