// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/kernel_events.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tracesmith/capture/system/system_call_names.hpp"
#include "tracesmith/capture/system/system_records.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kOwnTid = 7, kOtherTid = 99;

class KernelEventsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(processes_.begin(getpid())); }

  template <class Record>
  void give(const Record& record) {
    std::vector<uint8_t> bytes(sizeof record);
    std::memcpy(bytes.data(), &record, sizeof record);
    events_.take(bytes);
  }
  static system_header headerOf(uint64_t time, uint8_t kind, uint32_t tid, bool is_own = true) {
    return {.time = time,
            .pid = is_own ? static_cast<uint32_t>(getpid()) : 1u,
            .tid = tid,
            .cpu = 3,
            .kind = kind,
            .flags = 0,
            .unused = 0};
  }
  void switchTo(uint64_t time, uint32_t tid, uint32_t state, uint32_t next_tid, bool to_own) {
    give(system_switch{.header = headerOf(time, SYSTEM_SWITCH, tid, !to_own),
                       .next_pid = to_own ? static_cast<uint32_t>(getpid()) : 1u,
                       .next_tid = next_tid,
                       .state = state,
                       .unused = 0});
  }
  std::vector<std::string> states() {
    events_.finish();
    std::vector<std::string> out;
    for (const StateSpan& span : out_.states) {
      out.push_back(std::string(toString(span.state)) + " " + std::to_string(span.start_ns) + "+" +
                    std::to_string(span.duration_ns) +
                    (span.instead.empty() ? "" : " after " + span.instead) +
                    (span.path == 0 ? "" : " with stack"));
    }
    return out;
  }

  SampledProcesses processes_;
  SampledPaths paths_;
  SampledStacks stacks_{paths_, 64};
  SystemEvents out_;
  ThreadStates states_{[this](StateSpan&& span) { events_.takeState(std::move(span)); }};
  KernelEvents events_{processes_, stacks_, states_, out_};
};

using Texts = std::vector<std::string>;

TEST_F(KernelEventsTest, AThreadIsFollowedThroughItsStates) {
  give(system_name{.header = headerOf(1, SYSTEM_NAME, kOtherTid, false), .name = "hog"});
  switchTo(100, kOtherTid, 0, kOwnTid, true);
  switchTo(150, kOwnTid, 0, kOtherTid, false);  // preempted
  switchTo(180, kOtherTid, 0, kOwnTid, true);
  switchTo(200, kOwnTid, 1, 0, false);  // sleeps
  system_wakeup wakeup{
      .header = headerOf(300, SYSTEM_WAKEUP, kOwnTid), .waker_pid = 1, .waker_tid = kOtherTid};
  give(wakeup);
  give(wakeup);  // it is awake already
  switchTo(320, 0, 0, kOwnTid, true);
  switchTo(330, kOwnTid, 2, 0, false);
  wakeup.header = headerOf(350, SYSTEM_WAKEUP, kOwnTid);
  wakeup.header.flags = SYSTEM_WAKEUP_BY_INTERRUPT;
  give(wakeup);
  switchTo(360, 0, 0, kOwnTid, true);
  switchTo(400, kOwnTid, 4, 0, false);
  states_.finish(500);
  EXPECT_EQ(states(),
            (Texts{"running 100+50", "runnable 150+30 after hog", "running 180+20",
                   "runnable 300+20 after [idle]", "running 320+10", "runnable 350+10 after [idle]",
                   "running 360+40", "sleeping 200+100", "disk_wait 330+20", "stopped 400+100"}));
  ASSERT_EQ(out_.wakeups.size(), 2u);
  EXPECT_EQ(out_.wakeups[0].waker, "hog");
  EXPECT_EQ(out_.wakeups[0].waker_tid, 0u);
  EXPECT_EQ(out_.wakeups[1].waker, "[interrupt]");
}

TEST_F(KernelEventsTest, AWaitHasTheStackOfItsSystemCall) {
  switchTo(100, 0, 0, kOwnTid, true);
  switchTo(110, kOwnTid, 2, 0, false);  // not in a call that took long
  switchTo(120, 0, 0, kOwnTid, true);
  switchTo(200, kOwnTid, 1, 0, false);
  switchTo(900, 0, 0, kOwnTid, true);
  system_call_stack call{};
  call.call.header = headerOf(190, SYSTEM_CALL, kOwnTid);
  call.call.header.flags = SYSTEM_CALL_HAS_STACK;
  call.call.duration = 720;
  call.call.number = 0xffff;  // a number that nobody knows
  EXPECT_EQ(KernelEvents::timeOf({reinterpret_cast<const uint8_t*>(&call), sizeof call}), 910);
  give(call);
  ASSERT_EQ(out_.calls.size(), 1u);
  EXPECT_EQ(out_.calls[0].start_ns, 190);
  EXPECT_EQ(out_.calls[0].duration_ns, 720);
  EXPECT_EQ(out_.calls[0].name, "");
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_EQ(states(), (Texts{"running 100+10", "running 120+80", "disk_wait 110+10",
                             "sleeping 200+700 with stack"}));
#endif
}

