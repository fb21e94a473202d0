// SPDX-License-Identifier: Apache-2.0
// Tests with handwritten Perfetto traces. tests/perfetto compares the exporter's output with
// results of other engines.
#include "tracesmith/import/perfetto/perfetto_importer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <random>

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
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(PerfettoImporter, PairsBeginsAndEndsOfATrack) {
  const ImportedText got = importText(
      process() + packet(at(1000).of(11, trackEvent(1, 200, "outer"))) +
      packet(at(1100).of(11, trackEvent(1, 200, "inner"))) +
      packet(at(1150).of(11, trackEvent(3, 200, "mark"))) +
      packet(at(1200).of(11, trackEvent(2, 200))) + packet(at(1500).of(11, trackEvent(2, 200))));
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "Perfetto");
  EXPECT_TRUE(got.counts.damage.empty());
  const RangeTable& r = got.trace.range;
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(nameOf(got.trace, 0), "mark");
  EXPECT_EQ(r.kind[0], RangeKind::kInstant);
  EXPECT_EQ(nameOf(got.trace, 1), "inner");
  EXPECT_EQ(r.start_ns[1], 1100);
  EXPECT_EQ(r.duration_ns[1], 100);
  EXPECT_EQ(nameOf(got.trace, 2), "outer");
  EXPECT_EQ(r.duration_ns[2], 500);
  ASSERT_EQ(got.trace.thread.size(), 1u);
  EXPECT_EQ(got.trace.thread.tid[0], 77u);
  EXPECT_EQ(got.trace.text(got.trace.thread.name[0]), "main");
  EXPECT_EQ(got.trace.process.pid[0], 4242u);
}

TEST(PerfettoImporter, TracksMayBeDescribedBehindTheirEvents) {
  const ImportedText got = importText(packet(at(5).of(11, trackEvent(1, 200, "early"))) +
                                      packet(at(9).of(11, trackEvent(2, 200))) + process());
  ASSERT_TRUE(got.ok);
  ASSERT_EQ(got.trace.range.size(), 1u);
  EXPECT_EQ(got.trace.thread.tid[indexOf(got.trace.range.thread_id[0])], 77u);
}

TEST(PerfettoImporter, EventsOfATrackThatSeveralSequencesWriteAreInOrderOfTime) {
  // The second writer's buffer comes first in the file.
  const ImportedText got = importText(process() + packet(at(300, 2).of(11, trackEvent(2, 200))) +
                                      packet(at(100, 1).of(11, trackEvent(1, 200, "async"))));
  ASSERT_TRUE(got.ok);
  ASSERT_EQ(got.trace.range.size(), 1u);
  EXPECT_EQ(got.trace.range.start_ns[0], 100);
  EXPECT_EQ(got.trace.range.duration_ns[0], 200);
  EXPECT_EQ(got.trace.range.kind[0], RangeKind::kRange);
}

TEST(PerfettoImporter, AnInstantOfProcessScopeTakesNoThreadFromSlices) {
  // Field 6: legacy event; 2: phase; 14: scope of instants, 2: process.
  const Message instant = trackEvent(0, 200, "mark").of(6, Message().number(2, 'i').number(14, 2));
  const ImportedText got = importText(process() + packet(at(5).of(11, instant)) +
                                      packet(at(10).of(11, trackEvent(1, 200, "work"))) +
                                      packet(at(20).of(11, trackEvent(2, 200))));
  ASSERT_TRUE(got.ok);
  ASSERT_EQ(got.trace.range.size(), 2u);
  EXPECT_EQ(got.trace.range.thread_id[0], ThreadId::kNone);
  EXPECT_EQ(nameOf(got.trace, 1), "work");
  EXPECT_NE(got.trace.range.thread_id[1], ThreadId::kNone);
}

