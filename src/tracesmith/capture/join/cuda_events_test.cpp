// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/cuda_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tracesmith/capture/protocol/cuda_layout.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kNoSync = arena::kNoEventSync;

class CudaEventsTest : public ::testing::Test {
 protected:
  static CudaEvents::Use use(uint64_t correlation, uint32_t event, uint64_t sync = kNoSync,
                             uint32_t context = 1) {
    return {correlation,
            {static_cast<uint32_t>(correlation / cuda_file::kIdsOfLife), context, event},
            sync};
  }
  /// A call from `time` to `time` + 10, and CUPTI's record of it.
  void record(uint64_t correlation, int64_t time, uint32_t event, uint64_t sync = kNoSync,
              uint32_t stream = 1) {
    events_.addCall(correlation, time, time + 10);
    events_.addRecording(use(correlation, event, sync), static_cast<StreamId>(stream));
  }
  void wait(uint64_t correlation, int64_t time, uint32_t event, uint64_t sync = kNoSync) {
    events_.addWait(use(correlation, event, sync), time, time + 10);
  }
  std::vector<std::pair<uint64_t, uint64_t>> edges() {
    events_.endPass();
    std::vector<std::pair<uint64_t, uint64_t>> out;
    for (size_t i = 0; i < delta_.flow.size(); ++i) {
      EXPECT_EQ(delta_.flow.kind[i], FlowKind::kWait);
      out.emplace_back(delta_.flow.from_correlation_id[i], delta_.flow.to_correlation_id[i]);
    }
    return out;
  }

  Trace delta_;
  CudaEvents events_{delta_, ProcessId{1}};
};

TEST_F(CudaEventsTest, CallsThatRecordAreKnownByTheirNames) {
  for (const char* name : {"cuEventRecord", "cuEventRecordWithFlags_ptsz",
                           "cudaEventRecord_ptsz_v7000", "cudaEventRecordWithFlags_v11010"}) {
    EXPECT_TRUE(CudaEvents::recordsEvent(name)) << name;
  }
  for (const char* name : {"cuGraphAddEventRecordNode", "cudaGraphEventRecordNodeSetEvent",
                           "cuStreamWaitEvent", "EventRecord", ""}) {
    EXPECT_FALSE(CudaEvents::recordsEvent(name)) << name;
  }
}

TEST_F(CudaEventsTest, ASyncIdNamesTheRecording) {
  record(1, 100, 7, 31, 4);
  wait(2, 200, 7, 31);
  record(3, 300, 7, 32, 5);
  wait(4, 400, 7, 32);
  EXPECT_THAT(edges(), ElementsAre(Pair(1, 2), Pair(3, 4)));
  EXPECT_EQ(delta_.flow.from_stream_id[0], StreamId{4});
  EXPECT_EQ(delta_.flow.from_stream_id[1], StreamId{5});
  events_.finish();
  EXPECT_EQ(events_.unmatched(), 0u);
}

TEST_F(CudaEventsTest, ASyncIdMayComeBeforeItsRecording) {
  wait(4, 400, 7, 31);
  EXPECT_THAT(edges(), IsEmpty());
  events_.addRecording(use(1, 7, 31), StreamId{4});
  EXPECT_THAT(edges(), IsEmpty());  // its call is unknown: it may be a graph's
  events_.addCall(1, 100, 110);
  EXPECT_THAT(edges(), ElementsAre(Pair(1, 4)));
}

TEST_F(CudaEventsTest, WhatAGraphRecordedIsNoPlaceOnAStream) {
  events_.addRecording(use(1, 7, 31), StreamId{4});
  wait(2, 200, 7, 31);
  wait(3, 200, 7, 99);  // recorded before capture was enabled
  wait(4, 200, 8, 0);   // never recorded
  events_.finish();
  EXPECT_THAT(edges(), IsEmpty());
  EXPECT_EQ(events_.unmatched(), 2u);
}

