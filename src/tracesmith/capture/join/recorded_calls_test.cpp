// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace tracesmith {
namespace {

using arena::FunctionEvent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RecordedCallsTest : public ::testing::Test {
 protected:
  void program(const std::string& path, arena::XRayState state = arena::XRayState::kPatching) {
    Bytes bytes((sizeof(arena::XRayProgramRecord) + path.size() + 7) / 8 * 8);
    const arena::XRayProgramRecord r{{arena::RecordKind::kXRayProgram, static_cast<uint8_t>(state),
                                      static_cast<uint16_t>(bytes.size() / 8),
                                      static_cast<uint32_t>(path.size())}};
    std::memcpy(bytes.data(), &r, sizeof r);
    std::memcpy(bytes.data() + sizeof r, path.data(), path.size());
    ASSERT_TRUE(calls_.addProgram(bytes));
  }
  void event(FunctionEvent event, uint32_t function, int64_t time, uint32_t tid = 1,
             uint8_t more_flags = 0) {
    const arena::FunctionRecord r{
        {arena::RecordKind::kFunction,
         static_cast<uint8_t>(static_cast<uint8_t>(event) | more_flags), 2, function},
        time};
    calls_.add(r, time, tid, static_cast<ThreadId>(tid));
  }
  void enter(uint32_t function, int64_t time, uint32_t tid = 1) {
    event(FunctionEvent::kEntry, function, time, tid);
  }
  void leave(uint32_t function, int64_t time, uint32_t tid = 1) {
    event(FunctionEvent::kExit, function, time, tid);
  }
  /// "function thread start-end", in the order in which they ended.
  std::vector<std::string> rows() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < trace_.range.size(); ++i) {
      const RangeRow r = trace_.range.row(i);
      out.push_back(std::string(trace_.text(r.name)).substr(std::strlen("function ")) + " " +
                    std::to_string(static_cast<uint32_t>(r.thread_id)) + " " +
                    std::to_string(r.start_ns) + "-" + std::to_string(r.start_ns + r.duration_ns));
    }
    return out;
  }

  Trace trace_;
  TracedPrograms programs_;
  RecordedCalls calls_{trace_, programs_, ProcessId{1}, 0};
};

TEST_F(RecordedCallsTest, CallsLieInOneAnotherAndThreadsApart) {
  enter(1, 10);
  enter(2, 20, 7);
  enter(2, 30);
  leave(2, 40);
  enter(2, 50);
  leave(2, 55, 7);
  leave(2, 60);
  leave(1, 70);
  EXPECT_THAT(rows(), ElementsAre("#2 1 30-40", "#2 7 20-55", "#2 1 50-60", "#1 1 10-70"));
  EXPECT_EQ(calls_.totals().calls, 4u);
}

TEST_F(RecordedCallsTest, ATailCallEndsTheCallThatItLeaves) {
  enter(1, 10);
  event(FunctionEvent::kTailExit, 1, 20);
  enter(2, 21);
  leave(2, 30);
  EXPECT_THAT(rows(), ElementsAre("#1 1 10-20", "#2 1 21-30"));
}

TEST_F(RecordedCallsTest, AMissingExitEndsWithTheCaller) {
  enter(1, 10);
  enter(2, 20);
  enter(3, 30);
  leave(1, 40);
  leave(9, 50);
  EXPECT_THAT(rows(), ElementsAre("#3 1 30-40", "#2 1 20-40", "#1 1 10-40"));
  EXPECT_EQ(calls_.totals().with_caller, 2u);
  EXPECT_EQ(calls_.totals().without_start, 1u);
}

TEST_F(RecordedCallsTest, WhatIsOpenEndsWithItsThread) {
  enter(1, 10);
  enter(2, 20);
  event(FunctionEvent::kEntry, 3, 100, 1, arena::kFlagFirst);  // a new thread with the same id
  leave(3, 110);
  enter(4, 120);
  calls_.finish();
  EXPECT_THAT(rows(), ElementsAre("#2 1 20-20", "#1 1 10-20", "#3 1 100-110", "#4 1 120-120"));
  EXPECT_EQ(calls_.totals().open, 3u);
}

TEST_F(RecordedCallsTest, ShortOnesAreLeftOutAndCounted) {
  RecordedCalls longer(trace_, programs_, ProcessId{1}, 10);
  const auto add = [&](FunctionEvent event, int64_t time) {
    longer.add({{arena::RecordKind::kFunction, static_cast<uint8_t>(event), 2, 1}, time}, time, 1,
               ThreadId{1});
  };
  add(FunctionEvent::kEntry, 0);
  add(FunctionEvent::kEntry, 1);
  add(FunctionEvent::kExit, 10);
  add(FunctionEvent::kExit, 10);
  EXPECT_THAT(rows(), ElementsAre("#1 1 0-10"));
  EXPECT_EQ(longer.totals().too_short, 1u);
  EXPECT_EQ(longer.totals().kept, 1u);
}

TEST_F(RecordedCallsTest, WhyThereAreNoNamesOrNoCallsIsSaid) {
  EXPECT_FALSE(calls_.any());
  program("/no/such/program");
  EXPECT_TRUE(calls_.any());
  EXPECT_THAT(calls_.problem(), HasSubstr("numbers for names: /no/such/program"));
  program("/bin/sh", arena::XRayState::kNoSymbols);
  EXPECT_THAT(calls_.problem(), HasSubstr("stripped"));
  Bytes cut(8);
  const arena::XRayProgramRecord r{{arena::RecordKind::kXRayProgram, 0, 1, 100}};
  std::memcpy(cut.data(), &r, sizeof r);
  EXPECT_FALSE(calls_.addProgram(cut));
}

TEST_F(RecordedCallsTest, AnythingAtAllIsCountedOnce) {
  std::mt19937 random(11);
  uint64_t entries = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto event = static_cast<FunctionEvent>(random() % 3);
    entries += event == FunctionEvent::kEntry;
    this->event(event, 1 + random() % 5, i, 1 + random() % 3,
                random() % 50 == 0 ? arena::kFlagFirst : uint8_t{0});
  }
  calls_.finish();
  EXPECT_EQ(calls_.totals().calls, entries);
  EXPECT_EQ(calls_.totals().kept, trace_.range.size());
}

}  // namespace
}  // namespace tracesmith
