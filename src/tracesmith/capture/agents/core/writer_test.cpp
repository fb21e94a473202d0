// SPDX-License-Identifier: Apache-2.0
// The agent's writer against the collector's reader. Each test runs in its own process, because an
// agent is armed once in the life of a process.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/agents/core/own_thread.hpp"
#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/protocol/arena_test_util.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"

namespace tracesmith {
namespace {

using agent::ThreadState;

/// Runs `body` in a child process that is armed for its own session.
void inArmedProcess(const char* overflow, const std::function<void(const SessionDir&)>& body) {
  const test::TempDirectory dir;
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    auto session = SessionDir::create(dir / "out");
    setenv(arena::kEnvSession, session->path().c_str(), 1);
    setenv(arena::kEnvRingBytes, "65536", 1);
    setenv(arena::kEnvOverflow, overflow, 1);
    setenv(arena::kEnvCapture, "on", 1);
    EXPECT_TRUE(agent::arm("test"));
    if (agent::armed()) body(*session);
    std::exit(::testing::Test::HasFailure() ? 1 : 0);  // a sanitizer's report changes the exit code
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

uint64_t noise(uint64_t writer, uint64_t number, uint64_t word) {
  return (writer * 0x9e3779b97f4a7c15 + number) * 0xbf58476d1ce4e5b9 + word;
}

/// Writes record `number` of `writer`; the length depends on both. False: it was dropped.
bool put(uint64_t writer, uint64_t number) {
  ThreadState& t = agent::t_state;
  const uint64_t words = 3 + noise(writer, number, 0) % 60;
  t.busy = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  agent::bump(t.ring->emitted);
  uint8_t* p = agent::reserve(t, words * 8);
  if (p != nullptr) {
    const arena::RecordHeader header{arena::RecordKind::kCall, 0, static_cast<uint16_t>(words),
                                     static_cast<uint32_t>(writer)};
    std::memcpy(p, &header, sizeof header);
    std::memcpy(p + 8, &number, 8);
    for (uint64_t i = 2; i < words; ++i) {
      const uint64_t v = noise(writer, number, i);
      std::memcpy(p + 8 * i, &v, 8);
    }
    agent::commit(t, words * 8);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.busy = 0;
  return p != nullptr;
}

/// The numbers of each writer's records, in order of arrival at the reader.
struct Found {
  std::map<uint64_t, std::vector<uint64_t>> numbers;
  uint64_t thread_records = 0;
  uint64_t wrong = 0;

  void take(ByteView record) {
    const auto header = loadFixed<arena::RecordHeader>(record.data());
    if (header.kind == arena::RecordKind::kThread) {
      ++thread_records;
      return;
    }
    const auto number = loadFixed<uint64_t>(record.data() + 8);
    const uint64_t words = 3 + noise(header.aux, number, 0) % 60;
    wrong += record.size() != words * 8;
    for (uint64_t i = 2; i < record.size() / 8; ++i) {
      wrong += loadFixed<uint64_t>(record.data() + 8 * i) != noise(header.aux, number, i);
    }
    numbers[header.aux].push_back(number);
  }
};

/// Reads one ring from its tail to its head and frees the space.
void drain(arena::RingHeader& ring, const uint8_t* data, uint64_t ring_bytes, Found& found) {
  const uint64_t head = ring.head.load(std::memory_order_acquire);
  RecordWalk walk(data, ring_bytes, ring.tail.load(std::memory_order_relaxed), head);
  for (ByteView r = walk.next(); !r.empty(); r = walk.next()) found.take(r);
  EXPECT_FALSE(walk.damaged());
  ring.tail.store(walk.position(), std::memory_order_release);
}

/// All arenas of a session, as the collector maps them.
class Reader {
 public:
  explicit Reader(const SessionDir& session) : session_(session) {}
  void pass() {
    for (const std::string& path : session_.arenas()) {
      if (!known_.insert(path).second) continue;
      auto file = ArenaFile::open(path);
      ASSERT_TRUE(file) << file.error().toString();
      arenas_.push_back(std::move(*file));
    }
    for (ArenaFile& arena : arenas_) {
      arena.header().collector_heartbeat_ns.store(agent::nowNs());
      for (uint32_t i = 0; i < arena.ringCount(); ++i) {
        drain(arena.ring(i), arena.ringData(i), arena.ringBytes(), found);
      }
    }
  }
  uint64_t sum(std::atomic<uint64_t> arena::RingHeader::*counter) const {
    uint64_t n = 0;
    for (const ArenaFile& arena : arenas_) {
      for (uint32_t i = 0; i < arena.ringCount(); ++i) n += (arena.ring(i).*counter).load();
    }
    return n;
  }
  size_t arenas() const { return arenas_.size(); }
  const ArenaFile& arena(size_t i) const { return arenas_[i]; }
  Found found;

 private:
  const SessionDir& session_;
  std::set<std::string> known_;
  std::vector<ArenaFile> arenas_;
};

// A recorder that lost its mapping of an arena (its disk is full) is alive, but reads nothing.
TEST(RingWriter, WaitsOnceForAReaderThatNeverMoves) {
  inArmedProcess("block", [](const SessionDir& session) {
    auto arena = ArenaFile::open(session.arenas().at(0));
    ASSERT_TRUE(arena) << arena.error().toString();
    std::atomic<bool> stop{false};
    std::thread heart([&] {
      while (!stop) {
        arena->header().collector_heartbeat_ns.store(agent::nowNs());
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    ASSERT_TRUE(agent::ready());
    uint64_t number = 0;
    while (put(0, number)) ++number;  // the last one waits in vain
    const int64_t began = agent::nowNs();
    for (int i = 0; i < 1000; ++i) put(0, ++number);
    EXPECT_LT(agent::nowNs() - began, 1'000'000'000);
    arena::RingHeader& ring = arena->ring(0);
    EXPECT_GT(ring.dropped.load(), 900u);  // a short one may fit
    ring.tail.store(ring.head.load());
    EXPECT_TRUE(put(0, ++number)) << "it reads again";
    stop = true;
    heart.join();
  });
}

TEST(RingWriter, OwnThreadsOfAgentsLeaveFaultsToTheirHandlers) {
  static std::atomic<bool> done;
  static sigset_t mask;
  const auto run = [](void*) -> void* {
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    done.store(true);
    return nullptr;
  };
  ASSERT_EQ(agent::startOwnThread(run), 0);
  while (!done.load()) std::this_thread::yield();
  EXPECT_EQ(sigismember(&mask, SIGBUS), 0)
      << "a page of a file that was cut short ends the program";
  EXPECT_EQ(sigismember(&mask, SIGSEGV), 0);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 1);
}

// Reader and writers share one mapping here, so that ThreadSanitizer sees every access of both.
TEST(RingWriter, EveryRecordArrivesWholeAndInOrderWhileItIsBeingRead) {
  inArmedProcess("block", [](const SessionDir&) {
    constexpr uint64_t kWriters = 3, kRecords = 20'000;  // about 80 times round the ring
    struct Mapped {
      arena::RingHeader* ring;
      const uint8_t* data;
    };
    std::mutex mutex;
    std::vector<Mapped> rings;
    std::atomic<uint64_t> running{kWriters};
    std::vector<std::thread> writers;
    for (uint64_t w = 0; w < kWriters; ++w) {
      writers.emplace_back([&, w] {
        if (agent::ready()) {
          {
            const std::lock_guard lock(mutex);
            rings.push_back({agent::t_state.ring, agent::t_state.data});
          }
          for (uint64_t i = 0; i < kRecords; ++i) EXPECT_TRUE(put(w, i));
        }
        running.fetch_sub(1);
      });
    }
    Found found;
    auto pass = [&] {
      std::vector<Mapped> now;
      {
        const std::lock_guard lock(mutex);
        now = rings;
      }
      if (!now.empty()) {
        // Rings follow the header of their arena; their data starts at a page.
        auto* header = reinterpret_cast<arena::ArenaHeader*>(
            reinterpret_cast<uintptr_t>(now[0].ring) & ~uintptr_t{4095});
        header = reinterpret_cast<arena::ArenaHeader*>(reinterpret_cast<uint8_t*>(header) -
                                                       arena::kHeaderBytes);
        header->collector_heartbeat_ns.store(agent::nowNs());
      }
      for (const Mapped& m : now) drain(*m.ring, m.data, arena::kMinRingBytes, found);
    };
    while (running.load() > 0) {
      pass();
      const timespec pause{0, 200'000};
      nanosleep(&pause, nullptr);
    }
    for (std::thread& writer : writers) writer.join();
    pass();
    EXPECT_EQ(found.wrong, 0u);
    EXPECT_EQ(found.numbers.size(), kWriters);
    for (const auto& [writer, numbers] : found.numbers) {
      EXPECT_EQ(numbers.size(), kRecords);
      EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    }
    uint64_t blocked = 0;
    for (const Mapped& m : rings) {
      EXPECT_EQ(m.ring->emitted.load(), kRecords);
      EXPECT_EQ(m.ring->dropped.load(), 0u);
      blocked += m.ring->blocked_ns.load();
    }
    EXPECT_GT(blocked, 0u) << "the rings never were full, so this proves little";
  });
}

TEST(RingWriter, ADroppedRecordIsCountedAndTheOthersStayWhole) {
  inArmedProcess("drop", [](const SessionDir& session) {
    constexpr uint64_t kWriters = 6, kRecords = 10'000;  // two arenas
    std::vector<std::vector<uint64_t>> written(kWriters);
    std::atomic<uint64_t> running{kWriters}, ready{0};
    std::vector<std::thread> writers;
    for (uint64_t w = 0; w < kWriters; ++w) {
      writers.emplace_back([&, w] {
        EXPECT_TRUE(agent::ready());
        ready.fetch_add(1);
        while (ready.load() < kWriters) std::this_thread::yield();
        for (uint64_t i = 0; i < kRecords; ++i) {
          if (put(w, i)) written[w].push_back(i);
          if (i % 500 == 0) std::this_thread::yield();
        }
        running.fetch_sub(1);
      });
    }
    Reader reader(session);
    while (running.load() > 0) {
      reader.pass();
      const timespec pause{0, 1'000'000};
      nanosleep(&pause, nullptr);
    }
    for (std::thread& writer : writers) writer.join();
    reader.pass();
    EXPECT_EQ(reader.found.wrong, 0u);
    uint64_t read = 0;
    for (uint64_t w = 0; w < kWriters; ++w) {
      EXPECT_EQ(reader.found.numbers[w], written[w]);
      read += written[w].size();
    }
    const uint64_t dropped = reader.sum(&arena::RingHeader::dropped);
    EXPECT_EQ(reader.sum(&arena::RingHeader::emitted), kWriters * kRecords);
    EXPECT_EQ(read + dropped, kWriters * kRecords);
    EXPECT_GT(dropped, 0u) << "the rings never were full, so this proves little";
    EXPECT_GE(reader.arenas(), 2u);
  });
}

TEST(RingWriter, ThreadsThatComeOneAfterTheOtherShareARing) {
  inArmedProcess("block", [](const SessionDir& session) {
    Reader reader(session);
    for (uint64_t w = 0; w < 300; ++w) {
      std::thread([&] {
        ASSERT_TRUE(agent::ready());
        for (uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(put(w, i));
      }).join();
      if (w % 10 == 0) reader.pass();
    }
    reader.pass();
    EXPECT_EQ(reader.found.thread_records, 300u);
    EXPECT_EQ(reader.found.numbers.size(), 300u);
    EXPECT_EQ(reader.found.wrong, 0u);
    EXPECT_EQ(reader.arenas(), 1u);
    EXPECT_EQ(reader.sum(&arena::RingHeader::dropped), 0u);
  });
}

TEST(RingWriter, AFullRingIsNotHandedToAThreadThatCouldNotSayWhoItIs) {
  inArmedProcess("drop", [](const SessionDir& session) {
    for (uint64_t w = 0; w < arena::kRingsPerArena; ++w) {
      std::thread([&] {
        ASSERT_TRUE(agent::ready());
        while (put(w, 0)) {
        }
      }).join();
      // Each of them fills the rest of the previous thread's ring, and then the next ring.
    }
    Reader reader(session);
    uint64_t refused = 0;
    std::thread([&] {
      // Full rings of the first arena are skipped; a later try may find space.
      for (uint64_t i = 0; i < 3; ++i) refused += !agent::ready();
      reader.pass();
      ASSERT_TRUE(agent::ready()) << "there is room again";
      EXPECT_TRUE(put(99, 1));
    }).join();
    reader.pass();
    EXPECT_EQ(reader.found.numbers[99].size(), 1u);
    EXPECT_EQ(reader.arena(0).header().dropped_without_ring.load(), refused);
    EXPECT_EQ(reader.found.wrong, 0u);
  });
}

TEST(RingWriter, WithoutAReaderABlockedThreadSoonGoesOnAndCounts) {
  inArmedProcess("block", [](const SessionDir& session) {
    const int64_t began = agent::nowNs();
    uint64_t written = 0;
    for (uint64_t i = 0; agent::ready() && i < 5000; ++i) written += put(1, i);
    EXPECT_LT(agent::nowNs() - began, 3'000'000'000);
    Reader reader(session);
    reader.pass();
    EXPECT_EQ(reader.found.numbers[1].size(), written);
    EXPECT_EQ(reader.sum(&arena::RingHeader::dropped), 5000 - written);
    EXPECT_GT(written, 100u);
    EXPECT_LT(written, 5000u);
  });
}

std::atomic<uint64_t> g_handled{0};
void onSignal(int) {
  // As the OpenCL agent does for a call from a signal handler.
  if (!agent::ready()) return;
  if (agent::t_state.busy != 0) {
    agent::countReentrant();
  } else {
    put(1000, g_handled.fetch_add(1));
  }
}

TEST(RingWriter, ASignalHandlerThatWritesNeverSpoilsARecordNorTheStartOfAThread) {
  inArmedProcess("block", [](const SessionDir& session) {
    struct sigaction action {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    constexpr uint64_t kThreads = 150, kRecords = 200;
    std::atomic<bool> over{false};
    std::mutex mutex;
    pthread_t target{};
    bool has_target = false;
    std::thread shooter([&] {
      while (!over.load()) {
        {
          const std::lock_guard lock(mutex);
          if (has_target) pthread_kill(target, SIGUSR1);
        }
        const timespec pause{0, 2'000};
        nanosleep(&pause, nullptr);
      }
    });
    Reader reader(session);
    std::atomic<uint64_t> done{0};
    std::thread writers([&] {
      for (uint64_t w = 0; w < kThreads; ++w) {
        std::thread([&] {
          {
            const std::lock_guard lock(mutex);
            target = pthread_self();
            has_target = true;
          }
          while (!agent::ready()) {
          }
          for (uint64_t i = 0; i < kRecords; ++i) {
            EXPECT_TRUE(put(w, i));
            if (i == kRecords / 2) raise(SIGUSR1);  // one signal that certainly arrives
          }
          const std::lock_guard lock(mutex);
          has_target = false;
        }).join();
      }
      done = 1;
    });
    while (done.load() == 0) {
      reader.pass();
      const timespec pause{0, 500'000};
      nanosleep(&pause, nullptr);
    }
    over = true;
    writers.join();
    shooter.join();
    reader.pass();
    EXPECT_EQ(reader.found.wrong, 0u);
    for (uint64_t w = 0; w < kThreads; ++w) EXPECT_EQ(reader.found.numbers[w].size(), kRecords);
    EXPECT_EQ(reader.found.numbers[1000].size(), g_handled.load());
    EXPECT_GE(g_handled.load(), kThreads);
    EXPECT_EQ(reader.found.thread_records, kThreads) << "a thread took two rings";
    EXPECT_EQ(reader.arenas(), 1u);
  });
}

TEST(RingWriter, ThreadsOfAForkedChildWaitForItsArena) {
  inArmedProcess("block", [](const SessionDir&) {
    constexpr uint64_t kThreads = 4;
    ASSERT_TRUE(agent::ready());
    for (int child = 0; child < 20; ++child) {
      fflush(nullptr);
      const pid_t pid = fork();
      if (pid == 0) {
        std::atomic<uint64_t> waiting{0}, recorded{0};
        std::vector<std::thread> threads;
        for (uint64_t w = 0; w < kThreads; ++w) {
          threads.emplace_back([&, w] {
            waiting.fetch_add(1);
            while (waiting.load() < kThreads) {
            }
            if (agent::ready() && put(w, 0)) recorded.fetch_add(1);
          });
        }
        for (std::thread& thread : threads) thread.join();
        _exit(static_cast<int>(recorded.load()));
      }
      int status = 0;
      waitpid(pid, &status, 0);
      ASSERT_TRUE(WIFEXITED(status));
      EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(kThreads)) << "child " << child;
    }
  });
}

TEST(RingWriter, AForkedChildBeginsAnArenaOfItsOwn) {
  inArmedProcess("block", [](const SessionDir& session) {
    ASSERT_TRUE(agent::ready());
    EXPECT_TRUE(put(1, 0));
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      const bool ok = agent::ready() && put(2, 0);
      _exit(ok ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(put(1, 1));
    Reader reader(session);
    reader.pass();
    ASSERT_EQ(reader.arenas(), 2u);
    std::set<uint32_t> pids;
    for (size_t i = 0; i < 2; ++i) pids.insert(reader.arena(i).header().pid);
    EXPECT_EQ(pids,
              (std::set<uint32_t>{static_cast<uint32_t>(getpid()), static_cast<uint32_t>(pid)}));
    EXPECT_EQ(reader.found.numbers[1].size(), 2u);
    EXPECT_EQ(reader.found.numbers[2].size(), 1u);
    EXPECT_EQ(reader.found.wrong, 0u);
  });
}

/// As in a signal handler that forks while it interrupts a record: both processes finish it.
TEST(RingWriter, AChildThatIsForkedWithinARecordLeavesItToItsParent) {
  inArmedProcess("block", [](const SessionDir&) {
    ASSERT_TRUE(agent::ready());
    ThreadState& t = agent::t_state;
    constexpr uint64_t kBytes = 64;
    t.busy = agent::stackPointer();
    uint8_t* const p = agent::reserve(t, kBytes);
    ASSERT_NE(p, nullptr);
    std::memset(p, 1, kBytes);
    const uint64_t head = t.ring->head.load();
    const pid_t pid = fork();
    if (pid == 0) {
      std::memset(p, 2, kBytes);
      agent::commit(t, kBytes);
      t.busy = 0;
      _exit(agent::ready() && t.ring->head.load() != head + kBytes ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it has a ring of its own";
    EXPECT_EQ(t.ring->head.load(), head);
    EXPECT_EQ(p[kBytes - 1], 1);
    agent::commit(t, kBytes);
    t.busy = 0;
    EXPECT_EQ(t.ring->head.load(), head + kBytes);
  });
}

}  // namespace
}  // namespace tracesmith
