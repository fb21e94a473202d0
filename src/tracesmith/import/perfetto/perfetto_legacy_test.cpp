// SPDX-License-Identifier: Apache-2.0
// Tests of track events as Chrome wrote them before there were tracks and clocks: phases of its
// JSON in LegacyEvent, times relative to a ThreadDescriptor, events of threads other than the
// sequence's.
#include <gmock/gmock.h>

#include <map>

#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/perfetto/perfetto_source_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::at;
using test::importDamaged;
using test::ImportedText;
using test::importText;
using test::interned;
using test::Message;
using test::nameOf;
using test::packet;
using test::process;
using test::trackEvent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// Opens a sequence of a thread; its times are relative to 1 ms, 10 us of thread time, and 100
/// instructions.
std::string threadStart(uint64_t sequence, uint64_t pid, uint64_t tid) {
  return packet(Message()
                    .number(10, sequence)
                    .number(41, 1)
                    .of(44, Message()
                                .number(1, pid)
                                .number(2, tid)
                                .text(5, "CrMain")
                                .number(6, 1000)
                                .number(7, 10)
                                .number(8, 100)));
}
Message phase(char letter) { return Message().number(2, static_cast<uint64_t>(letter)); }
Message named(std::string_view name, const Message& legacy, std::string_view category = "cat") {
  return Message().text(22, category).text(23, name).of(6, legacy);
}

std::vector<std::pair<int64_t, double>> counter(const Trace& t, std::string_view name) {
  std::vector<std::pair<int64_t, double>> values;
  for (size_t i = 0; i < t.counter.size(); ++i) {
    if (t.text(t.counter_track.name[indexOf(t.counter.track_id[i])]) != name) continue;
    values.emplace_back(t.counter.time_ns[i], t.counter.value[i]);
  }
  return values;
}