TEST(PerfettoImporter, AFlowStartsAtItsEarliestEventWhereverThatLies) {
  const auto flows = [](uint64_t time, uint64_t sequence) {
    return packet(at(time, sequence).of(11, trackEvent(3, 200, "event").fixed(47, 9)));
  };
  for (const std::string& file : {flows(100, 1) + flows(200, 2), flows(200, 2) + flows(100, 1)}) {
    const ImportedText got = importText(process() + file);
    const FlowEventTable& f = got.trace.flow_event;
    ASSERT_EQ(f.size(), 2u);
    EXPECT_EQ(f.time_ns[0], 100);
    EXPECT_EQ(f.end[0], FlowEnd::kBegin);
    EXPECT_EQ(f.end[1], FlowEnd::kStep);
  }
}

TEST(PerfettoImporter, AMultiplierOfZeroIsNone) {
  const std::string counter = packet(
      Message().of(60, Message().number(1, 300).text(2, "load").of(8, Message().number(4, 0))));
  const ImportedText got =
      importText(process() + counter + packet(at(10).of(11, trackEvent(4, 300).number(30, 7))));
  ASSERT_EQ(got.trace.counter.size(), 1u);
  EXPECT_EQ(got.trace.counter.value[0], 7);
}

TEST(PerfettoImporter, HalvesOfSlicesStayHalves) {
  const ImportedText got = importText(process() + packet(at(10).of(11, trackEvent(2, 200))) +
                                      packet(at(20).of(11, trackEvent(1, 200, "open"))));
  ASSERT_EQ(got.trace.range.size(), 2u);
  EXPECT_EQ(got.trace.range.kind[0], RangeKind::kEnd);
  EXPECT_EQ(got.trace.range.kind[1], RangeKind::kBegin);
  EXPECT_EQ(got.trace.range.start_ns[1], 20);
}

/// Opens a sequence: clears the state, sets incremental times in clock 64, which starts at `start`
/// of CLOCK_MONOTONIC, and makes track 200 the default.
Message sequenceStart(uint64_t sequence, uint64_t start) {
  return Message()
      .number(10, sequence)
      .number(13, 3)
      .of(59, Message().number(58, 64).of(11, Message().number(11, 200)))
      .of(6, Message()
                 .of(1, Message().number(1, 64).number(2, start).number(3, 1))
                 .of(1, Message().number(1, 3).number(2, start)));
}

TEST(PerfettoImporter, NamesAndTimesOfASequenceReferBack) {
  Message named = Message()
                      .number(8, 50)
                      .number(10, 7)
                      .number(13, 2)
                      .of(12, Message()
                                  .of(1, interned(1, "app"))
                                  .of(2, interned(9, "step"))
                                  .of(3, interned(4, "batch")))
                      .of(11, Message().number(9, 1).number(3, 1).number(10, 9).of(
                                  4, Message().number(1, 4).number(4, 32)));
  const std::string trace =
      process() +
      packet(Message().of(6, Message()
                                 .of(1, Message().number(1, 3).number(2, 1000))
                                 .of(1, Message().number(1, 6).number(2, 501000))
                                 .of(1, Message().number(1, 1).number(2, 1700000000000000000))
                                 .number(2, 6))) +
      packet(sequenceStart(7, 2000)) + packet(named) +
      packet(Message().number(8, 10).number(10, 7).number(13, 2).of(11, Message().number(9, 2))) +
      // The other sequence has not interned id 9.
      packet(Message().number(8, 10).number(10, 8).number(13, 2).of(
          11, Message().number(9, 3).number(10, 9)));
  const ImportedText got = importText(trace);
  ASSERT_TRUE(got.ok);
  ASSERT_EQ(got.trace.range.size(), 1u);
  EXPECT_EQ(nameOf(got.trace, 0), "step");
  EXPECT_EQ(got.trace.text(got.trace.range.category[0]), "app");
  EXPECT_EQ(got.trace.range.start_ns[0], 502050);  // CLOCK_BOOTTIME, the primary one
  EXPECT_EQ(got.trace.range.duration_ns[0], 10);
  ASSERT_EQ(got.trace.clock_snapshot.size(), 1u);
  EXPECT_EQ(got.trace.clock_snapshot.host_ns[0], 501000);
  EXPECT_EQ(got.trace.clock_snapshot.clock_value[0], 1700000000000000000);
  ASSERT_EQ(got.counts.damage.size(), 1u);
  EXPECT_THAT(got.counts.damage[0].reason, HasSubstr("1 packets refer to names"));
}

