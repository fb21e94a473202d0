// SPDX-License-Identifier: Apache-2.0
// Events of NCCL that no program makes: cut records, events of operations that nobody knows, times
// that contradict each other. tests/nccl/nccl_plugin_test.py has NCCL's own order.
#include "tracesmith/capture/join/recorded_nccl.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tracesmith/capture/join/record_joiner.hpp"

namespace tracesmith {
namespace {

using arena::NcclEvent;

constexpr ProcessId kNcclProcess{3};
constexpr int64_t kEnd = 50'000;  // of the recording

template <class... Parts>
Bytes ncclBytesOf(const Parts&... parts) {
  Bytes bytes;
  const auto add = [&bytes](const auto& part) {
    const auto* p = reinterpret_cast<const uint8_t*>(&part);
    bytes.insert(bytes.end(), p, p + sizeof part);
  };
  (add(parts), ...);
  return bytes;
}

class RecordedNcclTest : public ::testing::Test {
 protected:
  static arena::NcclStartRecord start(NcclEvent event, int64_t time, uint64_t id,
                                      uint64_t parent = 0) {
    return {{arena::RecordKind::kNcclStart, static_cast<uint8_t>(event), 0, 1}, time, id, parent};
  }
  static arena::NcclStopRecord stop(NcclEvent event, int64_t time, uint64_t id,
                                    uint64_t device_time = 0) {
    return {
        {arena::RecordKind::kNcclStop, static_cast<uint8_t>(event), 0, device_time != 0 ? 1u : 0u},
        time,
        id,
        device_time};
  }
  static arena::NcclTransferPart transfer(uint32_t channels, const char* function = "AllReduce") {
    arena::NcclTransferPart part{};
    part.sequence = 4;
    part.element_count = 100;
    part.channels = channels;
    std::strncpy(part.function, function, sizeof part.function);
    std::strncpy(part.data_type, "ncclFloat32", sizeof part.data_type);
    return part;
  }
  void give(const Bytes& record) {
    EXPECT_TRUE(nccl_.define(record));
    EXPECT_TRUE(nccl_.join(record, ThreadId{7}));
  }
  /// A collective that was enqueued from 1000 to 2000 ns.
  void enqueue(uint64_t id, uint32_t channels) {
    give(ncclBytesOf(start(NcclEvent::kCollective, 1000, id), transfer(channels)));
    give(ncclBytesOf(stop(NcclEvent::kCollective, 2000, id)));
  }
  void run(uint64_t operation, uint64_t id, uint32_t channel, int64_t from, int64_t to,
           uint64_t device_offset) {
    give(ncclBytesOf(
        start(NcclEvent::kKernelChannel, from + 100, id, operation),
        arena::NcclChannelPart{static_cast<uint64_t>(from) + device_offset, channel, 0}));
    give(ncclBytesOf(
        stop(NcclEvent::kKernelChannel, to + 100, id, static_cast<uint64_t>(to) + device_offset)));
  }
  const CommTable& comm() const { return shared_.delta.comm; }
  const CommWorkTable& work() const { return shared_.delta.comm_work; }

