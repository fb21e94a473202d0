// SPDX-License-Identifier: Apache-2.0
// Tests the collector with arenas that the tests write themselves. tests/capture uses real agents.
#include "tracesmith/capture/collect/collector.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/protocol/arena_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/stacks/symbols/xray_program_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

/// An arena of a process, written as its threads would write it.
class WrittenArena {
 public:
  WrittenArena(const SessionDir& dir, uint32_t pid, uint64_t start_ticks, int number = 0,
               uint64_t pid_namespace = 0)
      : path_(dir.path() + "/" + std::to_string(pid) + "." + std::to_string(pid_namespace) + "." +
              std::to_string(number) + ".arena") {
    test::TestArenaHeader h(pid);
    h.start_ticks = start_ticks;
    h.pid_namespace = pid_namespace;
    h.arena_number = static_cast<uint32_t>(number);
    test::writeArena(path_, h, h.file_bytes);
    auto file = ArenaFile::open(path_);
    if (!file) ADD_FAILURE() << file.error().toString();
    file_.emplace(std::move(*file));
  }
  void put(uint32_t ring, const Bytes& record) {
    arena::RingHeader& r = file_->ring(ring);
    const uint64_t head = r.head.load();
    std::memcpy(const_cast<uint8_t*>(file_->ringData(ring)) + head, record.data(), record.size());
    const auto kind = loadFixed<arena::RecordHeader>(record.data()).kind;
    if (kind != arena::RecordKind::kThread && kind != arena::RecordKind::kXRayProgram) {
      r.emitted.fetch_add(1);
    }
    r.head.store(head + record.size());
  }
  void drop(uint32_t ring) {
    file_->ring(ring).emitted.fetch_add(1);
    file_->ring(ring).dropped.fetch_add(1);
  }
  /// A program that XRay traces, in ring 0.
  void program(const std::string& path) {
    Bytes out;
    putFixed(out, arena::XRayProgramRecord{{arena::RecordKind::kXRayProgram,
                                            static_cast<uint8_t>(arena::XRayState::kPatching), 0,
                                            static_cast<uint32_t>(path.size())}});
    test::putText(out, path);
    put(0, test::finished(out));
  }
  /// A call of that program's function 1.
  void functionCall(int64_t begin_ns, int64_t end_ns) {
    for (const auto& [event, time] : {std::pair{arena::FunctionEvent::kEntry, begin_ns},
                                      std::pair{arena::FunctionEvent::kExit, end_ns}}) {
      Bytes out;
      putFixed(out, arena::FunctionRecord{
                        {arena::RecordKind::kFunction, static_cast<uint8_t>(event), 0, 1}, time});
      put(0, test::finished(out));
    }
  }
  /// A launch in ring 0 and its completion in ring 1.
  void launch(uint64_t correlation) {
    put(0, test::kernelRecord(correlation));
    put(1, test::completeRecord(correlation));
  }
  ArenaFile& file() { return *file_; }
  bool exists() const { return std::filesystem::exists(path_); }

 private:
  std::string path_;
  std::optional<ArenaFile> file_;
};

constexpr uint32_t kDeadPid = 0x3fffffff;  // above every pid that the system assigns

class CollectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto dir = SessionDir::create(tmp_ / "out.sbt");
    ASSERT_TRUE(dir) << dir.error().toString();
    dir_.emplace(std::move(*dir));
    ASSERT_TRUE(dir_->writeInfo({tmp_ / "out.sbt", "test", 1}));
    own_ticks_ = readProcessStat(static_cast<uint32_t>(getpid()))->start_ticks;
  }
  std::unique_ptr<Collector> create() {
    auto made = Collector::create(*dir_, {});
    EXPECT_TRUE(made) << made.error().toString();
    return std::move(*made);
  }
  std::unique_ptr<Collector> resume() {
    auto made = Collector::resume(*dir_);
    EXPECT_TRUE(made) << made.error().toString();
    return std::move(*made);
  }
  Trace read() {
    auto reader = TraceReader::open(tmp_ / "out.sbt");
    EXPECT_TRUE(reader);
    EXPECT_TRUE(reader->complete());
    auto trace = reader->read();
    EXPECT_TRUE(trace);
    return std::move(*trace);
  }
  WrittenArena ownArena() { return {*dir_, static_cast<uint32_t>(getpid()), own_ticks_}; }

  /// Expects each of the launches 1..n once, and one loss row that says that all were written.
  static void expectLaunches(const Trace& trace, uint64_t n, uint64_t records) {
    std::set<uint64_t> seen;
    for (uint64_t id : trace.kernel.correlation_id) EXPECT_TRUE(seen.insert(id).second) << id;
    EXPECT_EQ(seen.size(), n);
    EXPECT_EQ(trace.host_call.size(), n);
    ASSERT_EQ(trace.loss.size(), 1u);
    EXPECT_EQ(trace.loss.row(0).emitted, records);
    EXPECT_EQ(trace.loss.row(0).written, records);
    EXPECT_EQ(trace.loss.row(0).unresolved, 0u);
  }

  test::TempDirectory tmp_;
  std::optional<SessionDir> dir_;
  uint64_t own_ticks_ = 0;
};