TEST(PerfettoImporter, ClearingAStateForgetsItsNames) {
  const ImportedText got = importText(
      process() + packet(sequenceStart(7, 0)) +
      packet(Message()
                 .number(8, 1)
                 .number(10, 7)
                 .of(12, Message().of(2, interned(1, "old")))
                 .of(11, Message().number(9, 3).number(10, 1))) +
      packet(sequenceStart(7, 0)) +
      packet(Message().number(8, 1).number(10, 7).of(11, Message().number(9, 3).number(10, 1))));
  ASSERT_EQ(got.trace.range.size(), 2u);
  EXPECT_EQ(nameOf(got.trace, 0), "old");
  EXPECT_EQ(nameOf(got.trace, 1), "");
}

/// Functions of a stack with file and line, outermost first.
std::string stackOf(const Trace& t, CallPathId path) {
  std::string text;
  for (auto i = static_cast<size_t>(path); i != 0;
       i = static_cast<size_t>(t.call_path.parent[i - 1])) {
    const FrameRow frame = t.frame.row(indexOf(t.call_path.frame[i - 1]));
    text =
        fmt::format("{} {}:{} {}+{} {}; ", t.text(frame.function), t.text(frame.file), frame.line,
                    t.text(frame.module), frame.module_offset, t.text(frame.build_id)) +
        text;
  }
  return text;
}

Message introducedStacks() {
  return Message()
      .of(7, Message().number(1, 8).number(2, 1).number(2, 2))
      .of(7, Message().number(1, 9).text(2, "\x01\x03"))  // packed
      .of(6, Message().number(1, 1).number(2, 5).number(5, 4).number(6, 12))
      .of(6, Message().number(1, 2).number(3, 1).number(4, 4096))
      .of(6, Message().number(1, 3).number(2, 6).number(3, 2).number(4, 16))
      .of(5, interned(5, "main"))
      .of(5, interned(6, "malloc"))
      .of(18, interned(4, "main.c"))
      .of(19, Message().number(1, 1).number(2, 3).number(7, 1))
      .of(19, Message().number(1, 2).number(7, 2).number(7, 3))
      .of(16, interned(3, "\x0f\xa0"))
      .of(17, interned(1, "/bin/app"))
      .of(17, interned(2, "lib"))
      .of(17, interned(3, "libc.so"));
}

TEST(PerfettoImporter, CallStacksAreThoseOfTheirSequence) {
  const auto event = [](uint64_t time, uint64_t sequence, const Message& track_event) {
    return packet(Message().number(8, time).number(10, sequence).number(13, 2).of(11, track_event));
  };
  const ImportedText got = importText(
      process() + packet(Message().number(10, 1).number(13, 1).of(12, introducedStacks())) +
      packet(Message().number(10, 2).number(13, 1)) +
      event(10, 1, trackEvent(3, 200, "first").number(56, 8)) +
      event(20, 1, trackEvent(3, 200, "second").number(56, 9)) +
      event(30, 1, trackEvent(3, 200, "again").number(56, 8)) +
      event(40, 2, trackEvent(3, 200, "of another").number(56, 8)) +
      packet(Message().number(10, 1).number(13, 1)) +  // clears the state
      event(50, 1, trackEvent(3, 200, "forgotten").number(56, 8)));
  ASSERT_TRUE(got.ok) << got.error;
  const RangeTable& r = got.trace.range;
  ASSERT_EQ(r.size(), 5u);
  EXPECT_EQ(stackOf(got.trace, r.call_path_id[0]), "main main.c:12 +0 ;  :0 /bin/app+4096 0fa0; ");
  EXPECT_EQ(stackOf(got.trace, r.call_path_id[1]),
            "main main.c:12 +0 ; malloc :0 /lib/libc.so+16 ; ");
  EXPECT_EQ(r.call_path_id[2], r.call_path_id[0]);
  EXPECT_EQ(r.call_path_id[3], CallPathId::kNone);
  EXPECT_EQ(r.call_path_id[4], CallPathId::kNone);
  EXPECT_EQ(got.trace.call_path.size(), 3u);
  // Perfetto's addresses are inside the call instruction.
  EXPECT_EQ(got.trace.frame.flags[1], frame_flags::kExact);
}