  SharedRows shared_;
  SharedStacks shared_stacks_;
  RecordedStacks stacks_{shared_stacks_, shared_.delta, kNcclProcess};
  RecordedNccl nccl_{shared_, stacks_, kNcclProcess, [](int64_t stamp) { return stamp; }};
};

TEST_F(RecordedNcclTest, AnOperationHasItsChannelsTimes) {
  enqueue(9, 2);
  ASSERT_EQ(comm().size(), 1u);
  EXPECT_EQ(comm().row(0).sequence, 5u);
  EXPECT_EQ(comm().row(0).send_bytes, 400u);
  EXPECT_TRUE(work().empty());
  run(9, 20, 0, 3000, 8000, 1'000'000);
  EXPECT_TRUE(work().empty());
  run(9, 21, 1, 3500, 9000, 1'000'000);
  ASSERT_EQ(work().size(), 1u);
  const CommWorkRow row = work().row(0);
  EXPECT_EQ(row.timing_source, TimingSource::kDevice);
  EXPECT_EQ(row.device_start, 1'003'000);
  EXPECT_EQ(row.duration_ns, 6000);
  EXPECT_EQ(row.channels, 2u);
  EXPECT_LE(std::abs(row.start_ns - 3000), row.error_ns);
}

TEST_F(RecordedNcclTest, CutRecordsAreDamaged) {
  const Bytes whole = ncclBytesOf(start(NcclEvent::kCollective, 1000, 9), transfer(2));
  for (size_t bytes = sizeof(arena::RecordHeader); bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(nccl_.define(ByteView(whole).first(bytes))) << bytes;
  }
  const Bytes channel =
      ncclBytesOf(start(NcclEvent::kKernelChannel, 1, 2, 3), arena::NcclChannelPart{});
  EXPECT_FALSE(nccl_.join(ByteView(channel).first(channel.size() - 1), ThreadId{1}));
  const Bytes named = ncclBytesOf(arena::NcclCommunicatorRecord{
      {arena::RecordKind::kNcclCommunicator, 0, 0, 1}, 5, 99, 0, 4, 1, 100});
  EXPECT_FALSE(nccl_.define(named));  // its name is missing
  EXPECT_TRUE(shared_.delta.communicator.empty());
}

TEST_F(RecordedNcclTest, EventsOfUnknownOperationsAreCounted) {
  run(77, 20, 0, 3000, 8000, 5);
  give(ncclBytesOf(stop(NcclEvent::kProxyOperation, 9, 1)));
  give(ncclBytesOf(stop(NcclEvent::kCollective, 9, 1)));
  EXPECT_TRUE(work().empty());
  EXPECT_TRUE(comm().empty());
  EXPECT_EQ(nccl_.withoutParent(), 3u);  // the channel's start and end, and the proxy
}

TEST_F(RecordedNcclTest, ATimeOfOtherWorkIsNotBelieved) {
  for (uint64_t i = 0; i < 5; ++i) {
    enqueue(100 + i, 1);
    run(100 + i, 200 + i, 0, 3000, 8000, 1'000'000'000);
  }
  enqueue(300, 1);
  run(300, 301, 0, 3000, 8000, 9'000'000'000);  // eight seconds later
  ASSERT_EQ(work().size(), 6u);
  EXPECT_EQ(work().row(4).timing_source, TimingSource::kDevice);
  EXPECT_EQ(work().row(5).timing_source, TimingSource::kHost);
  EXPECT_EQ(work().row(5).start_ns, 3100);
}

TEST_F(RecordedNcclTest, ADeviceClockThatWasSetIsBelievedAfterAWhile) {
  enqueue(1, 1);
  run(1, 2, 0, 3000, 8000, 1'000'000'000);
  for (uint64_t i = 0; i < 20; ++i) {
    enqueue(100 + i, 1);
    run(100 + i, 200 + i, 0, 3000, 8000, 9'000'000'000);
  }
  EXPECT_EQ(work().row(work().size() - 1).timing_source, TimingSource::kDevice);
}

TEST_F(RecordedNcclTest, WhatNeverEndedIsThereAtTheEnd) {
  enqueue(1, 2);
  run(1, 2, 0, 3000, 8000, 1'000);
  give(ncclBytesOf(start(NcclEvent::kCollective, 5000, 3), transfer(1)));  // and is not enqueued
  arena::NcclCallPart part{};
  std::strncpy(part.function, "Broadcast", sizeof part.function);
  give(ncclBytesOf(start(NcclEvent::kCollectiveCall, 6000, 4), part));
  nccl_.finish(kEnd);
  ASSERT_EQ(comm().size(), 3u);
  EXPECT_EQ(comm().row(0).state, CommState::kUnknown);
  EXPECT_EQ(comm().row(1).state, CommState::kCalled);
  EXPECT_EQ(comm().row(2).state, CommState::kCalled);
  EXPECT_EQ(shared_.delta.text(comm().row(2).function), "ncclBroadcast");
  EXPECT_EQ(comm().row(2).sequence, 1u);  // the first of its function
  ASSERT_EQ(work().size(), 1u);
  EXPECT_EQ(work().row(0).channels, 1u);  // of two
}

TEST_F(RecordedNcclTest, CallsOfWhichNcclReportsNoOperationHaveNoNumber) {
  const auto call = [&](uint64_t id, bool returns) {
    arena::NcclCallPart part{};
    std::strncpy(part.function, "AllReduce", sizeof part.function);
    give(ncclBytesOf(start(NcclEvent::kCollectiveCall, static_cast<int64_t>(id) * 1000, id), part));
    if (returns) {
      give(ncclBytesOf(stop(NcclEvent::kCollectiveCall, static_cast<int64_t>(id) * 1000 + 5, id)));
    }
  };
  enqueue(9, 2);  // number 5
  call(10, true);
  call(11, true);
  call(12, false);
  nccl_.finish(kEnd);
  ASSERT_EQ(comm().size(), 4u);
  for (const size_t row : {1u, 2u, 3u}) EXPECT_EQ(comm().row(row).sequence, 0u) << row;
  EXPECT_EQ(comm().row(1).state, CommState::kUnknown);  // it returned: that is all that is known
  EXPECT_EQ(comm().row(2).state, CommState::kUnknown);
  EXPECT_EQ(comm().row(3).state, CommState::kCalled);
}

TEST_F(RecordedNcclTest, CallsWhoseGroupNeverEndedAreTheNext) {
  enqueue(9, 2);  // number 5
  const auto call = [&](uint64_t id, int64_t time, uint64_t group) {
    arena::NcclCallPart part{};
    std::strncpy(part.function, "AllReduce", sizeof part.function);
    give(ncclBytesOf(start(NcclEvent::kCollectiveCall, time, id, group), part));
    give(ncclBytesOf(stop(NcclEvent::kCollectiveCall, time + 5, id)));
  };
  give(ncclBytesOf(start(NcclEvent::kGroupCall, 5990, 40)));
  call(12, 6100, 40);
  call(10, 6000, 40);
  nccl_.finish(kEnd);
  ASSERT_EQ(comm().size(), 3u);
  for (const size_t row : {1u, 2u}) {
    EXPECT_EQ(comm().row(row).sequence, 5 + row);
    EXPECT_EQ(comm().row(row).correlation_id, row == 1 ? 10u : 12u);
    EXPECT_EQ(comm().row(row).state, CommState::kCalled);
  }
}

TEST_F(RecordedNcclTest, AThreadIsInOneGroupAtATime) {
  give(ncclBytesOf(start(NcclEvent::kGroupCall, 5000, 40)));  // its end is lost
  arena::NcclCallPart part{};
  std::strncpy(part.function, "AllReduce", sizeof part.function);
  give(ncclBytesOf(start(NcclEvent::kCollectiveCall, 5001, 10, 40), part));
  give(ncclBytesOf(stop(NcclEvent::kCollectiveCall, 5002, 10)));
  give(ncclBytesOf(start(NcclEvent::kGroupCall, 6000, 41)));
  nccl_.finish(kEnd);
  EXPECT_EQ(comm().row(0).state, CommState::kUnknown);
  EXPECT_EQ(comm().row(0).sequence, 0u);
}

TEST_F(RecordedNcclTest, AProxyThatWaitsAtTheEndHasWhatItWaitedFor) {
  enqueue(9, 2);
  give(ncclBytesOf(start(NcclEvent::kProxyOperation, 3000, 20, 9),
                   arena::NcclProxyPart{1, 4, 4096, 0, 1, {}}));
  const auto state = [&](uint64_t step, int64_t time, uint32_t number, uint64_t bytes) {
    give(ncclBytesOf(arena::NcclStateRecord{
        {arena::RecordKind::kNcclState, static_cast<uint8_t>(NcclEvent::kProxyStep), 0, number},
        time,
        step,
        bytes}));
  };
  constexpr uint32_t kSendWait = 9, kSendPeerWait = 20;
  give(ncclBytesOf(start(NcclEvent::kProxyStep, 3000, 21, 20)));
  state(21, 4000, kSendWait, 4096);
  give(ncclBytesOf(stop(NcclEvent::kProxyStep, 5000, 21)));
  give(ncclBytesOf(start(NcclEvent::kProxyStep, 5000, 22, 20)));
  state(22, 6000, kSendPeerWait, 100);
  nccl_.finish(kEnd);
  ASSERT_EQ(work().size(), 1u);
  const CommWorkRow row = work().row(0);
  EXPECT_EQ(row.kind, CommWorkKind::kSend);
  EXPECT_EQ(row.correlation_id, 9u);
  EXPECT_EQ(row.duration_ns, 47'000);
  EXPECT_EQ(row.steps, 1u);
  EXPECT_EQ(row.network_wait_ns, 1000);
  EXPECT_EQ(row.peer_wait_ns, 44'000);
  EXPECT_EQ(row.bytes, 4096u) << "of the step that has ended";
}

TEST_F(RecordedNcclTest, ACollectorThatTakesOverKnowsTheCommunicators) {
  nccl_.restoreCommunicator(
      {.id = CommunicatorId{8}, .process_id = kNcclProcess, .key = 5, .ranks = 4, .ordinal = 1});
  enqueue(1, 0);
  EXPECT_EQ(comm().row(0).communicator_id, CommunicatorId{8});
}

}  // namespace
}  // namespace tracesmith