TEST_F(CollectorTest, WritesWhatTheRingsHoldAndRemovesTheSession) {
  WrittenArena arena(*dir_, kDeadPid, 3);
  arena.put(0, test::threadRecord(11, "main"));
  arena.put(2, test::kernelObject(7, "saxpy"));
  for (uint64_t i = 1; i <= 100; ++i) arena.launch(i);
  auto collector = create();
  EXPECT_EQ(collector->poll(), 0u) << "this pass has only found the arena";
  EXPECT_EQ(collector->poll(), 202u);
  ASSERT_TRUE(collector->finish());
  const Trace trace = read();
  expectLaunches(trace, 100, 201);
  EXPECT_EQ(trace.text(trace.kernel.row(0).name), "saxpy");
  ASSERT_EQ(trace.thread.size(), 1u);
  EXPECT_EQ(trace.thread.row(0).tid, 11u);
  EXPECT_FALSE(arena.exists());
  EXPECT_FALSE(std::filesystem::exists(dir_->path()));
}

TEST_F(CollectorTest, TotalsAfterTheEndAreThoseOfTheFile) {
  WrittenArena running = ownArena(), dead(*dir_, kDeadPid, 3);
  running.launch(1);
  running.drop(0);
  dead.launch(1);
  dead.drop(1);
  dead.drop(1);
  auto collector = create();
  collector->poll();
  ASSERT_TRUE(collector->finish());
  EXPECT_EQ(collector->totals().emitted, 7u);
  EXPECT_EQ(collector->totals().written, 4u);
  EXPECT_EQ(collector->totals().dropped, 3u);
  uint64_t dropped = 0;
  const Trace trace = read();
  for (uint64_t n : trace.loss.dropped) dropped += n;
  EXPECT_EQ(dropped, 3u);
}

TEST_F(CollectorTest, GivesRoomBackOnlyWhenItIsInTheFile) {
  WrittenArena arena = ownArena();
  for (uint64_t i = 1; i <= 10; ++i) arena.launch(i);
  auto collector = create();
  EXPECT_EQ(collector->poll() + collector->poll(), 20u);
  collector->poll();
  EXPECT_EQ(arena.file().ring(0).tail.load(), 0u);
  EXPECT_GT(arena.file().header().collector_heartbeat_ns.load(), 0);
  ASSERT_TRUE(collector->commitNow());
  EXPECT_EQ(arena.file().ring(0).tail.load(), arena.file().ring(0).head.load());
}

TEST_F(CollectorTest, AProcessThatCanNotBeSeenIsReadToTheEnd) {
  // In namespaces that do not exist, so nobody knows whether these are alive. Their pids are also
  // in use here.
  constexpr uint64_t kElsewhere = 7, kAnother = 8;
  const auto pid = static_cast<uint32_t>(getpid());
  WrittenArena own = ownArena();
  std::vector<WrittenArena> others;
  others.emplace_back(*dir_, pid, own_ticks_, 0, kElsewhere);
  others.emplace_back(*dir_, pid, own_ticks_, 0, kAnother);
  own.launch(1);
  for (WrittenArena& arena : others) arena.launch(1);
  auto collector = create();
  for (int i = 0; i < 3; ++i) collector->poll();
  ASSERT_TRUE(collector->commitNow());
  collector->poll();
  for (uint64_t i = 2; i <= 4; ++i) {
    for (WrittenArena& arena : others) arena.launch(i);
  }
  for (const WrittenArena& arena : others) EXPECT_TRUE(arena.exists());
  EXPECT_EQ(collector->agents().size(), 1u) << "what is told to those who go by our numbers";
  ASSERT_TRUE(collector->commitNow());

  // A resuming collector distinguishes them as well.
  collector.reset();
  for (WrittenArena& arena : others) arena.launch(5);
  collector = resume();
  collector->poll();
  EXPECT_TRUE(collector->agentsAlive());
  ASSERT_TRUE(collector->finish());
  const Trace trace = read();
  std::map<ProcessId, int> launches;
  for (const ProcessId process : trace.kernel.process_id) ++launches[process];
  std::map<uint64_t, int> by_namespace;
  for (size_t i = 0; i < trace.process.size(); ++i) {
    const ProcessRow row = trace.process.row(i);
    by_namespace[row.pid_namespace] = launches[row.id];
    EXPECT_EQ(row.pid, pid);
  }
  EXPECT_EQ(launches.size(), 3u);
  EXPECT_EQ(by_namespace, (std::map<uint64_t, int>{{0, 1}, {kElsewhere, 5}, {kAnother, 5}}));
}

