// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/launch_index.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kNone = LaunchIndex::kNone;

class LaunchIndexTest : public ::testing::Test {
 protected:
  test::SampleTrace sample_;
  ProcessId process_ = sample_.process(1, "program");
  ThreadId thread_ = sample_.thread(process_, 1);
  ThreadId other_thread_ = sample_.thread(process_, 2);
  DeviceId device_ = sample_.device("GPU", PlatformType::CUDA);
  StreamId stream_ = sample_.stream(device_, process_);
  StreamId other_stream_ = sample_.stream(device_, process_);

  void call(int64_t start_ns, int64_t duration_ns, uint64_t id, StreamId stream = StreamId::kNone,
            ThreadId thread = ThreadId::kNone) {
    sample_.hostCall("cudaLaunchKernel", CallKind::kLaunch,
                     thread == ThreadId::kNone ? thread_ : thread, stream, start_ns, duration_ns,
                     id);
  }
  void kernel(int64_t start_ns, uint64_t id, StreamId stream = StreamId::kNone) {
    sample_.kernel("k", stream == StreamId::kNone ? stream_ : stream, start_ns, 10, id);
  }
  std::vector<uint32_t> launches() const {
    return LaunchIndex(sample_.trace).launchesOf(sample_.trace.kernel);
  }
};

TEST_F(LaunchIndexTest, FindsDistinctIds) {
  call(0, 5, 1);
  call(10, 5, 2);
  kernel(20, 2);
  kernel(30, 1);
  kernel(40, 3);
  kernel(50, 0);
  EXPECT_EQ(launches(), (std::vector<uint32_t>{1, 0, kNone, kNone}));
}

TEST_F(LaunchIndexTest, ARepeatedIdBelongsToEachCallInOrder) {
  // The first kernel waited so long that the second call came before it.
  call(0, 5, 1);
  call(100, 5, 1);
  kernel(150, 1);
  kernel(200, 1);
  EXPECT_EQ(launches(), (std::vector<uint32_t>{0, 1}));
}

TEST_F(LaunchIndexTest, ACallMayLaunchSeveralKernelsOfSeveralStreams) {
  for (int64_t time : {0, 100}) {
    call(time, 5, 1);
    kernel(time + 10, 1);
    kernel(time + 30, 1);
    kernel(time + 10, 1, other_stream_);
  }
  EXPECT_EQ(launches(), (std::vector<uint32_t>{0, 0, 0, 1, 1, 1}));
}

TEST_F(LaunchIndexTest, WithUnequalNumbersTheLastCallBeforeTheWorkCounts) {
  call(0, 5, 1);
  call(100, 5, 1);
  call(200, 5, 1);
  kernel(50, 1);
  kernel(210, 1);
  EXPECT_EQ(launches(), (std::vector<uint32_t>{0, 2}));
}

TEST_F(LaunchIndexTest, WithoutTheFirstCallWorkBelongsToTheOneBeforeIt) {
  call(100, 5, 1);
  call(200, 5, 1);
  kernel(50, 1);  // its launch is not in the trace; the first call is the nearest
  kernel(110, 1);
  EXPECT_EQ(launches(), (std::vector<uint32_t>{0, 0}));
}

TEST_F(LaunchIndexTest, CallsThatNameAnotherStreamDoNotCount) {
  call(0, 5, 1, stream_);
  call(10, 5, 1, other_stream_);
  kernel(20, 1);
  kernel(20, 1, other_stream_);
  EXPECT_EQ(launches(), (std::vector<uint32_t>{0, 1}));
}

TEST_F(LaunchIndexTest, OfCallsWithinEachOtherTheOutermostCounts) {
  call(2, 2, 1);  // the driver's function within the runtime's
  call(0, 5, 1);
  kernel(20, 1);
  EXPECT_EQ(launches(), (std::vector<uint32_t>{1}));
}

TEST_F(LaunchIndexTest, CallsOfAnotherThreadAtTheSameTimeAreOthers) {
  call(0, 5, 1);
  call(2, 2, 1, StreamId::kNone, other_thread_);
  kernel(10, 1);
  kernel(30, 1);
  EXPECT_EQ(launches(), (std::vector<uint32_t>{0, 1}));
}

TEST_F(LaunchIndexTest, IdsOfProcessesAreApart) {
  const ProcessId other = sample_.process(2, "other");
  call(0, 5, 1);
  kernel(10, 1);
  kernel(20, 1);
  sample_.trace.kernel.process_id[1] = other;
  EXPECT_EQ(launches(), (std::vector<uint32_t>{0, kNone}));
}

}  // namespace
}  // namespace tracesmith
