// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/in_process/captured_work.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ProcessId kProcess{1}, kOther{2};
constexpr ThreadId kThread{1};

void call(Trace& part, uint64_t id, ProcessId process = kProcess) {
  part.host_call.push({.process_id = process, .thread_id = kThread, .correlation_id = id});
}

void work(Trace& part, uint64_t id, ThreadId thread = kThread, ProcessId process = kProcess) {
  part.kernel.push({.process_id = process, .thread_id = thread, .correlation_id = id});
  part.copy.push({.process_id = process, .thread_id = thread, .correlation_id = id});
  part.fill.push({.process_id = process, .thread_id = thread, .correlation_id = id});
  part.sync.push({.process_id = process, .thread_id = thread, .correlation_id = id});
}

std::vector<uint64_t> left(const Trace& part) {
  const std::vector<uint64_t> ids(part.kernel.correlation_id.begin(),
                                  part.kernel.correlation_id.end());
  EXPECT_EQ(part.copy.size(), ids.size());
  EXPECT_EQ(part.fill.size(), ids.size());
  EXPECT_EQ(part.sync.size(), ids.size());
  return ids;
}

TEST(CallWindow, KeepsWorkOfTheCaptureAndNoOther) {
  CallWindow window;
  window.begin(0);
  Trace part;
  call(part, 12);
  call(part, 11);  // another thread's, started before and ended later
  for (const uint64_t id : {9u, 11u, 12u}) work(part, id);
  work(part, 10, ThreadId::kNone);
  window.restrict(part);
  EXPECT_THAT(left(part), ElementsAre(11, 12));
  EXPECT_EQ(part.host_call.size(), 2u);

  Trace later;  // the work's call came in an earlier part
  work(later, 12);
  work(later, 10);
  window.restrict(later);
  EXPECT_THAT(left(later), ElementsAre(12));
}

TEST(CallWindow, WorkOfAnEarlierCaptureIsNotTheNextOnes) {
  CallWindow window;
  window.begin(0);
  Trace part;
  call(part, 5);
  window.restrict(part);
  window.begin(0);
  Trace late;
  work(late, 5);
  window.restrict(late);
  EXPECT_THAT(left(late), IsEmpty());
  Trace next;
  call(next, 8);
  work(next, 5);
  work(next, 8);
  window.restrict(next);
  EXPECT_THAT(left(next), ElementsAre(8));
}

TEST(CallWindow, AllocationsAndCompilationsBelongToItByTheirTime) {
  CallWindow window;
  window.begin(100);
  Trace part;
  for (const int64_t time : {99, 100, 150}) {
    part.memory_event.push({.time_ns = time});
    part.program_build.push({.start_ns = time});
  }
  window.restrict(part);
  EXPECT_THAT(part.memory_event.time_ns, ElementsAre(100, 150));
  EXPECT_THAT(part.program_build.start_ns, ElementsAre(100, 150));
}

TEST(CallWindow, RangesAndCountersBelongToItByTheirTime) {
  CallWindow window;
  window.begin(100);
  Trace part;
  part.range.push({.start_ns = 90, .duration_ns = 50});
  part.attribute.push({.table = static_cast<uint32_t>(TableId::kRange), .row_number = 0});
  part.range.push({.start_ns = 100});
  part.counter.push({.time_ns = 99});
  part.counter.push({.time_ns = 100});
  window.restrict(part);
  ASSERT_EQ(part.range.size(), 1u);
  EXPECT_EQ(part.range.start_ns[0], 100);
  EXPECT_EQ(part.attribute.size(), 0u);
  ASSERT_EQ(part.counter.size(), 1u);
}

TEST(CallWindow, ProcessesHaveIdsOfTheirOwn) {
  CallWindow window;
  window.begin(0);
  Trace part;
  call(part, 100);
  call(part, 3, kOther);
  work(part, 50);
  work(part, 50, kThread, kOther);
  window.restrict(part);
  EXPECT_THAT(left(part), ElementsAre(50));
  EXPECT_EQ(part.kernel.process_id[0], kOther);
}

}  // namespace
}  // namespace tracesmith