TEST(PerfettoImporter, CallStacksMayStandInTheEvent) {
  const auto frame = [](std::string_view name, uint64_t line) {
    return Message().text(1, name).text(2, "a.c").number(3, line);
  };
  const Message stack = Message().of(1, frame("main", 3)).of(1, frame("f", 7));
  const ImportedText got = importText(
      process() + packet(at(10).of(11, trackEvent(1, 200, "call").of(55, stack))) +
      packet(at(30).of(11, trackEvent(2, 200).of(55, Message().of(1, frame("end", 1))))));
  ASSERT_TRUE(got.ok) << got.error;
  ASSERT_EQ(got.trace.range.size(), 1u);
  EXPECT_EQ(stackOf(got.trace, got.trace.range.call_path_id[0]), "main a.c:3 +0 ; f a.c:7 +0 ; ");
}

TEST(PerfettoImporter, CountersAddUpWhereTheyAreIncremental) {
  const Message track = Message()
                            .number(1, 300)
                            .number(5, 100)
                            .text(2, "queued")
                            .of(8, Message().number(3, 3).number(5, 1));
  const Message other =
      Message().number(1, 301).text(2, "power").of(8, Message().text(6, "W").number(4, 2));
  const ImportedText got = importText(
      process() + packet(Message().of(60, track)) + packet(Message().of(60, other)) +
      packet(at(1).of(11, Message().number(9, 4).number(11, 300).number(30, 5))) +
      packet(at(2).of(11, Message().number(9, 4).number(11, 300).number(30, uint64_t(-2)))) +
      packet(at(3).of(11, Message().number(9, 4).number(11, 301).real(44, 1.25))) +
      // In addition to a slice.
      packet(at(4).of(11, trackEvent(3, 200, "i").number(31, 300).number(12, 10))));
  ASSERT_TRUE(got.ok);
  const CounterTable& c = got.trace.counter;
  EXPECT_THAT(std::vector<double>(c.value.begin(), c.value.end()),
              UnorderedElementsAre(5, 3, 2.5, 13));
  ASSERT_EQ(got.trace.counter_track.size(), 2u);
  EXPECT_EQ(got.trace.text(got.trace.counter_track.unit[0]), "bytes");
  EXPECT_NE(got.trace.counter_track.process_id[0], ProcessId::kNone);
  EXPECT_EQ(got.trace.text(got.trace.counter_track.unit[1]), "W");
}

Message stage(uint64_t id, uint64_t duration, uint64_t stage_iid) {
  return Message()
      .number(1, id)
      .number(2, duration)
      .number(5, 1)
      .number(11, 0)
      .number(13, 1)
      .number(14, stage_iid);
}

