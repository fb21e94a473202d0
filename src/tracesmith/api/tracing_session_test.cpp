// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/tracing_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <thread>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

class TempTrace {
 public:
  TempTrace() {
    std::string path = testing::TempDir() + "session.XXXXXX";
    close(mkstemp(path.data()));
    path_ = path;
  }
  ~TempTrace() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Trace readTrace(const std::string& path) {
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader) << reader.error().toString();
  if (!reader) return {};
  auto trace = reader->read();
  EXPECT_TRUE(trace);
  EXPECT_THAT(reader->losses(), testing::IsEmpty());
  return std::move(*trace);
}

LossRow sessionLoss(const Trace& trace) {
  for (size_t i = 0; i < trace.loss.size(); ++i) {
    if (trace.text(trace.loss.source[i]) == "session records") return trace.loss.row(i);
  }
  return {};
}

TEST(TracingSession, RecordsEveryKind) {
  TempTrace file;
  TracingSession session;
  EXPECT_EQ(session.getState(), TracingSession::State::Stopped);
  ASSERT_TRUE(session.start({.output_file = file.path()}));
  EXPECT_TRUE(session.isActive());
  EXPECT_EQ(session.getMode(), TracingSession::Mode::File);
  const int64_t before = monotonicNs();
  const SpanName step = session.spanName("step");
  const SpanName mark = session.spanName("epoch");
  const CounterTrack loss = session.counterTrack("loss", "nat");
  EXPECT_EQ(session.spanName("step"), step);
  {
    const TracingSession::Span outer(session, step);
    EXPECT_TRUE(session.marker(mark));
    EXPECT_TRUE(session.counter(loss, 0.5));
    EXPECT_TRUE(session.memory(session.spanName("pool"), 0x1000, 256, true));
    EXPECT_TRUE(session.memory(session.spanName("pool"), 0x1000, 256, false));
    EXPECT_TRUE(session.emitCounter("loss", 0.25, "nat"));
    TraceEvent event(EventType::Marker);
    event.name = "hello";
    event.metadata["key"] = "value";
    EXPECT_TRUE(session.emit(event));
  }
  ASSERT_TRUE(session.stop());
  const int64_t after = monotonicNs();
  EXPECT_FALSE(session.isActive());
  EXPECT_FALSE(session.marker(mark)) << "a stopped session takes nothing";

  const Trace trace = readTrace(file.path());
  ASSERT_EQ(trace.range.size(), 3U);
  std::map<std::string, size_t> place;
  for (size_t i = 0; i < 3; ++i) {
    place[std::string(trace.text(trace.range.name[i]))] = i;
    EXPECT_GE(trace.range.start_ns[i], before - 2'000);
    EXPECT_LE(trace.range.start_ns[i] + trace.range.duration_ns[i], after + 2'000);
    const ThreadRow thread = trace.thread.row(indexOf(trace.range.thread_id[i]));
    EXPECT_EQ(thread.tid, static_cast<uint32_t>(gettid()));
    EXPECT_EQ(trace.process.pid[indexOf(thread.process_id)], static_cast<uint32_t>(getpid()));
  }
  ASSERT_THAT(place, testing::SizeIs(3));
  const size_t span = place["step"];
  EXPECT_EQ(trace.range.kind[span], RangeKind::kRange);
  EXPECT_LE(trace.range.start_ns[span], trace.range.start_ns[place["epoch"]]);
  EXPECT_GE(endOf(trace.range.start_ns[span], trace.range.duration_ns[span]),
            trace.range.start_ns[place["hello"]]);
  EXPECT_EQ(trace.range.kind[place["epoch"]], RangeKind::kInstant);
  ASSERT_EQ(trace.counter.size(), 2U);
  EXPECT_EQ(trace.counter.track_id[0], trace.counter.track_id[1]);
  EXPECT_EQ(trace.counter.value[0] + trace.counter.value[1], 0.75);
  EXPECT_EQ(trace.text(trace.counter_track.name[0]), "loss");
  EXPECT_EQ(trace.text(trace.counter_track.unit[0]), "nat");
  ASSERT_EQ(trace.memory_event.size(), 2U);
  EXPECT_EQ(trace.memory_event.bytes[0], 256U);
  ASSERT_EQ(trace.attribute.size(), 1U);
  EXPECT_EQ(trace.attribute.row_number[0], place["hello"]);
  const LossRow counts = sessionLoss(trace);
  EXPECT_EQ(counts.emitted, 7U);
  EXPECT_EQ(counts.written, 7U);
  EXPECT_EQ(counts.dropped, 0U);
  const auto statistics = session.getStatistics();
  EXPECT_EQ(statistics.counters_emitted, 2U);
  EXPECT_EQ(statistics.events_emitted, 5U);
  EXPECT_EQ(statistics.events_dropped, 0U);
  EXPECT_GT(statistics.duration_ms(), 0);
}

TEST(TracingSession, KeepsEventsInMemoryAndGivesThemBack) {
  TracingSession session;
  ASSERT_TRUE(session.start());
  EXPECT_EQ(session.getMode(), TracingSession::Mode::InProcess);
  TraceEvent event(EventType::KernelComplete, 1'000);
  event.duration = 50;
  event.name = "gemm";
  event.device_id = 1;
  event.stream_id = 3;
  event.correlation_id = 9;
  event.thread_id = 77;
  event.metadata = {{"a", "b"}, {"c", ""}};
  event.flow_info = {5, FlowType::AsyncCpuGpu, true};
  event.kernel_params = KernelParams{4, 5, 6, 32, 2, 1, 1024, 40};
  event.memory_params = MemoryParams{1, 2, 3};
  event.call_stack = CallStack{{{0x10, "f", "f.cpp", 3}, {0x20, "main", "", 0}}, 77};
  event.custom_data = {1, 2, 255};
  EXPECT_TRUE(session.emit(event));
  const std::vector<TraceEvent> running = session.getEvents();
  ASSERT_THAT(running, testing::SizeIs(1)) << "while it runs";
  EXPECT_EQ(running[0], event);
  EXPECT_TRUE(session.emitCounter("power", 300, "W"));
  ASSERT_TRUE(session.stop());
  EXPECT_THAT(session.getEvents(), testing::SizeIs(1));
  const auto counters = session.getCounters();
  ASSERT_THAT(counters, testing::SizeIs(1));
  EXPECT_EQ(counters[0].counter_name, "power");
  EXPECT_EQ(counters[0].value, 300);
  ASSERT_TRUE(session.clear());
  EXPECT_THAT(session.getEvents(), testing::IsEmpty());
  // Once more, in the same thread.
  ASSERT_TRUE(session.start());
  EXPECT_TRUE(session.emit(event));
  ASSERT_TRUE(session.stop());
  EXPECT_THAT(session.getEvents(), testing::SizeIs(1));
}

TEST(TracingSession, RefusesWhatCanNotBe) {
  TracingSession session;
  const Status nowhere = session.start({.output_file = "/nonexistent/x.sbt"});
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().toString(), testing::HasSubstr("/nonexistent"));
  EXPECT_FALSE(session.marker(session.spanName("x")));
  EXPECT_TRUE(session.stop()) << "nothing to stop";
  ASSERT_TRUE(session.start());
  EXPECT_FALSE(session.start()) << "it runs";
  EXPECT_FALSE(session.clear()) << "it runs";
}

TEST(TracingSession, EventsThatAreTooLargeAreCounted) {
  TracingSession session;
  ASSERT_TRUE(session.start({.buffer_size_kb = 4}));
  TraceEvent event(EventType::Marker);
  event.name.assign(1000, 'x');
  EXPECT_TRUE(session.emit(event));
  event.name.assign(3000, 'x');
  EXPECT_FALSE(session.emit(event));
  event.name.assign(3'000'000, 'x');
  EXPECT_FALSE(session.emit(event));
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.getStatistics().events_emitted, 3U);
  EXPECT_EQ(session.eventsDropped(), 2U);
}

class SessionThreads : public testing::TestWithParam<OverflowPolicy> {};

TEST_P(SessionThreads, DeliverOrCountEverything) {
  constexpr int kThreads = 4;
  constexpr uint64_t kSpans = 20'000;
  TempTrace file;
  TracingSession session;
  ASSERT_TRUE(
      session.start({.buffer_size_kb = 4, .overflow = GetParam(), .output_file = file.path()}));
  const SpanName name = session.spanName("span");
  const CounterTrack track = session.counterTrack("n");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kSpans; ++i) {
        const TracingSession::Span span(session, name);
        session.counter(track, static_cast<double>(i));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  ASSERT_TRUE(session.stop());
  const Trace trace = readTrace(file.path());
  const auto statistics = session.getStatistics();
  EXPECT_EQ(statistics.events_emitted, kThreads * kSpans);
  EXPECT_EQ(statistics.counters_emitted, kThreads * kSpans);
  EXPECT_EQ(trace.range.size() + trace.counter.size() + statistics.events_dropped,
            2 * kThreads * kSpans);
  const LossRow counts = sessionLoss(trace);
  EXPECT_EQ(counts.emitted, 2 * kThreads * kSpans);
  EXPECT_EQ(counts.written, trace.range.size() + trace.counter.size());
  EXPECT_EQ(counts.dropped, statistics.events_dropped);
  if (GetParam() == OverflowPolicy::Block) {
    EXPECT_EQ(counts.dropped, 0U);
    // The events of each thread are complete and in order.
    std::map<ThreadId, std::vector<int64_t>> starts;
    for (size_t i = 0; i < trace.range.size(); ++i) {
      starts[trace.range.thread_id[i]].push_back(trace.range.start_ns[i]);
    }
    EXPECT_THAT(starts, testing::SizeIs(kThreads));
    for (auto& [thread, times] : starts) {
      EXPECT_EQ(times.size(), kSpans);
      EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, SessionThreads,
                         testing::Values(OverflowPolicy::DropOldest, OverflowPolicy::DropNewest,
                                         OverflowPolicy::Block));

TEST(TracingSession, ShortThreadsUseRingsAgain) {
  TracingSession session;
  ASSERT_TRUE(session.start({.buffer_size_kb = 4, .max_threads = 8}));
  const SpanName name = session.spanName("short");
  // A ring is free again once its events were read, which may take longer on a busy machine.
  uint64_t refused = 0;
  for (int i = 0; i < 300; ++i) {
    for (bool emitted = false; !emitted && refused < 100'000;) {
      std::thread([&] { emitted = session.marker(name); }).join();
      refused += emitted ? 0 : 1;
    }
  }
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.getEvents().size(), 300U);
  EXPECT_EQ(session.eventsDropped(), refused);
}

TEST(TracingSession, AThousandThreadsAtOnceLoseNothing) {
  constexpr int kThreads = 1000;
  constexpr int kEach = 500;  // twice what a ring of 4 KiB holds
  const TempTrace file;
  TracingSession session;
  ASSERT_TRUE(session.start({.buffer_size_kb = 4, .output_file = file.path()}));
  const SpanName name = session.spanName("event");
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      session.marker(name);  // all threads have rings before one of them ends
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      for (int k = 1; k < kEach; ++k) session.marker(name);
    });
  }
  for (std::thread& t : threads) t.join();
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.getStatistics().events_dropped, 0U);
  const Trace trace = readTrace(file.path());
  EXPECT_EQ(trace.range.size(), size_t{kThreads} * kEach);
  EXPECT_GE(trace.thread.size(), size_t{kThreads});
}

