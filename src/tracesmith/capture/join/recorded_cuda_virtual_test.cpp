// SPDX-License-Identifier: Apache-2.0
// Rows of CUDA's virtual memory API, and possible CUPTI records of the same calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tracesmith/capture/join/record_joiner.hpp"
#include "tracesmith/capture/join/recorded_cuda.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith {
namespace {

using arena::CudaText;
using arena::RecordKind;
using ::testing::ElementsAre;

class VirtualMemoryRowsTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kMemCreate = arena::cudaFunction(1, 549);
  static constexpr uint32_t kMemAlloc = arena::cudaFunction(1, 243);

  VirtualMemoryRowsTest() {
    define(CudaText::kFunction, kMemCreate, "cuMemCreate");
    define(CudaText::kFunction, kMemAlloc, "cuMemAlloc_v2");
    describe(0);
    describe(1);
  }
  void describe(uint32_t device) {
    define(CudaText::kDevice, device, "NVIDIA H200");
    arena::CudaDeviceRecord d{};
    d.header = {RecordKind::kCudaDevice, 0, sizeof d / 8, device};
    ASSERT_TRUE(cuda_.define({reinterpret_cast<const uint8_t*>(&d), sizeof d}, 0));
  }
  void define(CudaText what, uint32_t number, const std::string& name) {
    const arena::CudaTextRecord r{{RecordKind::kCudaText, static_cast<uint8_t>(what), 0, number},
                                  static_cast<uint32_t>(name.size()),
                                  static_cast<uint32_t>(CallKind::kMemory)};
    Bytes bytes(sizeof r + name.size());
    std::memcpy(bytes.data(), &r, sizeof r);
    std::memcpy(bytes.data() + sizeof r, name.data(), name.size());
    ASSERT_TRUE(cuda_.define(bytes, 0));
  }
  template <class Record>
  void give(const Record& record) {
    ASSERT_TRUE(
        cuda_.join({reinterpret_cast<const uint8_t*>(&record), sizeof record}, ThreadId{7}));
  }
  const Trace& trace() const { return shared_.delta; }
  static arena::CudaVirtualMemoryRecord record(arena::VirtualMemoryCall call, uint64_t correlation,
                                               uint64_t address = 0, uint32_t device = 0) {
    arena::CudaVirtualMemoryRecord r{};
    r.header = {RecordKind::kCudaVirtualMemory, static_cast<uint8_t>(call), sizeof r / 8, 0};
    r.correlation = correlation;
    r.time = static_cast<int64_t>(correlation * 10);
    r.handle = 16;
    r.address = address;
    r.bytes = 4096;
    r.offset = 512;
    r.device = call == arena::VirtualMemoryCall::kCreate ? device : arena::kNoDevice;
    return r;
  }
  void hostCall(uint32_t function, uint64_t correlation) {
    arena::CallRecord r{};
    r.header = {RecordKind::kCudaCall, 0, sizeof r / 8, function};
    r.correlation = correlation;
    give(r);
  }
  /// A record that CUPTI might send for the same call.
  void cupti(uint8_t operation, uint64_t correlation) {
    give(arena::CudaMemoryRecord{
        {RecordKind::kCudaMemory, operation, sizeof(arena::CudaMemoryRecord) / 8, 3},
        correlation,
        15,
        0x9000,
        4096,
        0,
        1});
  }

  SharedRows shared_;
  RecordedStacks stacks_{shared_.stacks, shared_.delta, ProcessId{1}};
  RecordedCuda cuda_{shared_, stacks_, ProcessId{1}, [](int64_t stamp) { return stamp; }};
};