TEST_F(CollectorTest, GoesOnWhereAnotherDiedWhetherThatHadCommittedOrNot) {
  for (const int committed : {0, 1, 30, 60}) {
    for (const int met : {0, 20}) {
      SCOPED_TRACE(std::to_string(committed) + " committed, " + std::to_string(met) + " more met");
      if (!dir_) SetUp();
      WrittenArena arena(*dir_, static_cast<uint32_t>(getpid()), own_ticks_);
      arena.put(2, test::kernelObject(7, "saxpy"));
      uint64_t next = 1;
      auto launch = [&](int n) {
        for (; n > 0; --n) arena.launch(next++);
        arena.put(0, test::kernelRecord(next));  // under way when the collector dies
      };
      auto first = create();
      launch(committed);
      if (committed > 0) {
        ASSERT_TRUE(first->commitNow());
      }
      arena.put(1, test::completeRecord(next++));
      launch(met);
      for (int pass = 0; met > 0 && pass < 2; ++pass) first->poll();
      first.reset();  // as if killed
      arena.put(1, test::completeRecord(next++));
      launch(5);
      arena.put(1, test::completeRecord(next));
      auto second = resume();
      ASSERT_TRUE(second->finish());
      expectLaunches(read(), next, 2 * next + 1);
      EXPECT_FALSE(std::filesystem::exists(dir_->path()));
      dir_.reset();
    }
  }
}

TEST_F(CollectorTest, KeepsTheCountsOfArenasThatWereGoneBeforeAnotherDied) {
  auto first = create();
  WrittenArena gone(*dir_, kDeadPid, 3);
  for (uint64_t i = 1; i <= 10; ++i) gone.launch(i);
  gone.drop(0);
  WrittenArena kept = ownArena();
  for (uint64_t i = 1; i <= 20; ++i) kept.launch(i);
  kept.drop(1);
  for (int i = 0; i < 100 && gone.exists(); ++i) {
    first->poll();
    usleep(5000);
  }
  ASSERT_FALSE(gone.exists());
  ASSERT_TRUE(first->commitNow());
  first.reset();
  kept.drop(1);
  kept.launch(21);
  ASSERT_TRUE(resume()->finish());
  const Trace trace = read();
  ASSERT_EQ(trace.loss.size(), 2u) << "one row for each process";
  std::map<uint64_t, LossRow> by_written;
  for (size_t i = 0; i < 2; ++i) by_written[trace.loss.row(i).written] = trace.loss.row(i);
  EXPECT_EQ(by_written[20].dropped, 1u);
  EXPECT_EQ(by_written[20].emitted, 21u);
  EXPECT_EQ(by_written[42].dropped, 2u);
  EXPECT_EQ(by_written[42].emitted, 44u);
}

TEST_F(CollectorTest, WhatWasToBeLeftOutIsLeftOutByTheNextToo) {
  for (const bool committed : {false, true}) {
    SCOPED_TRACE(committed);
    if (!dir_) SetUp();
    ASSERT_TRUE(dir_->writeInfo({.output = tmp_ / "out.sbt",
                                 .keep_kernels = false,
                                 .keep_memory = false,
                                 .shortest_call_ns = 100}));
    WrittenArena arena = ownArena();
    if (committed) {
      arena.launch(1);
      ASSERT_TRUE(create()->commitNow());
    }
    arena.launch(2);
    arena.put(0, test::copyRecord(3));
    arena.put(1, test::completeRecord(3));
    arena.functionCall(1000, 1099);
    arena.functionCall(2000, 2100);
    ASSERT_TRUE(resume()->finish());
    const Trace trace = read();
    EXPECT_EQ(trace.host_call.size(), committed ? 3u : 2u);
    EXPECT_EQ(trace.copy.size(), 0u);
    ASSERT_EQ(trace.range.size(), 1u);
    EXPECT_EQ(trace.range.row(0).start_ns, 2000);
    // The first collector was not asked to leave them out.
    EXPECT_EQ(trace.kernel.size(), committed ? 1u : 0u);
    dir_.reset();
  }
}

