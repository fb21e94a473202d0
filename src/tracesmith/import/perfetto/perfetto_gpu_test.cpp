// SPDX-License-Identifier: Apache-2.0
// Tests of GPU data in Perfetto traces in the forms before interned data, of GPU counters, and of a
// file that changes while it is read.
#include <gmock/gmock.h>

#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/perfetto/perfetto_importer.hpp"
#include "tracesmith/import/perfetto/perfetto_source_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::at;
using test::ImportedText;
using test::importText;
using test::Message;
using test::packet;
using test::process;
using test::TempFile;
using test::trackEvent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Message stage(uint64_t id, uint64_t duration, uint64_t queue, uint64_t stage_id) {
  return Message()
      .number(1, id)
      .number(2, duration)
      .number(3, queue)
      .number(4, stage_id)
      .number(5, 99);
}
Message description(std::string_view name) { return Message().text(1, name).text(2, "words"); }

TEST(PerfettoGpu, SpecificationsNameQueuesAndStages) {
  const Message names = Message()
                            .of(1, Message().number(1, 99).number(2, 4242))
                            .of(2, description("vertex"))
                            .of(2, description("compute"))
                            .of(3, description("binning"))
                            .of(3, description("MatMul"));
  const std::string specifications = packet(at(1).of(53, Message().of(7, names)));
  const std::string work = packet(at(100).of(53, stage(1, 20, 1, 1))) +
                           packet(at(120).of(53, stage(2, 30, 0, 0))) +
                           packet(at(150).of(53, stage(3, 40, 7, 9)));
  for (const std::string& file :
       {process() + specifications + work, process() + work + specifications}) {
    const ImportedText got = importText(file);
    ASSERT_TRUE(got.ok) << got.error;
    EXPECT_TRUE(got.counts.damage.empty()) << got.counts.damage[0].reason;
    EXPECT_EQ(got.counts.rows, 3u);
    const Trace& t = got.trace;
    ASSERT_EQ(t.kernel.size(), 3u);
    EXPECT_EQ(t.text(t.kernel.name[0]), "MatMul");
    EXPECT_EQ(t.text(t.kernel.name[1]), "binning");
    EXPECT_EQ(t.text(t.kernel.name[2]), "render stage(9)");
    const auto streamName = [&](size_t row) {
      return t.text(t.stream.name[indexOf(t.kernel.stream_id[row])]);
    };
    EXPECT_EQ(streamName(0), "compute");
    EXPECT_EQ(streamName(1), "vertex");
    EXPECT_EQ(streamName(2), "Unknown GPU Queue 7");
    EXPECT_EQ(t.process.pid[indexOf(t.kernel.process_id[0])], 4242u);
  }
}

Message spec(uint64_t id, std::string_view name, uint64_t direction, uint64_t unit) {
  Message m;
  m.number(1, id).text(2, name).number(7, unit);
  if (direction != 0) m.number(11, direction);
  return Message().of(1, m);
}
std::string reading(uint64_t time, uint64_t id, double value, uint64_t sequence = 3) {
  return packet(at(time, sequence).of(52, Message().of(2, Message().number(1, id).real(3, value))));
}
std::string describes(uint64_t direction, uint64_t unit = 37) {
  return packet(at(1, 3).of(52, Message().of(1, spec(5, "busy", direction, unit))));
}
std::vector<std::pair<int64_t, double>> valuesOf(const Trace& t) {
  std::vector<std::pair<int64_t, double>> values;
  for (size_t i = 0; i < t.counter.size(); ++i) {
    values.emplace_back(t.counter.time_ns[i], t.counter.value[i]);
  }
  return values;
}