TEST_F(VirtualMemoryRowsTest, PhysicalMemoryIsAllocatedAndFreedAndMappingsAreInstants) {
  give(record(arena::VirtualMemoryCall::kCreate, 1, 0, 1));
  give(record(arena::VirtualMemoryCall::kMap, 2, 0x7000));
  give(record(arena::VirtualMemoryCall::kUnmap, 3, 0x7000));
  give(record(arena::VirtualMemoryCall::kRelease, 4));
  cuda_.endPass();
  cuda_.finish();
  ASSERT_EQ(trace().memory_event.size(), 2u);
  const MemoryEventRow made = trace().memory_event.row(0), gone = trace().memory_event.row(1);
  EXPECT_EQ(made.kind, MemoryKind::kAlloc);
  EXPECT_EQ(made.time_ns, 10);
  EXPECT_EQ(made.correlation_id, 1u);
  EXPECT_EQ(made.thread_id, ThreadId{7});
  EXPECT_EQ(trace().text(made.name), "device memory, virtual");
  EXPECT_EQ(gone.kind, MemoryKind::kFree);
  EXPECT_EQ(gone.time_ns, 40);
  EXPECT_EQ(gone.correlation_id, 4u);
  for (const MemoryEventRow& row : {made, gone}) {
    EXPECT_EQ(row.address, 0x7000u);
    EXPECT_EQ(row.bytes, 4096u);
    ASSERT_NE(row.device_id, DeviceId::kNone);
    EXPECT_EQ(trace().device.ordinal[static_cast<size_t>(row.device_id) - 1], 1u);
  }
  ASSERT_EQ(trace().range.size(), 2u);
  EXPECT_EQ(trace().text(trace().range.name[0]), "memory map");
  EXPECT_EQ(trace().text(trace().range.name[1]), "memory unmap");
  EXPECT_EQ(trace().text(trace().range.category[1]), "virtual memory");
  EXPECT_EQ(trace().range.kind[0], RangeKind::kInstant);
  EXPECT_EQ(trace().range.correlation_id[0], 2u);
  std::vector<std::string> attributes;
  for (size_t i = 0; i < trace().attribute.size(); ++i) {
    attributes.push_back(std::to_string(trace().attribute.row_number[i]) + ' ' +
                         std::string(trace().text(trace().attribute.key[i])) + ' ' +
                         std::string(trace().text(trace().attribute.value[i])));
  }
  EXPECT_THAT(attributes, ElementsAre("0 address 0x7000", "0 bytes 4096", "0 offset 512",
                                      "0 handle 0x10", "1 address 0x7000", "1 bytes 4096"));
  EXPECT_EQ(cuda_.totals().unmatched_memory, 0u);
}

TEST_F(VirtualMemoryRowsTest, RowsWaitForTheDeviceToBeDescribed) {
  give(record(arena::VirtualMemoryCall::kCreate, 1, 0, 2));
  give(record(arena::VirtualMemoryCall::kMap, 2, 0x7000));
  give(record(arena::VirtualMemoryCall::kCreate, 3, 0, 0));
  cuda_.endPass();
  cuda_.endPass();
  EXPECT_EQ(trace().memory_event.size(), 0u);
  define(CudaText::kDevice, 2, "NVIDIA B200");
  cuda_.endPass();
  EXPECT_EQ(trace().memory_event.size(), 0u);
  describe(2);
  cuda_.endPass();
  ASSERT_EQ(trace().memory_event.size(), 1u);
  EXPECT_EQ(trace().text(trace().device.vendor[0]), "NVIDIA");
  // Memory of a device that is never described has rows as well.
  give(record(arena::VirtualMemoryCall::kRelease, 4));
  give(record(arena::VirtualMemoryCall::kCreate, 5, 0, 3));
  cuda_.finish();
  EXPECT_EQ(trace().memory_event.size(), 4u);
  EXPECT_EQ(trace().text(trace().device.name[2]), "CUDA device 3");
}

TEST_F(VirtualMemoryRowsTest, MemoryOfTheHostBelongsToNoDevice) {
  give(record(arena::VirtualMemoryCall::kCreate, 1, 0, arena::kNoDevice));
  cuda_.finish();
  ASSERT_EQ(trace().memory_event.size(), 1u);
  EXPECT_EQ(trace().memory_event.device_id[0], DeviceId::kNone);
  EXPECT_EQ(trace().text(trace().memory_event.name[0]), "host memory, virtual");
}

