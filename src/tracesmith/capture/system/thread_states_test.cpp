// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/thread_states.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tracesmith {
namespace {

using ::testing::ElementsAre;

class ThreadStatesTest : public ::testing::Test {
 protected:
  static std::string nameOf(const StateSpan& span) {
    return std::to_string(span.process) + "/" + std::to_string(span.tid) + " " +
           std::string(toString(span.state)) + " " + std::to_string(span.start_ns) + "+" +
           std::to_string(span.duration_ns) + " @" + std::to_string(span.cpu) +
           (span.instead.empty() ? "" : " after " + span.instead);
  }
  std::vector<std::string> spans_;
  ThreadStates states_{[this](StateSpan&& span) { spans_.push_back(nameOf(span)); }};
};

TEST_F(ThreadStatesTest, FollowsAThreadFromItsBeginToItsEnd) {
  states_.begin(0, 7, 1, RunState::kRunnable, 100);
  states_.enter(0, 7, 2, 130);
  states_.leave(0, 7, 2, RunState::kRunnable, 150);
  states_.enter(0, 7, 3, 160);
  states_.leave(0, 7, 3, RunState::kWaiting, 200);
  states_.enter(0, 7, 3, 290);
  states_.end(0, 7, 300);
  states_.enter(0, 7, 3, 400);  // a new one with its number
  EXPECT_THAT(spans_, ElementsAre("0/7 runnable 100+30 @1", "0/7 running 130+20 @2",
                                  "0/7 runnable 150+10 @2", "0/7 running 160+40 @3",
                                  "0/7 waiting 200+90 @3", "0/7 running 290+10 @3"));
}

TEST_F(ThreadStatesTest, ThreadsOfSeveralProcessesAreTheirOwn) {
  states_.enter(1, 7, 0, 10);
  states_.enter(2, 7, 1, 20);
  states_.leave(1, 7, 0, RunState::kWaiting, 30);
  states_.leave(2, 7, 1, RunState::kWaiting, 50);
  EXPECT_THAT(spans_, ElementsAre("1/7 running 10+20 @0", "2/7 running 20+30 @1"));
}

TEST_F(ThreadStatesTest, AWokenThreadIsRunnableUntilItGetsAProcessor) {
  states_.enter(0, 7, 2, 100);
  EXPECT_FALSE(states_.wake(0, 7, 110)) << "it runs";
  EXPECT_FALSE(states_.wake(0, 8, 110)) << "it is unknown";
  states_.leave(0, 7, 2, RunState::kSleeping, 120);
  EXPECT_TRUE(states_.wake(0, 7, 200));
  EXPECT_FALSE(states_.wake(0, 7, 210)) << "it is awake";
  states_.enter(0, 7, 1, 250, "hog");
  states_.leave(0, 7, 1, RunState::kDiskWait, 260);
  states_.enter(0, 7, 1, 300, "hog");  // of a wait, who ran before says nothing
  states_.finish(310);
  EXPECT_THAT(spans_, ElementsAre("0/7 running 100+20 @2", "0/7 sleeping 120+80 @2",
                                  "0/7 runnable 200+50 @2 after hog", "0/7 running 250+10 @1",
                                  "0/7 disk_wait 260+40 @1", "0/7 running 300+10 @1"));
}

TEST_F(ThreadStatesTest, ALossEndsWhatIsKnown) {
  states_.leave(0, 7, 0, RunState::kSleeping, 10);
  states_.enter(0, 8, 1, 90);
  states_.forget(80);  // what happened from then on is unknown
  states_.enter(0, 7, 0, 200);
  states_.finish(300);
  EXPECT_THAT(spans_, ElementsAre("0/7 sleeping 10+70 @0", "0/7 running 200+100 @0"));
}

TEST_F(ThreadStatesTest, TheOtherThreadsOfAProcessEnd) {
  states_.enter(0, 7, 0, 10);
  states_.enter(0, 8, 1, 20);
  states_.enter(1, 8, 1, 20);
  states_.endOthers(0, 7, 50);  // thread 7 executes another program
  EXPECT_THAT(spans_, ElementsAre("0/8 running 20+30 @1"));
  states_.endProcess(0, 60);
  EXPECT_THAT(spans_, ElementsAre("0/8 running 20+30 @1", "0/7 running 10+50 @0"));
}

TEST_F(ThreadStatesTest, WhatIsUnknownHasNoRow) {
  states_.leave(0, 7, 0, RunState::kWaiting, 10);  // when it began to run is unknown
  states_.forget(10);                              // records were lost
  states_.enter(0, 7, 0, 50);
  states_.leave(0, 7, 0, RunState::kWaiting, 50);  // of no length
  states_.end(0, 8, 60);                           // never seen
  states_.finish(80);
  EXPECT_THAT(spans_, ElementsAre("0/7 waiting 50+30 @0"));
}

}  // namespace
}  // namespace tracesmith
