// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_cuda.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tracesmith/capture/join/record_joiner.hpp"

namespace tracesmith {
namespace {

using arena::CudaText;
using arena::RecordKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kLaunchKernel = arena::cudaFunction(2, 211);

class RecordedCudaTest : public ::testing::Test {
 protected:
  RecordedCudaTest() {
    text(CudaText::kFunction, kLaunchKernel, "cudaLaunchKernel_v7000", CallKind::kLaunch);
    text(CudaText::kKernel, 1, "vectorAdd");
  }
  template <class Record>
  void give(const Record& record) {
    giveBytes(Bytes(reinterpret_cast<const uint8_t*>(&record),
                    reinterpret_cast<const uint8_t*>(&record) + sizeof record));
  }
  void giveBytes(const Bytes& bytes, ThreadId thread = ThreadId{7}) {
    ASSERT_TRUE(cuda_.join(bytes, thread));
  }
  template <class Record>
  void define(const Record& record, uint64_t first_correlation = 0) {
    ASSERT_TRUE(cuda_.define({reinterpret_cast<const uint8_t*>(&record), sizeof record},
                             first_correlation));
  }
  void text(CudaText kind, uint32_t number, const std::string& text, CallKind call_kind = {},
            uint64_t first_correlation = 0) {
    const arena::CudaTextRecord r{{RecordKind::kCudaText, static_cast<uint8_t>(kind), 0, number},
                                  static_cast<uint32_t>(text.size()),
                                  static_cast<uint32_t>(call_kind)};
    Bytes bytes(sizeof r + text.size());
    std::memcpy(bytes.data(), &r, sizeof r);
    std::memcpy(bytes.data() + sizeof r, text.data(), text.size());
    if (kind == CudaText::kProblem) return giveBytes(bytes);
    ASSERT_TRUE(cuda_.define(bytes, first_correlation));
  }
  /// Adds the text that the agent writes when its capture ends.
  void tools(const std::string& names) {
    const arena::CudaTextRecord r{
        {RecordKind::kCudaText, static_cast<uint8_t>(CudaText::kOtherTools), 0, 0},
        static_cast<uint32_t>(names.size()),
        0};
    Bytes bytes(sizeof r + names.size());
    std::memcpy(bytes.data(), &r, sizeof r);
    std::memcpy(bytes.data() + sizeof r, names.data(), names.size());
    giveBytes(bytes);
  }
  /// Losses of a process with a profiler when launches `first` to `last` of ten have no kernel.
  RecordedCuda::Losses lossesOfTenLaunches(int64_t first, int64_t last) {
    for (int64_t i = 1; i <= 10; ++i) {
      const auto id = static_cast<uint64_t>(i);
      call(id, i * 10, i * 10 + 5, 1, arena::kFlagKernel);
      if (i < first || i > last) kernel(id, i * 100, i * 100 + 50);
    }
    tools("PyTorch's profiler (Kineto)");
    cuda_.finish();
    return cuda_.losses();
  }
  void call(uint64_t correlation, int64_t start, int64_t end, uint32_t kernel = 0,
            uint8_t flags = 0) {
    arena::CallRecord r{};
    r.header = {RecordKind::kCudaCall, flags, sizeof r / 8, kLaunchKernel};
    r.stream = kernel;
    r.start = start;
    r.end = end;
    r.correlation = correlation;
    give(r);
  }
  void kernel(uint64_t correlation, int64_t start, int64_t end, uint32_t stream = 13) {
    give(kernelRecord(correlation, start, end, stream));
  }
  static arena::CudaKernelRecord kernelRecord(uint64_t correlation, int64_t start, int64_t end,
                                              uint32_t stream = 13) {
    arena::CudaKernelRecord r{};
    r.header = {RecordKind::kCudaKernel, 0, sizeof r / 8, 1};
    r.correlation = correlation;
    r.start = start;
    r.end = end;
    r.queued = start - 20;
    r.submitted = start - 10;
    r.context = 1;
    r.stream = stream;
    r.registers = 32;
    r.grid[0] = 4;
    r.grid[1] = r.grid[2] = 1;
    r.block[0] = 256;
    r.block[1] = r.block[2] = 1;
    r.dynamic_shared = 1024;
    return r;
  }
  const Trace& trace() const { return shared_.delta; }