TEST(TracingSession, ThreadsBeyondTheLastRingAreCounted) {
  TracingSession session;
  ASSERT_TRUE(session.start({.buffer_size_kb = 4, .max_threads = 1}));
  const SpanName name = session.spanName("x");
  EXPECT_TRUE(session.marker(name));
  std::thread([&] { EXPECT_FALSE(session.marker(name)); }).join();
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.getStatistics().events_emitted, 2U);
  EXPECT_EQ(session.eventsDropped(), 1U);
}

TEST(TracingSession, WhoHasNoRingIsNotHeldUp) {
  for (const OverflowPolicy policy : {OverflowPolicy::DropNewest, OverflowPolicy::Block}) {
    TracingSession session;
    ASSERT_TRUE(session.start({.buffer_size_kb = 4, .max_threads = 1, .overflow = policy}));
    const SpanName name = session.spanName("x");
    EXPECT_TRUE(session.marker(name));
    const int64_t began = monotonicNs();
    std::thread([&] {
      for (int i = 0; i < 20'000; ++i) EXPECT_FALSE(session.marker(name));
    }).join();
    EXPECT_LT(monotonicNs() - began, 2'000'000'000) << "a millisecond for each would be 20 s";
    ASSERT_TRUE(session.stop());
    EXPECT_EQ(session.eventsDropped(), 20'000U);
  }
}

/// Emits while its thread is ending.
struct LateEmitter {
  TracingSession* session = nullptr;
  SpanName name{};
  bool taken = true;
  bool* recorded = nullptr;
  ~LateEmitter() {
    if (session != nullptr) *recorded = session->marker(name);
  }
};
thread_local LateEmitter t_late;

TEST(TracingSession, AThreadThatEmitsToTheVeryEndIsCounted) {
  TracingSession session;
  ASSERT_TRUE(session.start({.buffer_size_kb = 4}));
  const SpanName name = session.spanName("x");
  bool taken = true;
  std::thread([&] {
    // Created before the session's thread-local state, and so destroyed after it.
    t_late.session = &session;
    t_late.name = name;
    t_late.recorded = &taken;
    EXPECT_TRUE(session.marker(name));
  }).join();
  EXPECT_FALSE(taken);
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.getEvents().size(), 1U);
  EXPECT_EQ(session.getStatistics().events_emitted, 2U);
  EXPECT_EQ(session.eventsDropped(), 1U);
}

TEST(TracingSession, LossesOfOthersAreInTheTrace) {
  const TempTrace file;
  TracingSession session;
  session.noteLoss("early", 1, 1, "it does not run");
  ASSERT_TRUE(session.start({.output_file = file.path()}));
  session.noteLoss("device events", 10, 1, "one");
  ASSERT_TRUE(session.flush());
  session.noteLoss("device events", 30, 2, "two");
  session.noteLoss("others", 5, 0, "");
  ASSERT_TRUE(session.stop());
  const Trace trace = readTrace(file.path());
  std::map<std::string, LossRow> last;
  for (size_t i = 0; i < trace.loss.size(); ++i) {
    last[std::string(trace.text(trace.loss.source[i]))] = trace.loss.row(i);
  }
  EXPECT_EQ(last.count("early"), 0U);
  const LossRow& device = last.at("device events");
  EXPECT_EQ(device.emitted, 30U);
  EXPECT_EQ(device.written, 28U);
  EXPECT_EQ(device.dropped, 2U);
  EXPECT_EQ(trace.text(device.reason), "two");
  EXPECT_EQ(last.at("others").written, 5U);
  EXPECT_EQ(last.size(), trace.loss.size());  // one row per source, the last one
}

TEST(TracingSession, NamesThatFindNoRoomAreOne) {
  const TempTrace file;
  TracingSession session;
  ASSERT_TRUE(session.start({.output_file = file.path()}));
  SpanName last{};
  for (int i = 0; i < 300; ++i) {  // more than 16 MiB of names
    last = session.spanName(std::to_string(i) + std::string(64'000, 'x'));
  }
  EXPECT_TRUE(session.marker(last));
  const CounterTrack track = session.counterTrack("late", "unit");
  EXPECT_TRUE(session.counter(track, 1));
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.eventsDropped(), 0U);
  const Trace trace = readTrace(file.path());
  ASSERT_EQ(trace.range.size(), 1U);
  EXPECT_EQ(trace.text(trace.range.name[0]), "(no room for more names)");
}

TEST(TracingSession, StopsWhileAForkedChildGoesOn) {
  const TempTrace file;
  TracingSession session;
  ASSERT_TRUE(session.start({.buffer_size_kb = 64, .output_file = file.path()}));
  const SpanName name = session.spanName("endless");
  EXPECT_TRUE(session.marker(name));
  const pid_t child = fork();
  if (child == 0) {
    for (;;) session.marker(name);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const int64_t began = monotonicNs();
  EXPECT_TRUE(session.stop());
  EXPECT_LT(monotonicNs() - began, 10'000'000'000);
  EXPECT_GT(readTrace(file.path()).range.size(), 1U);
  // The child does not hold anything that the parent needs.
  EXPECT_TRUE(session.start({.output_file = file.path()})) << "the file is not locked";
  EXPECT_TRUE(session.stop());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(TracingSession, ForkedChildrenMayBeginSessionsOfTheirOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer allows no threads in the child of a process with threads";
#endif
  const TempTrace file, of_child;
  TracingSession session;
  ASSERT_TRUE(session.start({.output_file = file.path()}));
  EXPECT_TRUE(session.marker(session.spanName("parent")));
  const pid_t child = fork();
  if (child == 0) {
    const bool started = bool(session.start({.output_file = of_child.path()}));
    const bool taken = session.marker(session.spanName("child"));
    _exit(started && taken && session.stop() ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(readTrace(file.path()).range.size(), 1U);
  EXPECT_EQ(readTrace(of_child.path()).range.size(), 1U);
}

TEST(TracingSession, ForkedChildrenRecordIntoTheSameTrace) {
  TempTrace file;
  TracingSession session;
  ASSERT_TRUE(session.start({.output_file = file.path()}));
  const SpanName parent = session.spanName("parent");
  EXPECT_TRUE(session.marker(parent));
  constexpr int kChildren = 3;
  std::vector<pid_t> children;
  for (int c = 0; c < kChildren; ++c) {
    // Open during the fork: it belongs to the parent, which will end it.
    const TracingSession::Span open(session, parent);
    const pid_t pid = fork();
    if (pid == 0) {
      {
        const TracingSession::Span span(session, session.spanName("child " + std::to_string(c)));
        for (int i = 0; i < 100; ++i) session.marker(parent);
      }
      session.stop();  // does nothing here
      raise(SIGKILL);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) waitpid(pid, nullptr, 0);
  ASSERT_TRUE(session.stop());
  const Trace trace = readTrace(file.path());
  std::map<std::string, int> names;
  std::map<uint32_t, int> of_process;
  for (size_t i = 0; i < trace.range.size(); ++i) {
    ++names[std::string(trace.text(trace.range.name[i]))];
    ++of_process[trace.process.pid[indexOf(trace.range.process_id[i])]];
  }
  EXPECT_EQ(names["parent"], 1 + kChildren + 100 * kChildren);
  for (int c = 0; c < kChildren; ++c) {
    EXPECT_EQ(names["child " + std::to_string(c)], 1);
    EXPECT_EQ(of_process[static_cast<uint32_t>(children[static_cast<size_t>(c)])], 101);
  }
  EXPECT_EQ(of_process[static_cast<uint32_t>(getpid())], 1 + kChildren);
  EXPECT_EQ(sessionLoss(trace).dropped, 0U);
}

TEST(TracingSession, AKilledProcessLeavesItsTraceUpToTheLastFlush) {
  TempTrace file;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    TracingSession session;
    if (!session.start({.output_file = file.path(), .flush_interval_ms = 20})) _exit(1);
    const SpanName name = session.spanName("work");
    for (uint64_t i = 0;; ++i) {
      session.marker(name);
      if (i == 5'000) {
        usleep(300'000);
        if (write(pipe_ends[1], "x", 1) != 1) _exit(2);
      }
      usleep(i > 5'000 ? 100 : 0);
    }
  }
  char c = 0;
  ASSERT_EQ(read(pipe_ends[0], &c, 1), 1);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  auto reader = TraceReader::open(file.path());
  ASSERT_TRUE(reader) << reader.error().toString();
  EXPECT_FALSE(reader->complete());
  const auto trace = reader->read();
  ASSERT_TRUE(trace);
  EXPECT_GE(trace->range.size(), 5'001U) << "what was older than the flush interval";
  EXPECT_GE(sessionLoss(*trace).emitted, 5'001U);
}

TEST(TracingSession, EndsByItself) {
  TracingSession session;
  ASSERT_TRUE(session.start({.duration_ms = 30}));
  const SpanName name = session.spanName("x");
  EXPECT_TRUE(session.marker(name));
  for (int i = 0; i < 500 && session.isActive(); ++i) usleep(10'000);
  EXPECT_FALSE(session.isActive());
  EXPECT_FALSE(session.marker(name));
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.getEvents().size(), 1U);
  ASSERT_TRUE(session.start()) << "and may begin again";
}

TracingSession* g_interrupted = nullptr;
SpanName g_signal_name{};

TEST(TracingSession, SignalHandlersMayEmit) {
  TracingSession session;
  ASSERT_TRUE(session.start());
  const SpanName name = session.spanName("main");
  g_signal_name = session.spanName("handler");
  g_interrupted = &session;
  static volatile sig_atomic_t handled = 0;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {
    g_interrupted->marker(g_signal_name);
    handled = handled + 1;
  };
  sigaction(SIGALRM, &action, &before);
  session.marker(name);
  const itimerval timer{{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  uint64_t spans = 0;
  while (handled < 300) {
    const TracingSession::Span span(session, name);
    ++spans;
  }
  const itimerval off{};
  setitimer(ITIMER_REAL, &off, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  ASSERT_TRUE(session.stop());
  const auto statistics = session.getStatistics();
  EXPECT_EQ(statistics.events_emitted, 1 + spans + static_cast<uint64_t>(handled));
  EXPECT_EQ(session.getEvents().size() + statistics.events_dropped, statistics.events_emitted);
}

TEST(TracingSession, WritesThroughNoLinkOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link to another user";
  const test::TempFolder tmp;
  std::filesystem::create_directory(tmp.path("shared"));
  std::filesystem::permissions(tmp.path("shared"), std::filesystem::perms(01777));
  std::ofstream(tmp.path("victim")) << "precious";
  std::filesystem::create_symlink("../victim", tmp.path("shared/link.sbt"));
  ASSERT_EQ(lchown(tmp.path("shared/link.sbt").c_str(), 65534, 65534), 0);
  TracingSession session;
  const Status ok = session.start({.output_file = tmp.path("shared/link.sbt")});
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, ErrorCode::kPermission);
  EXPECT_EQ(test::contentsOf(tmp.path("victim")), "precious");
}

TEST(TracingSession, AFullDiskIsSaidAndCounted) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  TracingSession session;
  Status ok = session.start({.output_file = "/dev/full"});
  if (ok) {
    session.marker(session.spanName("x"));
    ok = session.stop();
    EXPECT_EQ(session.eventsDropped(), 1U);
  }
  EXPECT_FALSE(ok);
}

}  // namespace
}  // namespace tracesmith