TEST(PerfettoGpu, AValueIsOfTheTimeBeforeItWasRead) {
  const std::string readings = reading(10, 5, 5) + reading(20, 5, 7) + reading(30, 5, 3);
  for (const uint64_t direction : {0, 1}) {
    const ImportedText got = importText(describes(direction) + readings);
    ASSERT_TRUE(got.ok) << got.error;
    EXPECT_TRUE(got.counts.damage.empty());
    EXPECT_THAT(valuesOf(got.trace), ElementsAre(Pair(10, 7), Pair(20, 3), Pair(30, 0)));
    EXPECT_THAT(got.counts.notes, ElementsAre(HasSubstr("1 values of GPU counters cover the time "
                                                        "before the counter was first read")));
  }
  const ImportedText forwards = importText(describes(2) + readings);
  EXPECT_THAT(valuesOf(forwards.trace), ElementsAre(Pair(10, 5), Pair(20, 7), Pair(30, 3)));
  EXPECT_TRUE(forwards.counts.notes.empty());
}

TEST(PerfettoGpu, ASampleWithoutAnIdOrAValueIsNotZero) {
  const ImportedText got =
      importText(describes(2) + reading(10, 5, 5) +
                 packet(at(20, 3).of(52, Message().of(2, Message().number(1, 5)))) +
                 packet(at(30, 3).of(52, Message().of(2, Message().real(3, 7)))));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_THAT(valuesOf(got.trace), ElementsAre(Pair(10, 5)));
  ASSERT_EQ(got.counts.damage.size(), 1u);
  EXPECT_THAT(got.counts.damage[0].reason, HasSubstr("2 samples of GPU counters lack"));
}

TEST(PerfettoGpu, ASampleWithoutAGpuMeansTheOneThatDescribesItsCounter) {
  const auto described = [](uint64_t gpu) {
    return packet(at(1, 3).of(52, Message().number(3, gpu).of(1, spec(5, "busy", 2, 37))));
  };
  const ImportedText one = importText(described(1) + reading(10, 5, 5));
  ASSERT_EQ(one.trace.counter_track.size(), 1u);
  EXPECT_EQ(one.trace.text(one.trace.counter_track.name[0]), "busy");
  EXPECT_THAT(valuesOf(one.trace), ElementsAre(Pair(10, 5)));
  const ImportedText two = importText(described(1) + described(2) + reading(10, 5, 5));
  EXPECT_EQ(two.trace.counter_track.size(), 3u) << "it may be either";
}

TEST(PerfettoGpu, ReadingsAreInOrderOfTimeWhereverTheyStand) {
  const ImportedText got =
      importText(describes(0) + reading(30, 5, 3) + reading(10, 5, 5, 4) + reading(20, 5, 7));
  EXPECT_THAT(valuesOf(got.trace), ElementsAre(Pair(10, 7), Pair(20, 3), Pair(30, 0)));
}

TEST(PerfettoGpu, UnitsAreThoseOfTheDescription) {
  const auto unit = [](uint64_t number) {
    const ImportedText got = importText(describes(0, number) + reading(10, 5, 5));
    return std::string(got.trace.text(got.trace.counter_track.unit[0]));
  };
  EXPECT_EQ(unit(33), "A");
  EXPECT_EQ(unit(34), "C");
  EXPECT_EQ(unit(38), "primitive");
  EXPECT_EQ(unit(0), "");
  EXPECT_EQ(unit(4711), "");
}

/// A cleared sequence may reuse the id of a description for another one.
TEST(PerfettoGpu, ANumberMeansWhatItWasGivenLast) {
  const auto introduces = [](uint64_t counter, std::string_view name) {
    const Message descriptor = Message().number(1, 7).of(2, spec(counter, name, 2, 37));
    return packet(at(1, 3).number(13, 1).of(12, Message().of(47, descriptor)));
  };
  const auto reads = [](uint64_t time, uint64_t counter, double value) {
    const Message values = Message().number(1, counter).real(3, value);
    return packet(at(time, 3).number(13, 2).of(52, Message().number(4, 7).of(2, values)));
  };
  const ImportedText got = importText(introduces(5, "busy") + reads(10, 5, 1) +
                                      introduces(5, "waits") + reads(20, 5, 2) + reads(30, 5, 3));
  ASSERT_TRUE(got.ok) << got.error;
  std::vector<std::pair<std::string, double>> values;
  for (size_t i = 0; i < got.trace.counter.size(); ++i) {
    const size_t track = indexOf(got.trace.counter.track_id[i]);
    values.emplace_back(got.trace.text(got.trace.counter_track.name[track]),
                        got.trace.counter.value[i]);
  }
  EXPECT_THAT(values, ElementsAre(Pair("busy", 1), Pair("waits", 2), Pair("waits", 3)));
}