std::string gpuWork() {
  const Message names = Message()
                            .of(23, Message().number(1, 1).number(2, 4242).number(3, 4))
                            .of(24, Message().number(1, 1).text(2, "Channel 3"))
                            .of(24, Message().number(1, 2).text(2, "Compute").number(4, 2))
                            .of(24, Message().number(1, 3).text(2, "MemcpyHtoD"))
                            .of(1000, Message().number(1, 1).text(2, "_Z4gemmv").text(3, "gemm()"))
                            .of(1001, interned(1, "registers_per_thread"))
                            .of(1001, interned(2, "bytes"));
  const Message dim = Message().number(1, 4).number(2, 2).number(3, 1);
  const Message block = Message().number(1, 32).number(2, 1).number(3, 1);
  return process() +
         packet(at(50).of(
             11, trackEvent(1, 200, "cudaLaunchKernel").of(3000, Message().number(1, 11)))) +
         packet(at(60).of(11, trackEvent(2, 200))) +
         packet(at(100, 2).number(13, 1).of(12, names).of(
             53,
             stage(10, 20, 3).of(21, Message().of(3, Message().number(1, 2).number(4, 4096))))) +
         packet(at(130, 2).of(53, stage(11, 70, 2).number(19, 1).number(18, 10).of(
                                      21, Message().of(1, dim).of(2, block).of(
                                              3, Message().number(1, 1).number(4, 24))))) +
         packet(Message().number(10, 2).of(128, Message().of(1, Message().text(1, "A100"))));
}

TEST(PerfettoImporter, RenderStagesAreDeviceWork) {
  const ImportedText got = importText(gpuWork());
  ASSERT_TRUE(got.ok);
  EXPECT_TRUE(got.counts.damage.empty());
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 1u);
  ASSERT_EQ(t.copy.size(), 1u);
  EXPECT_EQ(t.text(t.kernel.name[0]), "_Z4gemmv");
  EXPECT_EQ(t.kernel.start_ns[0], 130);
  EXPECT_EQ(t.kernel.duration_ns[0], 70);
  EXPECT_EQ(t.launch_shape.global_x[0], 128u);
  EXPECT_EQ(t.launch_shape.global_y[0], 2u);
  EXPECT_EQ(t.launch_shape.registers_per_thread[0], 24u);
  EXPECT_EQ(t.copy.kind[0], CopyKind::kHostToDevice);
  EXPECT_EQ(t.copy.bytes[0], 4096u);
  EXPECT_EQ(t.kernel.stream_id[0], t.copy.stream_id[0]);
  EXPECT_EQ(t.text(t.stream.name[0]), "Channel 3");
  EXPECT_EQ(t.device.backend[0], PlatformType::CUDA);
  EXPECT_EQ(t.text(t.device.name[0]), "A100");
  // The call that submitted it, and its thread.
  ASSERT_EQ(t.host_call.size(), 1u);
  EXPECT_EQ(t.host_call.correlation_id[0], t.kernel.correlation_id[0]);
  EXPECT_EQ(t.host_call.kind[0], CallKind::kLaunch);
  EXPECT_EQ(t.kernel.thread_id[0], t.host_call.thread_id[0]);
  ASSERT_EQ(t.flow.size(), 1u);
  EXPECT_EQ(t.flow.from_correlation_id[0], t.copy.correlation_id[0]);
}

TEST(PerfettoImporter, CountersOfTheGpuHaveNamesAndUnits) {
  const Message spec = Message().number(1, 5).text(2, "busy").number(7, 37).number(11, 2);
  const ImportedText got = importText(
      packet(Message().number(10, 3).number(13, 1).of(
          12, Message().of(47, Message().number(1, 1).of(2, Message().of(1, spec)).number(3, 0)))) +
      packet(at(10, 3).of(52, Message().number(4, 1).of(2, Message().number(1, 5).real(3, 0.5)))));
  ASSERT_TRUE(got.ok);
  ASSERT_EQ(got.trace.counter.size(), 1u);
  EXPECT_EQ(got.trace.counter.value[0], 0.5);
  EXPECT_EQ(got.trace.text(got.trace.counter_track.name[0]), "busy");
  EXPECT_EQ(got.trace.text(got.trace.counter_track.unit[0]), "%");
}