TEST_F(VirtualMemoryRowsTest, WhatCuptiTellsOfTheSameCallIsNotCountedAgain) {
  // CUPTI's record comes after the call, in a later pass.
  give(record(arena::VirtualMemoryCall::kCreate, 1));
  hostCall(kMemCreate, 1);
  cuda_.endPass();
  cupti(1, 1);
  cuda_.endPass();
  cuda_.writeWaiting();
  // CUPTI's record comes first, and the file is written before the call is seen.
  cupti(2, 2);
  cuda_.endPass();
  cuda_.writeWaiting();
  give(record(arena::VirtualMemoryCall::kRelease, 2));
  hostCall(kMemCreate, 2);
  cuda_.endPass();
  cuda_.endPass();
  // Another call has its CUPTI record as before.
  cupti(1, 3);
  hostCall(kMemAlloc, 3);
  cuda_.endPass();
  cuda_.writeWaiting();
  cuda_.finish();
  ASSERT_EQ(trace().memory_event.size(), 3u);
  EXPECT_EQ(trace().memory_event.correlation_id[0], 1u);
  EXPECT_EQ(trace().memory_event.correlation_id[1], 2u);
  EXPECT_EQ(trace().memory_event.correlation_id[2], 3u);
  EXPECT_EQ(trace().text(trace().memory_event.name[0]), "device memory, virtual");
  EXPECT_EQ(trace().text(trace().memory_event.name[1]), "device memory, virtual");
  EXPECT_EQ(trace().text(trace().memory_event.name[2]), "device memory");
}

TEST_F(VirtualMemoryRowsTest, ACollectorGoesOnWithWhatIsAlive) {
  give(record(arena::VirtualMemoryCall::kCreate, 1));
  give(record(arena::VirtualMemoryCall::kMap, 2, 0x7000));
  cuda_.endPass();
  cuda_.endPass();
  give(record(arena::VirtualMemoryCall::kRelease, 3));  // seen, but not applied yet
  ASSERT_EQ(trace().memory_event.size(), 1u);

  SharedRows after;
  after.delta.strings = trace().strings;
  RecordedStacks stacks(after.stacks, after.delta, ProcessId{1});
  RecordedCuda next(after, stacks, ProcessId{1}, [](int64_t stamp) { return stamp; });
  for (size_t i = 0; i < trace().pending.size(); ++i) {
    const PendingRow row = trace().pending.row(i);
    ASSERT_EQ(row.kind, CallKind::kOther);
    ASSERT_TRUE(RecordedCuda::isVirtualMemory(row.sub_kind));
    next.restoreVirtualMemory(row);
  }
  next.restoreMemoryEvent(trace().memory_event.row(0));
  const auto unmap = record(arena::VirtualMemoryCall::kUnmap, 4, 0x7000);
  next.join({reinterpret_cast<const uint8_t*>(&unmap), sizeof unmap}, ThreadId{8});
  next.finish();
  ASSERT_EQ(after.delta.memory_event.size(), 1u);
  const MemoryEventRow gone = after.delta.memory_event.row(0);
  EXPECT_EQ(gone.kind, MemoryKind::kFree);
  EXPECT_EQ(gone.address, trace().memory_event.address[0]);
  EXPECT_EQ(gone.correlation_id, 4u);
  EXPECT_EQ(gone.bytes, 4096u);
  EXPECT_EQ(next.totals().unmatched_memory, 0u);
}

TEST_F(VirtualMemoryRowsTest, MemoryFromBeforeTheCaptureIsTold) {
  give(record(arena::VirtualMemoryCall::kRelease, 1));
  cuda_.finish();
  EXPECT_EQ(trace().memory_event.size(), 0u);
  EXPECT_EQ(cuda_.losses().lost, 0u);
  EXPECT_EQ(cuda_.losses().reason,
            "1 calls of the virtual memory API name memory whose creation was not recorded");
}

TEST_F(VirtualMemoryRowsTest, WithoutMemoryThereAreNoRows) {
  shared_.keep_memory = false;
  give(record(arena::VirtualMemoryCall::kCreate, 1));
  give(record(arena::VirtualMemoryCall::kMap, 2, 0x7000));
  cuda_.finish();
  EXPECT_EQ(trace().memory_event.size(), 0u);
  EXPECT_EQ(trace().range.size(), 0u);
  EXPECT_EQ(trace().pending.size(), 0u);
}

}  // namespace
}  // namespace tracesmith