TEST_F(KernelEventsTest, CallsSayWhatTheyAreAbout) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const auto give_call = [&](std::string_view name, uint64_t argument, uint32_t owner) {
    uint32_t number = 0;
    while (number < 512 && systemCallName(number) != name) ++number;
    system_call call{};
    call.header = headerOf(5, SYSTEM_CALL, kOwnTid);
    call.number = number;
    call.arguments[0] = argument;
    call.lock_owner = owner;
    give(call);
  };
  give_call("read", static_cast<uint64_t>(pipe_ends[0]), 0);
  give_call("read", 987'654, 0);  // not open
  give_call("futex", 0x1000, 0x80000000u | 42);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  ASSERT_EQ(out_.calls.size(), 3u);
  EXPECT_TRUE(out_.calls[0].subject.starts_with("pipe:")) << out_.calls[0].subject;
  EXPECT_EQ(out_.calls[0].descriptor, pipe_ends[0]);
  EXPECT_EQ(out_.calls[1].subject, "");
  EXPECT_EQ(out_.calls[2].name, "futex");
  EXPECT_EQ(out_.calls[2].descriptor, -1);
  EXPECT_EQ(out_.calls[2].lock_address, 0x1000u);
  EXPECT_EQ(out_.calls[2].owner_tid, 42u) << "without the bit that says that others wait";
}

TEST_F(KernelEventsTest, PythonFramesThatAreNoneLeaveTheStackAsItIs) {
  system_python python{};
  python.header = headerOf(100, SYSTEM_PYTHON, kOwnTid);
  python.count = 3;
  python.frames[0] = {.instruction = 7,
                      .code = uint64_t{0xff} << SYSTEM_PYTHON_OWNER_SHIFT | 0x1000};
  give(python);
  const StackOfThread in_kernel{.kernel = {}, .tid = kOwnTid, .time_ns = 100};
  SampledProcesses::Process& process = processes_.at(static_cast<uint32_t>(getpid()));
  EXPECT_EQ(paths_.takePaths().size(), 0u);
  const uint32_t path = stacks_.pathOf(in_kernel, process);
  EXPECT_EQ(paths_.takePaths().size(), 1u) << "there is no stack, and this process has no Python";
  python.count = SYSTEM_PYTHON_FRAMES + 1;  // more than the record has
  give(python);
  EXPECT_EQ(stacks_.pathOf(in_kernel, process), path);
  EXPECT_EQ(stacks_.unreadable(), 0u);
}

TEST_F(KernelEventsTest, CutAndForeignRecordsDoNoHarm) {
  system_call_stack call{};
  call.call.header = headerOf(5, SYSTEM_CALL, kOwnTid);
  call.call.header.flags = SYSTEM_CALL_HAS_STACK;
  call.bytes = ~uint64_t{0};
  const auto* const begin = reinterpret_cast<const uint8_t*>(&call);
  for (const int kind :
       {0, int{SYSTEM_SWITCH}, int{SYSTEM_WAKEUP}, int{SYSTEM_CALL}, int{SYSTEM_NAME},
        int{SYSTEM_PYTHON}, int{SYSTEM_SIGNAL}, int{SYSTEM_OOM_KILL}, 77}) {
    call.call.header.kind = static_cast<uint8_t>(kind);
    for (size_t size = 0; size < 200; ++size) {
      events_.take({begin, size});
      (void)KernelEvents::timeOf({begin, size});
    }
  }
  call.call.header.kind = SYSTEM_CALL;
  give(call);
  switchTo(100, kOtherTid, 0, kOtherTid, false);
  EXPECT_TRUE(out_.wakeups.empty());
}

TEST(SystemCallNamesTest, AreThoseOfTheSystem) {
  EXPECT_EQ(systemCallName(100'000), "");
  size_t named = 0;
  for (uint32_t number = 0; number < 512; ++number) named += systemCallName(number).empty() ? 0 : 1;
  EXPECT_GT(named, 200u);
  EXPECT_TRUE(takesDescriptor("read"));
  EXPECT_TRUE(takesDescriptor("epoll_wait"));
  EXPECT_FALSE(takesDescriptor("futex"));
}

}  // namespace
}  // namespace tracesmith