TEST(PerfettoImporter, VulkanSubmissionsAreCalls) {
  const ImportedText got = importText(packet(at(10).of(
      65, Message().of(2, Message().number(1, 7).number(2, 9).number(3, 10).number(7, 3)))));
  ASSERT_EQ(got.trace.host_call.size(), 1u);
  EXPECT_EQ(got.trace.host_call.duration_ns[0], 7);
}

TEST(PerfettoImporter, NamesOfVulkanObjectsAreKept) {
  const Message named = Message().number(1, 9).number(4, 77).text(5, "depth image");
  const ImportedText got = importText(packet(at(10).of(65, Message().of(1, named))));
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.counts.others, 1u);
  EXPECT_TRUE(got.counts.damage.empty());
  EXPECT_THAT(std::string(got.trace.text(got.trace.loss.reason[0])),
              HasSubstr("1 vulkan_api_event"));
}

TEST(PerfettoImporter, ValuesOfCountersWithoutATrackAreCounted) {
  // An instant with two values and one track; a counter with the time of a thread.
  const std::string track =
      packet(Message().of(60, Message().number(1, 5).text(2, "a").of(8, Message())));
  const ImportedText got = importText(
      process() + track +
      packet(at(10).of(
          11, Message().number(9, 3).number(11, 1).number(31, 5).number(12, 7).number(12, 8))) +
      packet(at(20).of(11, Message().number(9, 4).number(11, 5).number(30, 3).number(17, 99))));
  ASSERT_TRUE(got.ok);
  ASSERT_EQ(got.trace.counter.size(), 2u);
  EXPECT_EQ(got.trace.counter.value[0], 7);
  EXPECT_EQ(got.trace.counter.value[1], 3);
  EXPECT_THAT(std::string(got.trace.text(got.trace.loss.reason[0])),
              HasSubstr("2 values of counters are left out: they name no track"));
}

TEST(PerfettoImporter, TimesAndLengthsThatCanNotBeAreSaid) {
  const auto submission = [](uint64_t time, uint64_t duration) {
    return packet(at(time).of(65, Message().of(2, Message().number(1, duration).number(2, 9))));
  };
  const ImportedText got = importText(submission(10, 7) + submission(20, uint64_t{1} << 62) +
                                      submission(30, ~uint64_t{0}) + submission(~uint64_t{0}, 1) +
                                      submission(uint64_t{1} << 63, 1));
  ASSERT_EQ(got.trace.host_call.size(), 3u);
  EXPECT_EQ(got.trace.host_call.duration_ns[0], 7);
  EXPECT_EQ(got.trace.host_call.duration_ns[1], 0);
  EXPECT_EQ(got.trace.host_call.duration_ns[2], 0);
  const std::string lost(got.trace.text(got.trace.loss.reason[0]));
  EXPECT_THAT(lost, HasSubstr("1 events would have lasted more than ten years"));
  EXPECT_THAT(lost, HasSubstr("1 events end before they start"));
  EXPECT_THAT(lost, HasSubstr("2 events have an impossible time"));
}

TEST(PerfettoImporter, KindsThatAreNotReadAreCountedAndKept) {
  const ImportedText got =
      importText(process() + packet(at(1).of(66, Message().number(1, 3))) +
                 packet(at(2).of(66, Message().number(1, 4))) + packet(at(2).of(33, Message())));
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.counts.others, 3u);
  EXPECT_TRUE(got.counts.damage.empty());
  EXPECT_THAT(std::string(got.trace.text(got.trace.loss.reason[0])),
              HasSubstr("1 trace_config, 2 perf_sample"));
}