TEST_F(CudaEventsTest, WithoutSyncIdsTheLastRecordingBeforeTheWaitIsMeant) {
  record(1, 100, 7);
  record(2, 120, 8);
  wait(3, 140, 7);
  record(4, 160, 7);
  wait(5, 180, 7);
  wait(6, 200, 7);
  wait(7, 220, 9);  // never recorded
  EXPECT_THAT(edges(), ElementsAre(Pair(1, 3), Pair(4, 5), Pair(4, 6)));
  events_.finish();
  EXPECT_EQ(events_.unmatched(), 0u);
}

TEST_F(CudaEventsTest, AnEventIsOneOfItsContextAndLife) {
  record(1, 100, 7);
  events_.addWait(use(2, 7, kNoSync, 2), 200, 210);
  events_.addWait(use(cuda_file::kIdsOfLife + 2, 7), 200, 210);
  EXPECT_THAT(edges(), IsEmpty());
}

TEST_F(CudaEventsTest, ARecordingThatIsNotToldYetIsAwaited) {
  record(1, 100, 7);
  events_.addCall(2, 120, 130);
  wait(3, 140, 7);
  EXPECT_THAT(edges(), IsEmpty());  // it may be for the second recording
  events_.addRecording(use(2, 8), StreamId{1});
  EXPECT_THAT(edges(), ElementsAre(Pair(1, 3)));
  events_.addCall(4, 150, 160);
  wait(5, 170, 7);
  events_.addRecording(use(4, 7), StreamId{1});
  EXPECT_THAT(edges(), ElementsAre(Pair(1, 3), Pair(4, 5)));
}

TEST_F(CudaEventsTest, WithoutSyncIdsWhatHappensAtOnceHasNoEdge) {
  record(1, 100, 7);
  record(2, 195, 7);  // during the wait's call
  wait(3, 200, 7);
  record(4, 300, 8);
  record(5, 305, 8);  // by another thread at the same time
  wait(6, 400, 8);
  events_.addCall(7, 420, 430);  // without a CUPTI record, as when a stream is captured
  wait(8, 440, 8);
  events_.finish();
  EXPECT_THAT(edges(), IsEmpty());
  EXPECT_EQ(events_.unmatched(), 3u);
}

TEST_F(CudaEventsTest, AnEventThatIsWaitedForAgainAndAgainIsNotForgotten) {
  record(1, 100, 7);
  uint64_t correlation = 2;
  int64_t time = 200;
  for (; correlation < (1u << 18) + 1000; ++correlation, time += 20) record(correlation, time, 8);
  wait(correlation, time, 7);
  EXPECT_THAT(edges(), ElementsAre(Pair(1, correlation)));
}

TEST_F(CudaEventsTest, AWaitWhoseRecordingComesLateFindsIt) {
  wait(2, 200, 7, 31);
  for (uint64_t i = 3; i < 100; ++i) {
    record(i, static_cast<int64_t>(300 * i), 8, 100 + i);
    events_.endPass();
  }
  EXPECT_THAT(edges(), IsEmpty());
  record(1, 100, 7, 31);
  for (int i = 0; i < 64; ++i) events_.endPass();
  EXPECT_THAT(edges(), ElementsAre(Pair(1, 2)));
}

TEST_F(CudaEventsTest, AnotherCollectorGoesOn) {
  record(1, 100, 7);
  events_.addCall(2, 120, 130);
  wait(3, 140, 7);
  events_.endPass();
  events_.writeWaiting();
  events_.writeWaiting();
  ASSERT_EQ(delta_.pending.size(), 1u);
  ASSERT_EQ(delta_.object.size(), 1u);

  Trace later;
  CudaEvents other(later, ProcessId{1});
  other.restoreRecorded(delta_.object.row(0));
  other.addCall(1, 100, 110);
  other.addCall(2, 120, 130);
  other.restoreWait(delta_.pending.row(0));
  other.addRecording(use(2, 7), StreamId{1});
  other.endPass();
  ASSERT_EQ(later.flow.size(), 1u);
  EXPECT_EQ(later.flow.from_correlation_id[0], 2u);

  Trace latest;
  CudaEvents third(latest, ProcessId{1});
  third.restoreEdge(3);
  third.restoreWait(delta_.pending.row(0));
  third.finish();
  EXPECT_EQ(third.unmatched(), 0u);
}

}  // namespace
}  // namespace tracesmith