  SharedRows shared_;
  RecordedStacks stacks_{shared_.stacks, shared_.delta, ProcessId{1}};
  RecordedCuda cuda_{shared_, stacks_, ProcessId{1}, [](int64_t stamp) { return stamp; }};
};

TEST_F(RecordedCudaTest, AGraphAsAWholeIsOneRow) {
  arena::CudaGraphRecord g{};
  g.header = {RecordKind::kCudaGraph, 0, sizeof g / 8, 12};
  g.correlation = 5;
  g.start = 100;
  g.end = 400;
  g.context = 1;
  g.stream = 13;
  give(g);
  call(5, 10, 50);
  arena::CudaGraphRecord host = g;  // a graph whose first node runs on the host
  host.correlation = 6;
  host.device = host.context = arena::kHostNode;
  give(host);
  call(6, 60, 70);
  cuda_.endPass();
  ASSERT_EQ(trace().kernel.size(), 2u);
  const KernelRow row = trace().kernel.row(0);
  EXPECT_EQ(trace().text(row.name), "CUDA graph 12 (as a whole)");
  EXPECT_EQ(row.start_ns, 100);
  EXPECT_EQ(row.duration_ns, 300);
  EXPECT_EQ(row.thread_id, ThreadId{7});
  EXPECT_NE(row.stream_id, StreamId::kNone);
  EXPECT_EQ(trace().kernel.row(1).stream_id, StreamId::kNone);
  EXPECT_EQ(trace().context.size(), 1u);
}

TEST_F(RecordedCudaTest, AnotherToolIsNamedWhereTheLastLaunchesAreMissing) {
  const RecordedCuda::Losses lost = lossesOfTenLaunches(8, 10);
  EXPECT_EQ(lost.lost, 3u);
  EXPECT_THAT(lost.reason, HasSubstr("delivered no record of the last 3 launches"));
  EXPECT_THAT(lost.reason, HasSubstr("PyTorch's profiler (Kineto)"));
}

TEST_F(RecordedCudaTest, LossesInBetweenAreNoOtherTools) {
  const RecordedCuda::Losses lost = lossesOfTenLaunches(1, 3);
  EXPECT_EQ(lost.lost, 3u);
  EXPECT_THAT(lost.reason, ::testing::Not(HasSubstr("Kineto")));
}

TEST_F(RecordedCudaTest, AKernelAndItsCallFindEachOtherInEitherOrder) {
  kernel(5, 100, 200);
  cuda_.endPass();
  EXPECT_EQ(trace().kernel.size(), 0u);  // its call has not been seen
  call(5, 10, 50);
  call(6, 60, 70);
  kernel(6, 200, 300);
  cuda_.endPass();
  ASSERT_EQ(trace().kernel.size(), 2u);
  ASSERT_EQ(trace().host_call.size(), 2u);
  const KernelRow k = trace().kernel.row(0);
  EXPECT_EQ(trace().text(k.name), "vectorAdd");
  EXPECT_EQ(k.start_ns, 100);
  EXPECT_EQ(k.duration_ns, 100);
  EXPECT_EQ(k.queued_before_ns, 20);
  EXPECT_EQ(k.submitted_before_ns, 10);
  EXPECT_EQ(k.thread_id, ThreadId{7});
  EXPECT_EQ(k.correlation_id, 5u);
  const HostCallRow h = trace().host_call.row(0);
  EXPECT_EQ(trace().text(h.name), "cudaLaunchKernel");
  EXPECT_EQ(h.kind, CallKind::kLaunch);
  EXPECT_EQ(h.correlation_id, 5u);
  EXPECT_EQ(h.duration_ns, 40);
  cuda_.finish();
  EXPECT_EQ(cuda_.totals().without_call, 0u);
}

TEST_F(RecordedCudaTest, AGraphHasManyKernelsOfOneCall) {
  call(9, 10, 50);
  for (int i = 0; i < 300; ++i) kernel(9, 100 + i, 101 + i, 13 + static_cast<uint32_t>(i % 3));
  cuda_.endPass();
  EXPECT_EQ(trace().kernel.size(), 300u);
  EXPECT_EQ(trace().stream.size(), 3u);
  EXPECT_EQ(trace().context.size(), 1u);
  EXPECT_EQ(trace().device.size(), 1u);
  EXPECT_EQ(trace().launch_shape.size(), 1u);
}

TEST_F(RecordedCudaTest, WorkWithoutACallIsKeptAndCounted) {
  kernel(1, 100, 200);
  cuda_.endPass();
  cuda_.finish();
  ASSERT_EQ(trace().kernel.size(), 1u);
  EXPECT_EQ(trace().kernel.thread_id[0], ThreadId::kNone);
  EXPECT_EQ(cuda_.totals().without_call, 1u);
}

TEST_F(RecordedCudaTest, WhatHasNoTimesIsCountedAndDrawnNowhere) {
  call(1, 10, 20);
  kernel(1, 0, 0);
  give(arena::CudaDroppedRecord{{RecordKind::kCudaDropped, 0, 2, 0}, 11});
  cuda_.finish();
  EXPECT_EQ(trace().kernel.size(), 0u);
  EXPECT_EQ(cuda_.totals().untimed, 1u);
  EXPECT_EQ(cuda_.totals().dropped, 11u);
}

TEST_F(RecordedCudaTest, NegativeTimesAreNone) {
  call(1, 10, 20);
  kernel(1, INT64_MIN + 100, 200);
  cuda_.finish();
  EXPECT_EQ(trace().kernel.size(), 0u);
  EXPECT_EQ(cuda_.totals().untimed, 1u);
}

TEST_F(RecordedCudaTest, DevicesAreDescribed) {
  text(CudaText::kDevice, 0, "NVIDIA H200");
  arena::CudaDeviceRecord d{};
  d.header = {RecordKind::kCudaDevice, 0, sizeof d / 8, 0};
  d.multiprocessors = 132;
  d.compute_major = 9;
  d.warp_size = 32;
  d.threads_per_multiprocessor = 2048;
  d.registers_per_multiprocessor = 65536;
  d.shared_bytes_per_multiprocessor = 233'472;
  d.uuid[0] = 0xab;
  define(d);
  define(arena::CudaContextRecord{{RecordKind::kCudaContext, 0, 2, 1}, 0});
  call(1, 10, 20);
  kernel(1, 30, 40);
  cuda_.endPass();
  ASSERT_EQ(trace().device.size(), 1u);
  const DeviceRow row = trace().device.row(0);
  EXPECT_EQ(trace().text(row.name), "NVIDIA H200");
  EXPECT_EQ(row.backend, PlatformType::CUDA);
  EXPECT_EQ(row.compute_units, 132u);
  EXPECT_EQ(row.max_threads_per_unit, 2048u);
  EXPECT_EQ(row.registers_per_unit, 65'536u);
  EXPECT_EQ(row.shared_bytes_per_unit, 233'472u);
  EXPECT_EQ(trace().text(row.uuid), "GPU-ab000000-0000-0000-0000-000000000000");
}

TEST_F(RecordedCudaTest, CopiesBetweenDevicesNameBoth) {
  call(1, 10, 20);
  arena::CudaCopyRecord copy{};
  copy.header = {RecordKind::kCudaCopy, 10, sizeof copy / 8, 0};
  copy.correlation = 1;
  copy.start = 30;
  copy.end = 40;
  copy.bytes = 4096;
  copy.context = 1;
  copy.devices = arena::copyDevices(0, 1);
  give(copy);
  cuda_.endPass();
  ASSERT_EQ(trace().copy.size(), 1u);
  const CopyRow row = trace().copy.row(0);
  EXPECT_EQ(row.kind, CopyKind::kPeerToPeer);
  EXPECT_EQ(trace().device.ordinal[indexOf(row.source_device_id)], 0u);
  EXPECT_EQ(trace().device.ordinal[indexOf(row.destination_device_id)], 1u);
}

TEST(SharedRowsDevice, DevicesAreToldApartByTheirUuid) {
  SharedRows shared;
  StringTable& strings = shared.delta.strings;
  DeviceRow row{.backend = PlatformType::CUDA,
                .name = strings.intern("H200"),
                .uuid = strings.intern("GPU-1")};
  // What each process sees of its own devices alone has the number 0.
  const DeviceId first = shared.device(row);
  row.uuid = strings.intern("GPU-2");
  const DeviceId second = shared.device(row);
  EXPECT_NE(first, second);
  row.ordinal = 7;
  EXPECT_EQ(shared.device(row), second);
  row.uuid = StringId::kNone;
  EXPECT_NE(shared.device(row), second) << "the name and the number say it then";

  shared.noteAddress("GPU-2", "0000:18:00.0");
  ASSERT_EQ(shared.delta.device.size(), 4u) << "the row is written again";
  EXPECT_EQ(shared.delta.text(shared.delta.device.pci_address[3]), "0000:18:00.0");
  shared.noteAddress("GPU-3", "0000:19:00.0");
  row.uuid = strings.intern("GPU-3");
  row.ordinal = 9;
  const DeviceId third = shared.device(row);
  EXPECT_EQ(shared.delta.text(shared.devices[indexOf(third)].row.pci_address), "0000:19:00.0");
}

TEST_F(RecordedCudaTest, ProblemsAreToldOnce) {
  text(CudaText::kProblem, 0, "libcupti was not found");
  text(CudaText::kProblem, 0, "libcupti was not found");
  text(CudaText::kProblem, 1, "CUPTI does not deliver copies");
  EXPECT_EQ(cuda_.problem(), "libcupti was not found; CUPTI does not deliver copies");
}

TEST_F(RecordedCudaTest, WorkNamesItsDeviceWhereNoContextWasDescribed) {
  call(1, 10, 20);
  auto on_second = kernelRecord(1, 30, 40);
  on_second.device = 1;
  on_second.context = 2;
  give(on_second);
  cuda_.endPass();
  ASSERT_EQ(trace().device.size(), 1u);
  EXPECT_EQ(trace().device.ordinal[0], 1u);
}

TEST_F(RecordedCudaTest, NumbersMeanSomethingElseAfterExec) {
  constexpr uint64_t kSecond = cuda_file::kIdsOfLife;
  text(CudaText::kFunction, kLaunchKernel, "cuLaunchKernel", CallKind::kLaunch, kSecond);
  text(CudaText::kKernel, 1, "softmax", {}, kSecond);
  call(5, 10, 20);
  kernel(5, 30, 40);
  call(kSecond + 5, 100, 120);
  kernel(kSecond + 5, 130, 140);
  cuda_.endPass();
  ASSERT_EQ(trace().kernel.size(), 2u);
  EXPECT_EQ(trace().text(trace().kernel.name[0]), "vectorAdd");
  EXPECT_EQ(trace().text(trace().kernel.name[1]), "softmax");
  EXPECT_EQ(trace().text(trace().host_call.name[1]), "cuLaunchKernel");
  EXPECT_EQ(trace().context.size(), 2u);
  EXPECT_NE(trace().stream.handle[0], trace().stream.handle[1]);
}

TEST_F(RecordedCudaTest, LaunchesThatNothingCameOfAreCounted) {
  constexpr uint8_t kLaunch = arena::kFlagKernel;
  call(1, 10, 20, 1, kLaunch);
  call(2, 30, 40, 0, kLaunch);                         // its name was lost
  call(3, 50, 60, 1, kLaunch | arena::kFlagCaptured);  // it became a node of a graph
  call(4, 70, 80);                                     // a launch of a graph, say
  kernel(1, 90, 100);
  cuda_.endPass();
  cuda_.finish();
  EXPECT_EQ(cuda_.totals().never_came, 1u);
  EXPECT_EQ(trace().text(trace().host_call.subject[2]), "vectorAdd");
}

TEST_F(RecordedCudaTest, AKernelOfAGraphHasTheStackAtWhichItsNodeWasMade) {
  shared_.delta.frame.push({.function = shared_.delta.strings.intern("capture")});
  cuda_.restoreGraphNode({.kind = ObjectKind::kGraphNode, .handle = 11, .id = 4});
  give(arena::CudaGraphNodeRecord{
      {RecordKind::kCudaGraphNode, 0, sizeof(arena::CudaGraphNodeRecord) / 8, 0}, 12, 11, 0});
  call(1, 10, 20);
  for (const uint64_t node : {12, 13}) {
    auto k = kernelRecord(1, 30, 40);
    k.graph_node = node;
    give(k);
  }
  cuda_.endPass();
  EXPECT_THAT(trace().kernel.call_path_id, ElementsAre(CallPathId{4}, CallPathId::kNone));
}

TEST_F(RecordedCudaTest, ACollectorGoesOnWhereAnotherDied) {
  cuda_.restoreContext({.id = ContextId{1}, .handle = 1});
  cuda_.restoreStream({.id = StreamId{3}, .context_id = ContextId{1}, .handle = 13});
  cuda_.restoreCall({.thread_id = ThreadId{9}, .correlation_id = 5, .call_path_id = CallPathId{2}});
  cuda_.restoreWaiting(5);
  cuda_.restoreWaiting(6);
  cuda_.forgetWaiting(5);
  kernel(5, 30, 40);
  cuda_.endPass();
  cuda_.finish();
  ASSERT_EQ(trace().kernel.size(), 1u);
  EXPECT_EQ(trace().kernel.stream_id[0], StreamId{3});
  EXPECT_EQ(trace().kernel.thread_id[0], ThreadId{9});
  EXPECT_EQ(trace().kernel.call_path_id[0], CallPathId{2});
  EXPECT_EQ(trace().stream.size(), 0u);
  EXPECT_EQ(cuda_.totals().interrupted, 1u);
  EXPECT_EQ(cuda_.totals().without_call, 0u);
}

TEST_F(RecordedCudaTest, LaunchesThatAnotherCollectorSawAreStillAwaited) {
  StringTable& strings = shared_.delta.strings;
  const StringId launch = strings.intern("cuLaunchKernel");
  const StringId graph = strings.intern("cuGraphLaunch");
  const auto restore = [&](uint64_t correlation, StringId name, int32_t result = 0,
                           StringId subject = StringId::kNone) {
    cuda_.restoreCall({.name = name,
                       .correlation_id = correlation,
                       .result = result,
                       .kind = CallKind::kLaunch,
                       .subject = subject});
  };
  restore(1, launch);  // no kernel comes
  restore(2, launch);
  cuda_.forgetWaiting(2);  // its kernel is in the file
  restore(3, launch);
  kernel(3, 30, 40);  // its kernel comes now
  restore(4, launch);
  cuda_.restoreWaiting(4);  // its kernel was lost with the collector
  restore(5, graph);
  restore(6, launch, 1);
  restore(7, launch, 0, launch);  // captured
  cuda_.restoreNoDeviceWork(7);
  restore(8, launch);  // captured, and its name is unknown
  cuda_.restoreNoDeviceWork(8);
  cuda_.finish();
  EXPECT_EQ(cuda_.totals().never_came, 1u);
  EXPECT_EQ(cuda_.totals().interrupted, 1u);
}

TEST_F(RecordedCudaTest, OfWhichLaunchesNothingIsToComeIsTold) {
  constexpr uint8_t kLaunch = arena::kFlagKernel;
  call(1, 10, 20, 1, kLaunch | arena::kFlagCaptured);
  call(2, 30, 40, 0, kLaunch | arena::kFlagCaptured);  // its name was lost
  call(3, 50, 60, 1, kLaunch);
  call(4, 70, 80, 1, kLaunch);
  kernel(3, 90, 100);
  kernel(4, 0, 0);  // without times
  cuda_.endPass();
  EXPECT_THAT(trace().pending.correlation_id, ElementsAre(1, 2, 4));
  for (size_t i = 0; i < trace().pending.size(); ++i) {
    EXPECT_EQ(trace().pending.kind[i], CallKind::kOther);
    EXPECT_EQ(trace().pending.sub_kind[i], RecordedCuda::kPendingNoDeviceWork);
  }
  cuda_.finish();
  EXPECT_EQ(cuda_.totals().never_came, 0u);
}

TEST_F(RecordedCudaTest, LossesAreReadAgainAsTheyWereTold) {
  text(CudaText::kProblem, 1, "CUPTI does not deliver copies (35, why; and how)");
  constexpr uint8_t kLaunch = arena::kFlagKernel;
  for (const uint64_t correlation : {1, 2, 3}) {
    call(correlation, 10, 20, 1, kLaunch);
    kernel(correlation, 0, 0);
  }
  give(arena::CudaDroppedRecord{{RecordKind::kCudaDropped, 0, 2, 0}, 11});
  kernel(9, 100, 200);  // its call may still come
  cuda_.endPass();
  const RecordedCuda::Losses before = cuda_.losses();
  EXPECT_EQ(before.lost, 14u);
  EXPECT_EQ(before.reason,
            "CUPTI does not deliver copies (35, why; and how); 11 were dropped by CUPTI, which had "
            "no buffer for them; 3 have no times: the device had no room for them");

  RecordedCuda next(shared_, stacks_, ProcessId{1}, [](int64_t stamp) { return stamp; });
  next.restoreLosses(before.reason);
  EXPECT_EQ(next.losses().reason, before.reason);
  EXPECT_EQ(next.losses().lost, 14u);
  next.finish();
  EXPECT_EQ(next.losses().lost, 14u);
  next.restoreLosses("7 belong to no call that was recorded; 5 are something else");
  EXPECT_EQ(next.totals().without_call, 7u);
  EXPECT_EQ(next.problem(), "5 are something else");
}

TEST_F(RecordedCudaTest, AllocationsAndCompilationsHaveTables) {
  call(5, 10, 20);
  give(arena::CudaMemoryRecord{{RecordKind::kCudaMemory, 1, sizeof(arena::CudaMemoryRecord) / 8, 3},
                               5,
                               15,
                               0x7000,
                               4096,
                               0,
                               1});
  give(arena::CudaMemoryRecord{{RecordKind::kCudaMemory, 2, sizeof(arena::CudaMemoryRecord) / 8, 2},
                               6,
                               25,
                               0x9000,
                               64,
                               ~0u,
                               ~0u});
  give(arena::CudaJitRecord{
      {RecordKind::kCudaJit, 3, sizeof(arena::CudaJitRecord) / 8, 1}, 7, 1, 9});
  cuda_.endPass();
  cuda_.finish();
  ASSERT_EQ(trace().memory_event.size(), 2u);
  const MemoryEventRow made = trace().memory_event.row(0);
  EXPECT_EQ(made.kind, MemoryKind::kAlloc);
  EXPECT_EQ(made.bytes, 4096u);
  EXPECT_EQ(made.thread_id, ThreadId{7});
  EXPECT_NE(made.device_id, DeviceId::kNone);
  EXPECT_EQ(trace().text(made.name), "device memory");
  EXPECT_EQ(trace().memory_event.device_id[1], DeviceId::kNone);
  ASSERT_EQ(trace().program_build.size(), 1u);
  EXPECT_EQ(trace().text(trace().program_build.options[0]), "PTX to cubin");
  EXPECT_EQ(cuda_.totals().without_call, 0u);
}

TEST_F(RecordedCudaTest, PoolsAreMadeTrimmedAndFilled) {
  call(5, 10, 20);
  const auto pool = [&](uint8_t operation, int64_t time, uint64_t bytes, uint32_t pool_kind) {
    arena::CudaPoolRecord r{};
    r.header = {RecordKind::kCudaPool, operation, sizeof r / 8, 0};
    r.correlation = 5;
    r.time = time;
    r.address = 0x7000;
    r.bytes = bytes;
    r.release_threshold = 64;
    r.kept_bytes = 32;
    r.pool_kind = pool_kind;
    give(r);
  };
  pool(1, 12, 0, 1);
  arena::CudaMemoryRecord made{};
  made.header = {RecordKind::kCudaMemory, 1, sizeof made / 8, 3};
  made.correlation = 5;
  made.time = 13;
  made.context = 1;
  made.pool = 0x7000;
  made.pool_bytes = 4096;
  made.pool_used = 512;
  give(made);
  pool(3, 14, 32, 1);
  pool(2, 15, 32, 1);
  pool(1, 16, 7, 2);  // of another process: its size is unknown
  pool(1, 0, 7, 1);   // without a time
  cuda_.endPass();
  const RangeTable& ranges = trace().range;
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(trace().text(ranges.name[0]), "pool created");
  EXPECT_EQ(trace().text(ranges.name[1]), "pool trimmed");
  EXPECT_EQ(trace().text(ranges.name[2]), "pool destroyed");
  EXPECT_EQ(trace().text(ranges.category[0]), "memory pools");
  EXPECT_EQ(ranges.kind[0], RangeKind::kInstant);
  EXPECT_EQ(ranges.correlation_id[0], 5u);
  EXPECT_EQ(ranges.thread_id[0], ThreadId{7});
  EXPECT_EQ(trace().text(trace().memory_event.name[0]), "device memory of the pool 0x7000");
  ASSERT_EQ(trace().counter_track.size(), 2u);
  EXPECT_EQ(trace().text(trace().counter_track.name[0]), "pool 0x7000 reserved");
  EXPECT_EQ(trace().text(trace().counter_track.name[1]), "pool 0x7000 used");
  std::vector<double> values(trace().counter.value.begin(), trace().counter.value.end());
  EXPECT_THAT(values, ElementsAre(0, 0, 4096, 512, 32, 0, 0, 0));
  EXPECT_EQ(cuda_.totals().untimed, 1u);
}

TEST_F(RecordedCudaTest, ManagedMemoryMovesAndFaults) {
  const auto unified = [&](uint8_t counter, int64_t start, int64_t end, uint64_t value) {
    give(arena::CudaUnifiedRecord{
        {RecordKind::kCudaUnified, counter, sizeof(arena::CudaUnifiedRecord) / 8, 0},
        start,
        end,
        value,
        0x7000,
        0,
        0,
        0});
  };
  unified(1, 10, 20, 65536);
  unified(3, 30, 0, 0xabc);
  unified(4, 40, 45, 12);
  unified(4, 0, 0, 12);  // without times
  EXPECT_EQ(cuda_.totals().untimed, 1u);
  ASSERT_EQ(trace().copy.size(), 1u);
  EXPECT_EQ(trace().copy.row(0).kind, CopyKind::kMigrate);
  EXPECT_EQ(trace().copy.row(0).bytes, 65536u);
  ASSERT_EQ(trace().range.size(), 2u);
  EXPECT_EQ(trace().text(trace().range.name[0]), "CPU page fault");
  EXPECT_EQ(trace().range.kind[0], RangeKind::kInstant);
  EXPECT_EQ(trace().range.duration_ns[1], 5);
  ASSERT_EQ(trace().attribute.size(), 3u);
  EXPECT_EQ(trace().attribute.row_number[2], 1u);
  EXPECT_EQ(trace().text(trace().attribute.key[2]), "faults");
  EXPECT_EQ(trace().text(trace().attribute.value[2]), "12");
  EXPECT_EQ(trace().text(trace().attribute.value[0]), "0x7000");
}

TEST_F(RecordedCudaTest, WhatMakesNoSenseIsRefused) {
  Bytes cut(8);
  for (auto kind = static_cast<uint8_t>(RecordKind::kCudaText);
       kind <= static_cast<uint8_t>(RecordKind::kCudaVirtualMemory); ++kind) {
    if (!RecordedCuda::isOne(static_cast<RecordKind>(kind))) continue;
    cut[0] = kind;
    EXPECT_FALSE(cuda_.define(cut, 0)) << int{kind};
    EXPECT_FALSE(cuda_.join(cut, ThreadId{1})) << int{kind};
  }
  const arena::CudaTextRecord long_text{{RecordKind::kCudaText, 0, 2, 1}, 1000, 0};
  const ByteView bytes(reinterpret_cast<const uint8_t*>(&long_text), sizeof long_text);
  EXPECT_FALSE(cuda_.define(bytes, 0));
  EXPECT_FALSE(cuda_.join(bytes, ThreadId{1}));
}

}  // namespace
}  // namespace tracesmith