std::string deflated(std::string_view text) {
  std::string out(text.size() + 1024, '\0');
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.gzip_flag = IGZIP_ZLIB;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uint32_t>(text.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  EXPECT_EQ(isal_deflate_stateless(&stream), COMP_OK);
  out.resize(stream.total_out);
  return out;
}

TEST(PerfettoImporter, ReadsPacketsThatArePacked) {
  const std::string plain = gpuWork();
  const std::string by_zlib = packet(Message().text(50, deflated(plain)));
  std::string zstd(ZSTD_compressBound(plain.size()), '\0');
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), plain.data(), plain.size(), 3));
  const std::string by_zstd = packet(Message().text(133, zstd));
  for (const std::string& packed : {by_zlib, by_zstd}) {
    const ImportedText got = importText(packed);
    ASSERT_TRUE(got.ok);
    EXPECT_TRUE(got.counts.damage.empty());
    EXPECT_EQ(got.trace.kernel.size(), 1u);
    EXPECT_EQ(got.trace.host_call.size(), 1u);
  }
  // Truncated inside, and compressed repeatedly.
  const ImportedText cut =
      importText(packet(Message().text(50, by_zlib.substr(4, by_zlib.size() / 2))) + plain);
  ASSERT_TRUE(cut.ok);
  EXPECT_FALSE(cut.counts.damage.empty());
  EXPECT_EQ(cut.trace.kernel.size(), 1u);
  std::string nested = plain;
  for (int i = 0; i < 6; ++i) nested = packet(Message().text(50, deflated(nested)));
  const ImportedText deep = importText(nested + plain);
  ASSERT_TRUE(deep.ok);
  EXPECT_THAT(deep.counts.damage.at(0).reason, HasSubstr("nested too deep"));
}

TEST(PerfettoImporter, UnpacksNoMoreThanItMay) {
  const std::string zeros(32u << 20, '\0');
  std::string frame(ZSTD_compressBound(zeros.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), zeros.data(), zeros.size(), 1));
  std::string bomb;
  for (int i = 0; i < 1000; ++i) bomb += frame;
  const ImportedText got = importText(packet(Message().text(133, bomb)) + gpuWork());
  ASSERT_TRUE(got.ok);
  EXPECT_THAT(got.counts.damage.at(0).reason, HasSubstr("cannot be unpacked"));
  EXPECT_EQ(got.trace.kernel.size(), 1u);
}

TEST(PerfettoImporter, KeepsWhatIsBeforeDamage) {
  const std::string good = gpuWork();
  const ImportedText cut = importText(good + packet(at(1).of(11, trackEvent(1, 200))).substr(0, 5));
  ASSERT_TRUE(cut.ok);
  EXPECT_EQ(cut.trace.kernel.size(), 1u);
  ASSERT_EQ(cut.counts.damage.size(), 1u);
  EXPECT_EQ(cut.counts.damage[0].offset, good.size());
  const ImportedText absurd = importText(good + std::string("\x0a\xff\xff\xff\xff\xff\x7f", 7));
  ASSERT_TRUE(absurd.ok);
  EXPECT_THAT(absurd.counts.damage.at(0).reason, HasSubstr("impossible length"));
}

/// Other protobuf formats are rejected, even if they look similar.
TEST(PerfettoImporter, OtherProtobufsAreNotTaken) {
  // Many formats have data in field 1; JAX's profiler writes planes there.
  const Message line = Message().number(1, 3).text(2, "XLA Ops");
  const Message plane = Message().number(1, 7).text(2, "/device:GPU:0").of(3, line);
  const std::string xplane = Message().of(1, plane).of(1, plane).bytes();
  EXPECT_THAT(importText(xplane).error, HasSubstr("is an XPlane protobuf of JAX or TensorFlow"));
  Message large = Message().number(1, 7).text(2, "/host:CPU");
  for (int i = 0; i < 5000; ++i) large.of(3, line);
  EXPECT_THAT(importText(packet(large) + packet(large)).error, HasSubstr("is an XPlane"));
  const Message other = Message().number(1, 3).text(2, "a").real(7, 1);
  EXPECT_THAT(importText(packet(other) + packet(other) + packet(other)).error,
              HasSubstr("not in a known format"));
  const Message wrong_types = Message().text(8, "a").text(10, "b").number(11, 3);
  EXPECT_THAT(importText(packet(wrong_types)).error, HasSubstr("not in a known format"));
}