/// After lost packets, interned data and the incremental clock are unknown.
TEST(PerfettoGpu, BehindLostPacketsASequenceSaysNothingUntilItIsCleared) {
  const auto event = [](uint64_t flags, bool lost, std::string_view name) {
    Message m = at(10);
    m.number(13, flags);
    if (lost) m.number(42, 1);
    return packet(m.of(11, trackEvent(3, 200, name)));
  };
  const ImportedText got =
      importText(process() + packet(Message().number(10, 1).number(13, 1)) +
                 event(2, false, "before") + event(2, true, "behind") + event(2, false, "still") +
                 event(0, false, "stands alone") + event(3, false, "cleared"));
  ASSERT_EQ(got.trace.range.size(), 3u);
  EXPECT_EQ(test::nameOf(got.trace, 0), "before");
  EXPECT_EQ(test::nameOf(got.trace, 1), "stands alone");
  EXPECT_EQ(test::nameOf(got.trace, 2), "cleared");
  ASSERT_EQ(got.counts.damage.size(), 1u);
  EXPECT_THAT(got.counts.damage[0].reason, HasSubstr("2 packets refer to names"));
}

/// Imports with one text for the first pass and another one for the second.
ImportCounts readTwice(const std::string& first, const std::string& second) {
  const TempFile output;
  auto writer = TraceWriter::create(output.path(), {});
  EXPECT_TRUE(writer);
  int reading = 0;
  const auto counts = importPerfetto(
      [&]() -> Result<std::unique_ptr<ByteSource>> {
        return std::make_unique<MemorySource>(asBytes(reading++ == 0 ? first : second));
      },
      "changing", *writer, Trace{});
  EXPECT_TRUE(counts);
  EXPECT_TRUE(writer->finish());
  return counts.value_or(ImportCounts{});
}

TEST(PerfettoGpu, AFileThatChangesWhileItIsReadIsSaid) {
  const std::string begin = process() + packet(at(5).of(11, trackEvent(3, 200, "one")));
  const std::string whole = begin + packet(at(9).of(11, trackEvent(3, 200, "two")));
  EXPECT_TRUE(readTwice(whole, whole).damage.empty());
  const ImportCounts shorter = readTwice(whole, begin);
  ASSERT_EQ(shorter.damage.size(), 1u);
  EXPECT_EQ(shorter.damage[0].reason, "the file became shorter while it was read");
  EXPECT_EQ(shorter.damage[0].offset, begin.size());
  EXPECT_EQ(shorter.damage[0].bytes, whole.size() - begin.size());
  EXPECT_EQ(shorter.events, 1u);
  // If it is truncated inside a packet, both apply.
  const ImportCounts cut = readTwice(whole, whole.substr(0, whole.size() - 3));
  ASSERT_EQ(cut.damage.size(), 1u);
  EXPECT_EQ(cut.damage[0].bytes, whole.size() - begin.size());
  const ImportCounts longer = readTwice(begin, whole);
  ASSERT_EQ(longer.damage.size(), 1u);
  EXPECT_THAT(longer.damage[0].reason, HasSubstr("changed while it was read"));
  EXPECT_EQ(longer.events, 2u);
}

}  // namespace
}  // namespace tracesmith::import
