// SPDX-License-Identifier: Apache-2.0
// Tests the table with witnesses that report late, twice, or not at all. The events are synthetic;
// process_tracker_test.cpp uses real processes.
#include "tracesmith/capture/processes/descendant_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

using Kind = ProcessEvent::Kind;
using process_flags::kForkedChild;
using process_flags::kStillRunning;
using process_flags::kUnobserved;

constexpr uint32_t kRoot = 100;

class DescendantTableTest : public ::testing::Test {
 protected:
  // Starts at the beginning of a tick, so that a few µs do not leave it.
  DescendantTableTest() {
    const int64_t asleep = clockNs(CLOCK_BOOTTIME) - monotonicNs();
    t0_ = (monotonicNs() + asleep) / 10'000'000 * 10'000'000 - asleep + 1'000'000;
    table_.expectChildOf(1);
    fork(kRoot, 1, 0);
    table_.setRoot(kRoot, std::nullopt, "root command");
  }
  int64_t at(int64_t us) const { return t0_ + us * 1000; }
  uint64_t ticks() const {
    return static_cast<uint64_t>((t0_ + clockNs(CLOCK_BOOTTIME) - monotonicNs()) / 10'000'000);
  }
  bool event(Kind kind, uint32_t pid, uint32_t tid, int64_t us, uint32_t parent = 0,
             int status = 0) {
    return table_.apply(ProcessEvent{kind, pid, tid, parent, at(us), status});
  }
  void fork(uint32_t pid, uint32_t parent, int64_t us) {
    EXPECT_FALSE(event(Kind::kFork, pid, pid, us, parent));
  }
  bool exec(uint32_t pid, int64_t us) { return event(Kind::kExec, pid, pid, us); }
  void exit(uint32_t pid, int64_t us, int status = 0) {
    event(Kind::kThreadEnd, pid, pid, us, 0, status);
  }
  LoggedProcess logged(uint32_t pid, int64_t us, const std::string& command,
                       process_log::Kind kind = process_log::Kind::kExec) const {
    LoggedProcess l;
    l.kind = kind;
    l.pid = pid;
    l.start_ticks = ticks();
    l.time_ns = at(us);
    l.pid_namespace = ownPidNamespace();
    l.command_line = command;
    l.executable = "/bin/" + command;
    return l;
  }
  std::vector<ProcessRecord> records() const { return table_.records(at(10'000'000)); }
  ProcessRecord only(uint32_t pid) const {
    std::optional<ProcessRecord> found;
    for (const auto& r : records()) {
      if (r.facts.pid != pid) continue;
      EXPECT_FALSE(found) << "twice: " << pid;
      found = r;
    }
    EXPECT_TRUE(found) << "missing: " << pid;
    return found.value_or(ProcessRecord{});
  }

  DescendantTable table_;
  int64_t t0_ = 0;
};

TEST_F(DescendantTableTest, FollowsOnlyTheRootsDescendants) {
  fork(200, kRoot, 10);
  fork(300, 1, 20);   // a child of the launcher, but not the root
  fork(400, 77, 30);  // unrelated
  fork(500, 400, 40);
  fork(201, 200, 50);
  EXPECT_FALSE(exec(400, 60));
  EXPECT_TRUE(exec(201, 60));
  ASSERT_EQ(records().size(), 3u);
  EXPECT_EQ(only(201).facts.ppid, 200u);
  EXPECT_EQ(only(kRoot).flags & process_flags::kRoot, process_flags::kRoot);
  EXPECT_EQ(only(kRoot).facts.command_line, "root command");
}

TEST_F(DescendantTableTest, KeepsOnlyTheSubtreeOfTheRootThatIsChosenLate) {
  DescendantTable table;
  table.expectChildOf(1);
  const auto fork = [&](uint32_t pid, uint32_t parent) {
    table.apply(ProcessEvent{Kind::kFork, pid, pid, parent, at(1), 0});
  };
  fork(10, 1);
  fork(11, 10);
  fork(20, 1);
  fork(21, 20);
  table.setRoot(20, std::nullopt, "");
  const auto all = table.records(at(100));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].facts.pid, 20u);
  EXPECT_EQ(all[1].facts.pid, 21u);
  EXPECT_EQ(all[1].id, 2u);
  EXPECT_FALSE(table.isLive(10));
}