TEST(PerfettoImporter, ABeginningThatIsOneLargePacketIsKnown) {
  // The head may contain only the start of compressed packets.
  std::string noise;
  std::mt19937 random(4);
  for (int i = 0; i < 200'000; ++i) noise += static_cast<char>('0' + random() % 64);
  const std::string event = packet(at(5).of(11, trackEvent(3, 1, noise)));
  std::string zstd(ZSTD_compressBound(event.size()), '\0');
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), event.data(), event.size(), 1));
  ASSERT_GT(zstd.size(), ImportInput::kHeadBytes);
  const ImportedText got = importText(packet(Message().text(133, zstd)));
  EXPECT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.trace.range.size(), 1u);
}

TEST(PerfettoImporter, ATraceOfNothingButDamageSaysWhichItIs) {
  const ImportedText got = importText(packet(Message().text(133, "no zstd")));
  EXPECT_FALSE(got.ok);
  EXPECT_THAT(got.error, HasSubstr("compressed packets that cannot be unpacked"));
}

TEST(PerfettoImporter, MuchDamageIsCountedAndSaidOnce) {
  std::string text = gpuWork();
  for (int i = 0; i < 5000; ++i) text += packet(Message().text(133, "no zstd")) + packet(at(1));
  const ImportedText got = importText(text);
  ASSERT_TRUE(got.ok);
  EXPECT_LE(got.counts.damage.size(), 1001u);
  uint64_t places = 0;
  for (const SourceDamage& d : got.counts.damage) places += d.places;
  EXPECT_EQ(places, 5000u);
  const std::string lost(got.trace.text(got.trace.loss.reason[0]));
  EXPECT_THAT(lost, HasSubstr("in 5000 places"));
  EXPECT_LT(lost.size(), 1000u);
}

TEST(PerfettoImporter, NamesLikeOursAreNotTakenForGranted) {
  std::string trace = packet(Message().number(10, 1).of(
      126, Message().of(1, Message().text(1, "tracesmith.version").text(3, "1"))));
  uint64_t track = 10;
  for (const char* name : {"GPU : x", ": ", " : ", "GPU 99999999999999999999: x", "GPU -1: x"}) {
    trace += packet(Message().of(60, Message().number(1, track).text(2, name).of(8, Message()))) +
             packet(at(1).of(11, Message().number(9, 4).number(11, track).number(30, 1)));
    ++track;
  }
  const ImportedText got = importText(trace);
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.trace.counter.size(), 5u);
  EXPECT_TRUE(got.trace.device.empty());
}

TEST(PerfettoImporter, TracksThatAreEachOthersParentsDoNoHarm) {
  const ImportedText got =
      importText(packet(Message().of(60, Message().number(1, 1).number(5, 2))) +
                 packet(Message().of(60, Message().number(1, 2).number(5, 1))) +
                 packet(at(1).of(11, trackEvent(3, 1, "round"))) +
                 packet(at(1).of(11, trackEvent(4, 2).number(30, 1))));
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.trace.range.size(), 1u);
  EXPECT_EQ(got.trace.counter.size(), 1u);
}

TEST(PerfettoImporter, EveryDamageIsAnErrorOrCounted) {
  importDamaged(gpuWork(), test::Cut::kHides, 40, 100);
  importDamaged(process() +
                    packet(Message().number(10, 1).number(13, 1).of(12, introducedStacks())) +
                    packet(at(10).of(11, trackEvent(3, 200, "event").number(56, 9))),
                test::Cut::kHides, 40, 100);
}

}  // namespace
}  // namespace tracesmith::import
