// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/process_connector.hpp"

#include <gtest/gtest.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

using Kind = ProcessEvent::Kind;

#define OPEN_OR_SKIP(connector)                                                   \
  auto connector##_result = ProcessConnector::open();                             \
  if (!connector##_result) GTEST_SKIP() << connector##_result.error().toString(); \
  ProcessConnector connector = std::move(*connector##_result)

#if defined(__SANITIZE_THREAD__)
#define SKIP_WHERE_THE_SANITIZER_STARTS_THREADS() \
  GTEST_SKIP() << "ThreadSanitizer starts a thread of its own in each process"
#else
#define SKIP_WHERE_THE_SANITIZER_STARTS_THREADS() static_assert(true)
#endif

/// All events of all processes until `pid` has ended, or for 5 s.
std::vector<ProcessEvent> allEventsUntilEnd(ProcessConnector& connector, uint32_t pid) {
  std::vector<ProcessEvent> events;
  const int64_t deadline = monotonicNs() + 5'000'000'000;
  bool ended = false;
  while (!ended && monotonicNs() < deadline) {
    pollfd waiting{connector.fd(), POLLIN, 0};
    ::poll(&waiting, 1, 100);
    auto drained = connector.drain([&](const ProcessEvent& e) {
      events.push_back(e);
      ended |= e.pid == pid && e.kind == Kind::kThreadEnd && e.tid == pid;
    });
    EXPECT_TRUE(drained) << drained.error().toString();
    if (!drained) break;
  }
  return events;
}

std::vector<ProcessEvent> eventsUntilEnd(ProcessConnector& connector, uint32_t pid) {
  auto events = allEventsUntilEnd(connector, pid);
  std::erase_if(events, [&](const ProcessEvent& e) { return e.pid != pid; });
  return events;
}

TEST(ProcessConnector, TellsForkExecAndExitOfAChildWithItsExitCodeAndTimes) {
  SKIP_WHERE_THE_SANITIZER_STARTS_THREADS();
  OPEN_OR_SKIP(connector);
  const int64_t before = monotonicNs();
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", "exit 3", nullptr);
    ::_exit(127);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  // The kernel wakes the waiting parent a moment before it reports the exit.
  const auto events = eventsUntilEnd(connector, static_cast<uint32_t>(child));
  const int64_t after = monotonicNs();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, Kind::kFork);
  EXPECT_EQ(events[0].parent_pid, static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(events[1].kind, Kind::kExec);
  EXPECT_EQ(events[2].kind, Kind::kThreadEnd);
  EXPECT_EQ(events[2].wait_status, status);
  EXPECT_EQ(WEXITSTATUS(events[2].wait_status), 3);
  // The time stamps are CLOCK_MONOTONIC: they lie between the two readings taken here.
  int64_t last = before;
  for (const ProcessEvent& e : events) {
    EXPECT_GE(e.time_ns, last);
    last = e.time_ns;
  }
  EXPECT_LE(last, after);
}

TEST(ProcessConnector, TellsTheSignalThatEndedAProcess) {
  OPEN_OR_SKIP(connector);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto events = eventsUntilEnd(connector, static_cast<uint32_t>(child));
  ASSERT_FALSE(events.empty());
  EXPECT_TRUE(WIFSIGNALED(events.back().wait_status));
  EXPECT_EQ(WTERMSIG(events.back().wait_status), SIGKILL);
}

TEST(ProcessConnector, TellsThreadsFromProcesses) {
  SKIP_WHERE_THE_SANITIZER_STARTS_THREADS();
  OPEN_OR_SKIP(connector);
  const uint32_t self = static_cast<uint32_t>(::getpid());
  std::thread([] {}).join();
  size_t starts = 0, ends = 0, forks = 0;
  ASSERT_TRUE(connector.drain([&](const ProcessEvent& e) {
    if (e.pid != self) return;
    starts += e.kind == Kind::kThreadStart;
    ends += e.kind == Kind::kThreadEnd;
    forks += e.kind == Kind::kFork;
  }));
  EXPECT_EQ(starts, 1u);
  EXPECT_EQ(forks, 0u);
  EXPECT_LE(ends, 1u);  // join() sometimes returns before the kernel has reported it
}

// The kernel may be unable to send an event (no memory available); it is then counted.
TEST(ProcessConnector, MissesNoneOfTwoHundredShortLivedProcessesUncounted) {
  OPEN_OR_SKIP(connector);
  std::vector<pid_t> children;
  char program[] = "true";
  char* arguments[] = {program, nullptr};
  for (int i = 0; i < 200; ++i) {
    pid_t child = 0;
    ASSERT_EQ(::posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, environ), 0);
    ::waitpid(child, nullptr, 0);
    children.push_back(child);
  }
  std::unordered_map<uint32_t, int> seen;
  const auto last = static_cast<uint32_t>(children.back());
  for (const ProcessEvent& e : allEventsUntilEnd(connector, last))
    seen[e.pid] |= e.kind == Kind::kFork ? 1 : e.kind == Kind::kExec ? 2 : 4;
  uint64_t missed = 0;
  for (const pid_t child : children) {
    missed += static_cast<uint64_t>(
        3 - std::popcount(static_cast<unsigned>(seen[static_cast<uint32_t>(child)])));
  }
  EXPECT_LE(missed, connector.lostEvents());
  EXPECT_LT(missed, 20u);
  EXPECT_EQ(connector.overruns(), 0u);
}

/// A datagram as the kernel sends it (36 bytes of headers, then an unaligned proc_event).
Bytes datagram(const proc_event& event, uint32_t sequence) {
  constexpr uint32_t kBytes = sizeof(nlmsghdr) + sizeof(cn_msg) + sizeof(proc_event);
  Bytes out;
  putFixed(out, nlmsghdr{kBytes, NLMSG_DONE, 0, 0, 0});
  putFixed(out, cb_id{CN_IDX_PROC, CN_VAL_PROC});
  putFixed(out, sequence);
  putFixed<uint32_t>(out, 0);
  putFixed<uint16_t>(out, sizeof(proc_event));
  putFixed<uint16_t>(out, 0);
  putFixed(out, event);
  return out;
}

Bytes exitDatagram(uint32_t cpu, uint32_t sequence) {
  proc_event event{};
  event.what = static_cast<decltype(event.what)>(0x80000000);  // PROC_EVENT_EXIT
  event.cpu = cpu;
  event.timestamp_ns = 7;
  event.event_data.exit.process_pid = 12;
  event.event_data.exit.process_tgid = 10;
  event.event_data.exit.exit_code = 0x300;
  return datagram(event, sequence);
}

TEST(ProcessConnector, CountsEventsThatNeverCameByTheGapsInEachProcessorsNumbers) {
  OPEN_OR_SKIP(connector);
  const uint64_t before = connector.lostEvents();
  constexpr uint32_t kCpu = 100000;  // does not exist on this machine
  size_t events = 0;
  const auto count = [&](const ProcessEvent&) { ++events; };
  for (const uint32_t sequence : {5u, 6u, 9u, 0xffffffffu, 10u})
    connector.decode(exitDatagram(kCpu, sequence), count);
  connector.decode(exitDatagram(kCpu + 1, 400), count);
  EXPECT_EQ(events, 6u);
  EXPECT_EQ(connector.lostEvents() - before, 2u);
}

TEST(ProcessConnector, DecodesAnExitAndSkipsWhateverIsCutOrBent) {
  OPEN_OR_SKIP(connector);
  const Bytes good = exitDatagram(100000, 1);
  std::vector<ProcessEvent> events;
  const auto keep = [&](const ProcessEvent& e) { events.push_back(e); };
  connector.decode(good, keep);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::kThreadEnd);
  EXPECT_EQ(events[0].pid, 10u);
  EXPECT_EQ(events[0].tid, 12u);
  EXPECT_EQ(events[0].time_ns, 7);
  EXPECT_EQ(events[0].wait_status, 0x300);

  for (size_t cut = 0; cut < good.size(); ++cut) {
    events.clear();
    connector.decode(ByteView(good).first(cut), keep);
    EXPECT_TRUE(events.empty()) << "cut at " << cut;
  }
  std::mt19937 random(7);
  size_t decoded = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes bent = good;
    for (int flips = 0; flips < 4; ++flips)
      bent[random() % bent.size()] ^= static_cast<uint8_t>(1u << (random() % 8));
    connector.decode(bent, [&](const ProcessEvent&) { ++decoded; });
  }
  EXPECT_LT(decoded, 20000u);  // flips in lengths and ids must make it reject some
}

}  // namespace
}  // namespace tracesmith