TEST(PerfettoLegacy, TimesCountFromTheThreadDescriptor) {
  const auto event = [](const Message& e) { return packet(Message().number(10, 1).of(11, e)); };
  const ImportedText got =
      importText(threadStart(1, 5, 7) +
                 event(named("task", phase('B')).number(1, 5).number(2, 2).number(8, 50)) +
                 // An absolute time does not change the base of the differences.
                 event(named("mark", phase('R')).number(16, 1006).number(17, 12).number(20, 170)) +
                 event(Message().of(6, phase('E')).number(1, 3).number(2, 1).number(8, 25)));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_TRUE(got.counts.damage.empty());
  const RangeTable& r = got.trace.range;
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(nameOf(got.trace, 0), "mark");
  EXPECT_EQ(r.kind[0], RangeKind::kInstant);
  EXPECT_EQ(r.start_ns[0], 1'006'000);
  EXPECT_EQ(nameOf(got.trace, 1), "task");
  EXPECT_EQ(r.start_ns[1], 1'005'000);
  EXPECT_EQ(r.duration_ns[1], 3000);
  EXPECT_EQ(got.trace.thread.tid[indexOf(r.thread_id[1])], 7u);
  EXPECT_THAT(
      counter(got.trace, "thread_time, thread 7"),
      ElementsAre(Pair(1'005'000, 12'000), Pair(1'006'000, 12'000), Pair(1'008'000, 13'000)));
  EXPECT_THAT(counter(got.trace, "thread_instruction_count, thread 7"),
              ElementsAre(Pair(1'005'000, 150), Pair(1'006'000, 170), Pair(1'008'000, 175)));
}

TEST(PerfettoLegacy, OwnTimesAreOfTheMonotonicClock) {
  const std::string snapshot =
      packet(Message().of(6, Message()
                                 .of(1, Message().number(1, 6).number(2, 5'000'000))
                                 .of(1, Message().number(1, 3).number(2, 1'000'000))));
  const std::string events =
      threadStart(1, 5, 7) +
      packet(Message().number(10, 1).of(11, named("mark", phase('i')).number(16, 2000)));
  const ImportedText got = importText(snapshot + events);
  ASSERT_EQ(got.trace.range.size(), 1u);
  EXPECT_EQ(got.trace.range.start_ns[0], 6'000'000);
  // Without related clocks, times stay unconverted, and a note says so.
  const ImportedText alone = importText(events);
  ASSERT_EQ(alone.trace.range.size(), 1u);
  EXPECT_EQ(alone.trace.range.start_ns[0], 2'000'000);
  EXPECT_THAT(std::string(alone.trace.text(alone.trace.loss.reason[0])),
              HasSubstr("1 times in CLOCK_MONOTONIC"));
}

TEST(PerfettoLegacy, DifferencesWithoutADescriptorAreNoTimes) {
  const ImportedText got =
      importText(process() + packet(at(7).of(11, trackEvent(3, 200, "good"))) +
                 packet(Message().number(10, 1).of(11, trackEvent(3, 200, "bad").number(1, 5))));
  ASSERT_EQ(got.trace.range.size(), 1u);
  EXPECT_EQ(nameOf(got.trace, 0), "good");
  ASSERT_EQ(got.counts.damage.size(), 1u);
  EXPECT_THAT(got.counts.damage[0].reason, HasSubstr("1 events cannot be used"));
}

/// Name of the pseudo-thread, name, start and duration of each range.
std::vector<std::string> rows(const Trace& t) {
  std::vector<std::string> rows;
  for (size_t i = 0; i < t.range.size(); ++i) {
    const ThreadId thread = t.range.thread_id[i];
    const char* const kinds[] = {"range", "instant", "begin", "end"};
    rows.push_back(
        std::string(thread == ThreadId::kNone ? "none" : t.text(t.thread.name[indexOf(thread)])) +
        " " + nameOf(t, i) + " " + std::to_string(t.range.start_ns[i]) + "+" +
        std::to_string(t.range.duration_ns[i]) + " " + kinds[static_cast<size_t>(t.range.kind[i])]);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(PerfettoLegacy, AsynchronousEventsOfOneIdAreOnOneTrack) {
  const auto async = [](char letter, uint64_t time, uint64_t sequence, const Message& id,
                        std::string_view name, std::string_view category = "nav") {
    Message legacy = phase(letter);
    const std::string bytes = legacy.bytes() + id.bytes();
    return packet(
        at(time, sequence).of(11, Message().text(22, category).text(23, name).text(6, bytes)));
  };
  const Message one = Message().number(6, 1);
  const Message two = Message().number(6, 2);
  const Message local = Message().number(10, 1);
  const std::string threads = threadStart(1, 5, 7) + threadStart(2, 6, 8);
  // They overlap, end on a thread other than that of their start, and are in any order in the file.
  const ImportedText got =
      importText(threads + async('e', 400, 2, one, "load") + async('b', 100, 1, one, "load") +
                 async('b', 200, 1, two, "load") + async('n', 250, 1, one, "mark") +
                 async('e', 300, 1, two, "load"));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_TRUE(got.counts.damage.empty());
  EXPECT_THAT(rows(got.trace), ElementsAre("load load 100+300 range", "load load 200+100 range",
                                           "load mark 250+0 instant"));

  // Local ids are separate for each process; global ids only match within a category.
  const ImportedText apart =
      importText(threads + async('b', 100, 1, local, "work") + async('e', 150, 2, local, "work") +
                 async('b', 200, 1, one, "task", "a") + async('e', 250, 1, one, "task", "b") +
                 // The older phases are distinguished by name.
                 async('S', 300, 1, one, "old", "a") + async('T', 310, 1, one, "old", "b") +
                 async('F', 350, 1, one, "old", "a"));
  EXPECT_THAT(rows(apart.trace),
              ElementsAre("old old 300+50 range", "old old 310+0 instant", "task task 200+0 begin",
                          "task task 250+0 end", "work work 100+0 begin", "work work 150+0 end"));
}

TEST(PerfettoLegacy, EventsMayBeOfAnotherThread) {
  const auto event = [](const Message& legacy, std::string_view name) {
    return packet(at(10).of(11, named(name, legacy)));
  };
  const ImportedText got = importText(
      threadStart(1, 5, 7) + threadStart(2, 5, 9) + event(phase('I').number(19, 9), "of thread") +
      event(phase('I').number(18, 6).number(19, 8), "of process") + event(phase('I'), "own") +
      event(phase('I').number(14, 2), "of all threads") +
      // It starts on the sequence of another thread and ends on its own.
      packet(at(20, 1).of(11, named("long", phase('B').number(19, 9)))) +
      packet(at(30, 2).of(11, named("long", phase('E')))));
  ASSERT_TRUE(got.ok) << got.error;
  std::map<std::string, std::pair<uint32_t, uint32_t>> at_thread;
  const Trace& t = got.trace;
  for (size_t i = 0; i < t.range.size(); ++i) {
    const ThreadId thread = t.range.thread_id[i];
    at_thread[nameOf(t, i)] = {t.process.pid[indexOf(t.range.process_id[i])],
                               thread == ThreadId::kNone ? 0 : t.thread.tid[indexOf(thread)]};
  }
  EXPECT_THAT(at_thread, ElementsAre(Pair("long", Pair(5, 9)), Pair("of all threads", Pair(5, 0)),
                                     Pair("of process", Pair(6, 8)), Pair("of thread", Pair(5, 9)),
                                     Pair("own", Pair(5, 7))));
  EXPECT_THAT(rows(t), ::testing::Contains(HasSubstr("long 20+10 range")));
}

TEST(PerfettoLegacy, NamesArrowsAndWhatNoTableHas) {
  const auto event = [](uint64_t time, const Message& e) { return packet(at(time).of(11, e)); };
  const Message renderer = Message().text(10, "name").text(6, "Renderer");
  const Message io = Message().text(10, "name").text(6, "IO");
  const ImportedText got = importText(
      threadStart(1, 5, 7) + event(1, named("process_name", phase('M')).of(4, renderer)) +
      event(1, named("thread_name", phase('M').number(19, 9)).of(4, io)) +
      event(10, named("flow", phase('s').number(6, 3))) +
      event(20, named("flow", phase('f').number(6, 3))) +
      event(30, named("send", phase('X').number(3, 2).number(4, 1).number(8, 77).number(13, 2))) +
      event(40, named("take", phase('X').number(3, 2).number(8, 77).number(13, 1))) +
      event(50, named("state", phase('O').number(6, 3))) +
      event(60, named("nameless", phase('b'))));
  ASSERT_TRUE(got.ok) << got.error;
  const Trace& t = got.trace;
  EXPECT_TRUE(got.counts.damage.empty());
  EXPECT_EQ(got.counts.others, 2u);
  EXPECT_EQ(got.counts.rows, 4u);
  EXPECT_THAT(std::string(t.text(t.loss.reason[0])), HasSubstr("2 track_event"));
  std::map<uint32_t, std::string> threads;
  for (size_t i = 0; i < t.thread.size(); ++i) threads[t.thread.tid[i]] = t.text(t.thread.name[i]);
  EXPECT_EQ(threads[9], "IO");
  EXPECT_EQ(threads[7], "CrMain");
  EXPECT_EQ(t.text(t.process.command_line[0]), "Renderer");
  ASSERT_EQ(t.flow_event.size(), 4u);
  EXPECT_EQ(t.flow_event.end[0], FlowEnd::kBegin);
  EXPECT_EQ(t.flow_event.end[1], FlowEnd::kEnd);
  EXPECT_EQ(t.flow_event.flow_id[1], 3u);
  EXPECT_EQ(t.text(t.flow_event.name[1]), "flow");
  EXPECT_EQ(t.flow_event.flow_id[2], 77u);
  EXPECT_EQ(t.flow_event.end[2], FlowEnd::kBegin);
  EXPECT_EQ(t.flow_event.end[3], FlowEnd::kEnd);
  EXPECT_EQ(t.flow_event.name[2], t.flow_event.name[3]) << "whatever their slices are called";
}

TEST(PerfettoLegacy, CountersOfThreadsAreToldApart) {
  std::string trace =
      process() + packet(Message().of(
                      60, Message().number(1, 201).of(4, Message().number(1, 4242).number(2, 78))));
  for (const uint64_t thread : {200, 201}) {
    trace +=
        packet(Message().of(
            60,
            Message().number(1, thread + 100).number(5, thread).of(8, Message().number(1, 1)))) +
        packet(at(5).of(11, trackEvent(4, thread + 100).number(30, thread)));
  }
  const ImportedText got = importText(trace);
  EXPECT_THAT(counter(got.trace, "thread_time, thread 77"), ElementsAre(Pair(5, 200)));
  EXPECT_THAT(counter(got.trace, "thread_time, thread 78"), ElementsAre(Pair(5, 201)));
  EXPECT_EQ(got.trace.text(got.trace.counter_track.unit[0]), "ns");
}

TEST(PerfettoLegacy, EveryDamageIsAnErrorOrCounted) {
  const auto event = [](const Message& e) { return packet(Message().number(10, 1).of(11, e)); };
  importDamaged(threadStart(1, 5, 7) + event(named("a", phase('B')).number(1, 5).number(2, 2)) +
                    event(named("b", phase('b').number(6, 3)).number(16, 1006)) +
                    event(named("b", phase('e').number(6, 3)).number(16, 1009)) +
                    event(Message().of(6, phase('E')).number(1, 3).number(8, 25)),
                test::Cut::kHides, 30, 80);
}

}  // namespace
}  // namespace tracesmith::import