TEST_F(DescendantTableTest, AProcessEndsWithItsLastThreadWhoseStatusCounts) {
  fork(200, kRoot, 10);
  event(Kind::kThreadStart, 200, 201, 20);
  exit(200, 30, 0);  // the first thread ends, the process continues
  EXPECT_EQ(only(200).end_ns, 0);
  event(Kind::kThreadEnd, 200, 201, 40, 0, 5 << 8);
  EXPECT_EQ(only(200).end_ns, at(40));
  EXPECT_EQ(only(200).exit_code, 5);
}

TEST_F(DescendantTableTest, AThreadThatAnExecEndedMayBeReportedAfterTheExec) {
  fork(200, kRoot, 10);
  event(Kind::kThreadStart, 200, 201, 20);
  exec(200, 30);
  event(Kind::kThreadEnd, 200, 201, 31, 0, SIGKILL);
  EXPECT_EQ(only(200).end_ns, 0);
  exit(200, 40, SIGSEGV | 0x80);  // with a core dump
  EXPECT_EQ(only(200).exit_code, SIGSEGV);
  EXPECT_TRUE(only(200).flags & process_flags::kSignalled);
}

TEST_F(DescendantTableTest, ANumberThatIsUsedAgainIsAnotherProcess) {
  fork(200, kRoot, 10);
  exit(200, 20, 1 << 8);
  fork(200, kRoot, 5'000'000);
  exit(200, 5'000'010, 2 << 8);
  const auto all = records();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].exit_code, 1);
  EXPECT_EQ(all[2].exit_code, 2);
  EXPECT_NE(all[1].facts.start_ticks, all[2].facts.start_ticks);
}

TEST_F(DescendantTableTest, ANumberThatIsUsedAgainByAStrangerEndsOursWithUnknownStatus) {
  fork(200, kRoot, 10);
  fork(200, 7777, 5'000'000);  // so the report of its end was lost
  EXPECT_EQ(only(200).end_ns, at(5'000'000));
  EXPECT_EQ(only(200).exit_code, kExitCodeUnknown);
  EXPECT_FALSE(table_.isLive(200));
}

TEST_F(DescendantTableTest, TheLogFillsInWhatWasGoneBeforeWeLooked) {
  fork(200, kRoot, 10);
  exec(200, 20);
  exit(200, 900);
  EXPECT_EQ(only(200).facts.command_line, "");
  table_.apply(logged(200, 400, "true"));
  const ProcessRecord r = only(200);
  EXPECT_EQ(r.facts.command_line, "true");
  EXPECT_EQ(r.facts.executable, "/bin/true");
  EXPECT_EQ(r.seen_by, "connector, preload");
  EXPECT_TRUE(r.start_ticks_exact);
  EXPECT_FALSE(r.flags & (kUnobserved | kForkedChild | kStillRunning));
}

TEST_F(DescendantTableTest, RecordsOfAChainOfExecsFindTheirPrograms) {
  table_.apply(logged(kRoot, 5, "sh"));
  fork(200, kRoot, 10);
  exec(200, 20);
  exec(200, 30);
  exec(200, 40);
  table_.apply(logged(200, 11, "sh", process_log::Kind::kFork));
  table_.apply(logged(200, 25, "env"));
  table_.apply(logged(200, 45, "last"));
  EXPECT_EQ(only(200).facts.command_line, "last");
  // The second program left no record although others did: it may have used a GPU unobserved.
  EXPECT_TRUE(only(200).flags & kUnobserved);
  table_.apply(logged(200, 35, "nice"));
  EXPECT_EQ(only(200).facts.command_line, "last");
  EXPECT_FALSE(only(200).flags & kUnobserved);
}

TEST_F(DescendantTableTest, ProcessesAreKnownFromTheLogAlone) {
  table_.apply(logged(300, 50, "first"));
  LoggedProcess child = logged(301, 60, "first", process_log::Kind::kFork);
  child.parent_pid = 300;
  table_.apply(child);
  EXPECT_EQ(only(300).facts.command_line, "first");
  EXPECT_EQ(only(301).facts.command_line, "first");
  EXPECT_EQ(only(301).facts.ppid, 300u);
  EXPECT_TRUE(only(301).flags & kForkedChild);
  table_.noteLoggedExit(301, LoggedExit{at(70), 9});
  EXPECT_EQ(only(301).exit_code, 9);
  EXPECT_EQ(only(301).end_ns, at(70));
  table_.noteGone(300, at(80));
  EXPECT_EQ(only(300).exit_code, kExitCodeUnknown);
}