TEST_F(CollectorTest, AProgramOfManyProcessesIsReadOnce) {
  std::ofstream(tmp_ / "program", std::ios::binary)
      << asText(test::XRayProgram().sled(0x1000).symbol("_Z4workv", 0x1000).bytes());
  constexpr uint32_t kProcesses = 100;
  for (uint32_t i = 0; i < kProcesses; ++i) {
    WrittenArena arena(*dir_, kDeadPid - i, 3);
    arena.program(tmp_ / "program");
    arena.functionCall(1000, 2000);
  }
  auto collector = create();
  ASSERT_TRUE(collector->finish());
  EXPECT_EQ(collector->rows().programs.filesRead(), 1u);
  const Trace trace = read();
  ASSERT_EQ(trace.range.size(), kProcesses);
  for (size_t i = 0; i < kProcesses; ++i) EXPECT_EQ(trace.text(trace.range.name[i]), "work()");
}

TEST_F(CollectorTest, GivesASignOfLifeWhileItReadsAProgram) {
  std::ofstream(tmp_ / "program") << "none";
  WrittenArena arena = ownArena();
  auto collector = create();
  ASSERT_TRUE(collector->commitNow());
  std::atomic<int64_t>& heartbeat = arena.file().header().collector_heartbeat_ns;
  arena.functionCall(1000, 2000);
  ASSERT_TRUE(collector->commitNow());
  EXPECT_EQ(heartbeat.load(), 0) << "this is what poll() does";
  arena.program(tmp_ / "program");
  ASSERT_TRUE(collector->commitNow());
  EXPECT_GT(heartbeat.load(), 0);
}

TEST_F(CollectorTest, OneRingThatWasWrittenOverCostsOnlyItself) {
  WrittenArena arena(*dir_, kDeadPid, 3);
  for (uint64_t i = 1; i <= 10; ++i) {
    arena.put(0, test::kernelRecord(i));
    arena.put(1, test::completeRecord(i));
    arena.put(2, test::kernelRecord(100 + i));
    arena.put(3, test::completeRecord(100 + i));
  }
  std::memset(const_cast<uint8_t*>(arena.file().ringData(2)) + 5 * 80, 0xff, 40);
  auto collector = create();
  collector->poll();
  ASSERT_TRUE(collector->finish());
  const Trace trace = read();
  EXPECT_GE(trace.kernel.size(), 10u);
  EXPECT_LT(trace.kernel.size(), 20u);
  bool reported = false;
  for (size_t i = 0; i < trace.loss.size(); ++i) {
    reported =
        reported || trace.text(trace.loss.row(i).reason).find("wrote over") != std::string::npos;
  }
  EXPECT_TRUE(reported);
}

TEST_F(CollectorTest, FilesThatAreNoArenasAreCountedAndRemoved) {
  std::ofstream(dir_->path() + "/1.1.0.arena") << "not an arena";
  auto collector = create();
  collector->poll();
  ASSERT_TRUE(collector->finish());
  const Trace trace = read();
  ASSERT_EQ(trace.loss.size(), 1u);
  EXPECT_THAT(std::string(trace.text(trace.loss.row(0).reason)), HasSubstr("1.1.0.arena"));
  EXPECT_FALSE(std::filesystem::exists(dir_->path()));
}

TEST_F(CollectorTest, AnyBytesInTheRingsAndTheirHeadersGiveACompleteFile) {
  std::mt19937_64 chance(21);
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    if (!dir_) SetUp();
    test::RandomRecords random(static_cast<unsigned>(round));
    WrittenArena arena(*dir_, kDeadPid, 3);
    for (uint32_t ring = 0; ring < arena.file().ringCount(); ++ring) {
      for (int i = 0; i < 60; ++i) arena.put(ring, random.next());
      arena::RingHeader& r = arena.file().ring(ring);
      if (chance() % 3 == 0) r.head.store(random.pick(1 << 17));
      if (chance() % 3 == 0) r.tail.store(random.pick(1 << 17));
      if (chance() % 3 == 0) r.emitted.store(chance());
      if (chance() % 3 == 0) r.dropped.store(chance());
    }
    auto collector = create();
    collector->poll();
    if (round % 2 == 0) {
      ASSERT_TRUE(collector->commitNow());
      collector = nullptr;
      collector = resume();
    }
    ASSERT_TRUE(collector->finish());
    const Trace trace = read();
    for (size_t i = 0; i < trace.loss.size(); ++i) {
      const LossRow row = trace.loss.row(i);
      EXPECT_GE(row.emitted, row.written) << trace.text(row.source);
    }
    collector = nullptr;
    dir_.reset();
  }
}

}  // namespace
}  // namespace tracesmith