TEST_F(DescendantTableTest, ARecordFromAContainerDoesNotTouchOurProcessOfThatNumber) {
  fork(200, kRoot, 10);
  LoggedProcess inner = logged(200, 50, "inner");
  inner.pid_namespace = 12345;
  EXPECT_FALSE(table_.knows(inner));
  table_.apply(inner);
  ASSERT_EQ(records().size(), 3u);
  EXPECT_EQ(records()[1].end_ns, 0);
  EXPECT_TRUE(table_.isLive(200));
  EXPECT_EQ(records()[2].facts.pid_namespace, 12345u);

  // Once /proc has shown its pid inside the namespace, its records match it.
  DescendantTable::ProcFacts look;
  look.facts.start_ticks = ticks();
  look.facts.pid_namespace = 777;
  look.facts.namespace_pid = 2;
  table_.describe(200, look);
  LoggedProcess known = logged(2, 60, "known");
  known.pid_namespace = 777;
  EXPECT_TRUE(table_.knows(known));
  table_.apply(known);
  EXPECT_EQ(records().size(), 3u);
  EXPECT_EQ(records()[1].facts.command_line, "known");
}

TEST_F(DescendantTableTest, StaticOrScrubbedProgramsAreUnobservedUnlessAnAgentReports) {
  fork(200, kRoot, 10);
  exec(200, 20);
  DescendantTable::ProcFacts look;
  look.facts.start_ticks = ticks();
  look.facts.executable = "/bin/busybox";
  look.is_static = true;
  look.has_environment = true;
  table_.describe(200, look);
  EXPECT_TRUE(only(200).flags & kUnobserved);
  fork(201, 200, 30);  // continues with the static program
  EXPECT_TRUE(only(201).flags & kUnobserved);
  fork(202, 200, 40);  // soon runs another program
  exec(202, 50);
  look.is_static = false;
  table_.describe(202, look);
  EXPECT_FALSE(only(202).flags & kUnobserved);
  look.has_environment = false;
  table_.describe(202, look);
  EXPECT_TRUE(only(202).flags & kUnobserved);
  table_.noteAgent(202, ticks());
  EXPECT_FALSE(only(202).flags & kUnobserved);
  EXPECT_TRUE(only(202).flags & process_flags::kAgent);
}

TEST_F(DescendantTableTest, WhatALookFoundOfAnotherProcessIsNotTaken) {
  fork(200, kRoot, 10);
  exec(200, 20);
  DescendantTable::ProcFacts look;
  look.facts.start_ticks = ticks() + 100;
  look.facts.command_line = "stranger";
  table_.describe(200, look);
  EXPECT_EQ(only(200).facts.command_line, "");
}

TEST_F(DescendantTableTest, TheLaunchersWordOnTheRootsEndCounts) {
  exit(kRoot, 50, 3 << 8);
  table_.noteRootExit(0, SIGTERM, at(60));
  EXPECT_EQ(only(kRoot).exit_code, SIGTERM);
  EXPECT_EQ(only(kRoot).end_ns, at(50));  // the kernel's time stamp takes precedence
}

TEST_F(DescendantTableTest, AnotherRootHasItsOwnDescendants) {
  ProcessStat stat;
  stat.parent_pid = 77;
  stat.start_ticks = ticks();
  EXPECT_TRUE(table_.addRoot(500, stat, at(1000)));
  EXPECT_FALSE(table_.addRoot(500, stat, at(1000)));
  fork(501, 500, 2000);
  fork(600, 77, 2000);  // a sibling of it
  exit(501, 3000, 7 << 8);
  EXPECT_EQ(only(500).facts.ppid, 77u);
  EXPECT_EQ(only(501).exit_code, 7);
  EXPECT_TRUE(table_.isLive(500));
  EXPECT_FALSE(table_.isLive(600));
  exit(500, 4000);
  EXPECT_FALSE(table_.addRoot(500, stat, at(5000))) << "its zombie";
}

}  // namespace
}  // namespace tracesmith
