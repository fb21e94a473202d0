// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome/chrome_importer.hpp"

#include <gmock/gmock.h>

#include <array>
#include <map>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/import/common/import_test_util.hpp"
#include "tracesmith/import/import_trace.hpp"

namespace tracesmith::import {
namespace {

using test::TempFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Imported {
  ImportCounts counts;
  Trace trace;
};

Imported imported(std::string_view text) {
  const TempFile file;
  file.write(asBytes(text));
  const TempFile output;
  Result<ImportReport> report = importTrace(file.path(), output.path());
  EXPECT_TRUE(report) << report.error().toString();
  if (!report) return {};
  auto reader = TraceReader::open(output.path());
  EXPECT_TRUE(reader);
  return {report->counts, reader->read().value()};
}

constexpr std::string_view kProgram = R"json({"schemaVersion": 1,
 "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 42297524224, "numSms": 108,
   "warpSize": 32, "computeMajor": 8, "computeMinor": 0, "maxThreadsPerBlock": 1024}],
 "baseTimeNanoseconds": 1711964646000000000,
 "traceEvents": [
 {"ph":"M","name":"process_name","pid":42,"tid":0,"args":{"name":"python"}},
 {"ph":"M","name":"thread_name","pid":42,"tid":43,"args":{"name":"main \u00e9"}},
 {"ph":"X","cat":"cpu_op","name":"aten::add","pid":42,"tid":43,"ts":10.125,"dur":5.5,
  "args":{"External id":7}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":42,"tid":43,"ts":11,"dur":2.001,
  "args":{"correlation":100,"cbid":211}},
 {"ph":"s","cat":"ac2g","name":"ac2g","id":100,"pid":42,"tid":43,"ts":11},
 {"ph":"X","cat":"kernel","name":"add<float>","pid":0,"tid":7,"ts":20.5,"dur":3.25,
  "args":{"device":0,"context":1,"stream":7,"correlation":100,"grid":[64, 2, 1],"block":[256,1,1],
  "shared memory":48,"registers per thread":32}},
 {"ph":"f","cat":"ac2g","name":"ac2g","id":100,"pid":0,"tid":7,"ts":20.5,"bp":"e"},
 {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":30,
  "dur":1,"args":{"device":0,"context":1,"stream":7,"correlation":101,"bytes":4096}},
 {"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":0,"tid":9,"ts":31,"dur":1,
  "args":{"device":0,"context":1,"stream":9,"correlation":102,"bytes":12}},
 {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":9,"ts":32,"dur":1,
  "args":{"device":0,"context":1,"stream":9,"correlation":103}},
 {"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":20,"dur":9,"args":{}},
 {"ph":"i","name":"Iteration Start","s":"g","pid":"Traces","tid":"Trace","ts":1},
 {"ph":"C","name":"memory","pid":42,"ts":40,"args":{"allocated":5,"reserved":7.5}},
 {"ph":"X","cat":"kernel","name":"orphan","pid":1,"tid":20,"ts":50,"dur":1},
 {"ph":"?","name":"unknown","pid":42,"ts":1}
 ], "traceName": "x"})json";

TEST(ChromeImporter, EveryKindFindsItsTable) {
  const Imported got = imported(kProgram);
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 2U);
  const KernelRow k = t.kernel.row(0);
  EXPECT_EQ(t.text(k.name), "add<float>");
  EXPECT_EQ(k.start_ns, 20'500);
  EXPECT_EQ(k.duration_ns, 3'250);
  EXPECT_EQ(k.correlation_id, 100U);
  EXPECT_EQ(t.process.pid[indexOf(k.process_id)], 42U);
  EXPECT_EQ(t.thread.tid[indexOf(k.thread_id)], 43U) << "who launched it";
  EXPECT_EQ(t.text(t.thread.name[indexOf(k.thread_id)]), "main \xc3\xa9");
  EXPECT_EQ(t.stream.handle[indexOf(k.stream_id)], 7U);
  const DeviceId device = t.deviceOf(k.stream_id);
  EXPECT_EQ(t.text(t.device.name[indexOf(device)]), "NVIDIA A100");
  EXPECT_EQ(t.device.backend[indexOf(device)], PlatformType::CUDA);
  EXPECT_EQ(t.device.compute_units[indexOf(device)], 108U);
  const LaunchShapeRow shape = t.launch_shape.row(indexOf(k.shape_id));
  EXPECT_EQ(shape.global_x, 64U * 256);
  EXPECT_EQ(shape.global_y, 2U);
  EXPECT_EQ(shape.local_x, 256U);
  EXPECT_EQ(shape.static_shared_bytes, 48U);
  EXPECT_EQ(shape.registers_per_thread, 32U);

  const KernelRow orphan = t.kernel.row(1);
  EXPECT_EQ(t.stream.handle[indexOf(orphan.stream_id)], 20U) << "by pid and tid";
  EXPECT_EQ(t.device.ordinal[indexOf(t.deviceOf(orphan.stream_id))], 1U);
  EXPECT_EQ(orphan.thread_id, ThreadId::kNone);

  ASSERT_EQ(t.host_call.size(), 1U);
  EXPECT_EQ(t.host_call.kind[0], CallKind::kLaunch);
  EXPECT_EQ(t.host_call.duration_ns[0], 2'001);
  EXPECT_EQ(t.host_call.correlation_id[0], 100U);
  ASSERT_EQ(t.copy.size(), 1U);
  EXPECT_EQ(t.copy.kind[0], CopyKind::kHostToDevice);
  EXPECT_EQ(t.copy.bytes[0], 4096U);
  ASSERT_EQ(t.fill.size(), 1U);
  EXPECT_EQ(t.fill.bytes[0], 12U);
  ASSERT_EQ(t.sync.size(), 1U);
  EXPECT_EQ(t.sync.kind[0], SyncKind::kBarrier);
  EXPECT_EQ(t.range.size(), 3U) << "the op, the annotation on the stream, the instant";
  ASSERT_EQ(t.counter.size(), 2U);
  EXPECT_EQ(t.text(t.counter_track.name[0]), "memory allocated");
  EXPECT_EQ(t.counter.value[1], 7.5);

  EXPECT_EQ(got.counts.events, 15U);
  EXPECT_EQ(got.counts.metadata, 2U);
  EXPECT_EQ(t.flow_event.size(), 2U);
  EXPECT_EQ(got.counts.others, 1U);
  EXPECT_EQ(got.counts.rows + got.counts.metadata + got.counts.others, 15U);
  EXPECT_EQ(t.loss.emitted[0], t.loss.written[0] + t.loss.dropped[0]);
  EXPECT_EQ(t.metadataValue("source.traceName"), "\"x\"");
  ASSERT_EQ(t.clock_snapshot.size(), 1U) << "what Unix time that was";
  EXPECT_EQ(t.clock_domain.kind[0], ClockKind::kHostRealtime);
  EXPECT_EQ(t.clock_snapshot.clock_value[0] - t.clock_snapshot.host_ns[0], 1711964646000000000);
}

TEST(ChromeImporter, AWaitForAnEventKnowsTheRecordAndItsStream) {
  // As Kineto writes it: the wait before its call, and the calls out of order.
  const Imported got = imported(R"json({"schemaVersion": 1, "traceEvents": [
 {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":20,"ts":32,"dur":1,
  "args":{"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":102,"wait_on_cuda_event_id":8,
  "stream":20,"correlation":103,"device":0,"context":1}},
 {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":20,"ts":33,"dur":1,
  "args":{"wait_on_stream":7,"wait_on_cuda_event_id":8,"stream":20,"correlation":104,"device":0,
  "context":1}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":42,"tid":43,"ts":31,"dur":3,
  "args":{"correlation":103}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaEventRecord","pid":42,"tid":43,"ts":30,"dur":1,
  "args":{"correlation":102}},
 {"ph":"X","cat":"kernel","name":"first","pid":0,"tid":7,"ts":20.5,"dur":30,
  "args":{"device":0,"context":1,"stream":7,"correlation":100}}
 ]})json");
  const Trace& t = got.trace;
  ASSERT_EQ(t.flow.size(), 1U) << "the other one does not tell of its record";
  const FlowRow flow = t.flow.row(0);
  EXPECT_EQ(flow.kind, FlowKind::kWait);
  EXPECT_EQ(flow.from_correlation_id, 102U);
  EXPECT_EQ(flow.to_correlation_id, 103U);
  EXPECT_EQ(flow.from_stream_id, t.kernel.stream_id[0]);
  EXPECT_EQ(t.process.pid[indexOf(flow.process_id)], 42U);
}

TEST(ChromeImporter, TheVocabularyOf2021IsKnown) {
  const Imported got = imported(R"json([
    {"ph":"X","cat":"Operator","name":"aten::to","pid":1,"tid":2,"ts":1,"dur":1,"args":{}},
    {"ph":"X","cat":"Runtime","name":"cudaMemcpyAsync","pid":1,"tid":2,"ts":2,"dur":1,
     "args":{"correlation":5}},
    {"ph":"X","cat":"Memcpy","name":"Memcpy DtoH (Device -> Pinned)","pid":0,"tid":"stream 7",
     "ts":3,"dur":1,"args":{"device":0,"context":1,"stream":7,"correlation":5,"bytes":8}},
    {"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":5,"dur":0,
     "args":{"device":0,"context":1,"stream":7,"correlation":6}},
    {"ph":"X","cat":"Memset","name":"Memset","pid":0,"tid":"stream 7","ts":6,"dur":1,
     "args":{"device":0,"context":1,"stream":7,"correlation":7,"bytes":1}}])json");
  EXPECT_EQ(got.trace.range.size(), 1U);
  EXPECT_EQ(got.trace.host_call.size(), 1U);
  EXPECT_EQ(got.trace.kernel.size(), 1U);
  EXPECT_EQ(got.trace.fill.size(), 1U);
  ASSERT_EQ(got.trace.copy.size(), 1U);
  EXPECT_EQ(got.trace.copy.kind[0], CopyKind::kDeviceToHost);
  EXPECT_EQ(got.trace.copy.thread_id[0], got.trace.host_call.thread_id[0]);
  EXPECT_EQ(got.trace.stream.size(), 1U);
}

TEST(ChromeImporter, ATimeThatIsNoneMakesNoRow) {
  for (const char* ts : {"null", "\"soon\"", "true", "9223372036854775808"}) {
    const Imported got = imported(std::string(R"({"baseTimeNanoseconds": 9223372036854775807,
      "traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"dur":1,"ts":)") +
                                  ts + "}]}");
    EXPECT_EQ(got.trace.range.size(), 0U) << ts;
    EXPECT_EQ(got.counts.others, 1U) << ts;
  }
}

TEST(ChromeImporter, BothEndsOfAnEventAreOneRow) {
  const Imported got = imported(R"json([
 {"ph":"B","name":"outer","cat":"c","pid":1,"tid":2,"ts":10},
 {"ph":"B","name":"inner","pid":1,"tid":2,"ts":11,"args":{"x":1}},
 {"ph":"B","name":"other thread","pid":1,"tid":3,"ts":12},
 {"ph":"E","pid":1,"tid":2,"ts":14.5,"args":{"y":2}},
 {"ph":"E","pid":1,"tid":2,"ts":20},
 {"ph":"E","name":"never began","pid":1,"tid":2,"ts":21},
 {"ph":"B","name":"gemm","cat":"kernel","pid":0,"tid":7,"ts":30,"args":{"device":0,"stream":7}},
 {"ph":"E","pid":0,"tid":7,"ts":33},
 {"ph":"B","name":"backwards","pid":1,"tid":4,"ts":50},
 {"ph":"E","pid":1,"tid":4,"ts":40}
 ])json");
  const Trace& t = got.trace;
  std::map<std::string, RangeRow> ranges;
  for (size_t i = 0; i < t.range.size(); ++i) {
    ranges[std::string(t.text(t.range.name[i]))] = t.range.row(i);
  }
  ASSERT_EQ(t.range.size(), 5U);
  EXPECT_EQ(ranges["outer"].duration_ns, 10'000);
  EXPECT_EQ(t.text(ranges["outer"].category), "c");
  EXPECT_EQ(ranges["inner"].start_ns, 11'000);
  EXPECT_EQ(ranges["inner"].duration_ns, 3'500);
  EXPECT_EQ(ranges["other thread"].kind, RangeKind::kBegin) << "it never ends";
  EXPECT_EQ(ranges["never began"].kind, RangeKind::kEnd);
  EXPECT_EQ(ranges["backwards"].duration_ns, 0);
  ASSERT_EQ(t.kernel.size(), 1U);
  EXPECT_EQ(t.kernel.duration_ns[0], 3'000);
  EXPECT_THAT(t.text(t.loss.reason[0]), HasSubstr("1 events end before they start"));
  EXPECT_THAT(t.text(t.loss.reason[0]), HasSubstr("1 events (\"B\") never ended"));
}

TEST(ChromeImporter, NumbersAreWhatTheySayAndWhatIsNoneIsSaid) {
  const Imported got = imported(R"json([
 {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":0.0000,"dur":1,
  "args":{"device":0,"stream":7,"bytes":1.048576e+06}},
 {"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":2,"dur":-3,
  "args":{"device":0,"stream":7,"grid":[1e2,1,1],"block":[-1,4294967297,8],"shared memory":-5}},
 {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":3,"args":{"device":0,"stream":7}},
 {"ph":"X","cat":"kernel","name":"c","pid":0,"tid":7,"ts":4,"dur":9223372036854775,
  "args":{"device":0,"stream":7}}
 ])json");
  const Trace& t = got.trace;
  ASSERT_EQ(t.copy.size(), 1U);
  EXPECT_EQ(t.copy.bytes[0], 1048576U);
  ASSERT_EQ(t.kernel.size(), 3U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(t.kernel.duration_ns[i], 0);
  const LaunchShapeRow shape = t.launch_shape.row(indexOf(t.kernel.shape_id[0]));
  EXPECT_EQ(shape.local_x, 0U);
  EXPECT_EQ(shape.local_y, 0U);
  EXPECT_EQ(shape.local_z, 8U);
  EXPECT_EQ(shape.global_z, 8U);
  EXPECT_EQ(shape.static_shared_bytes, 0U);
  EXPECT_THAT(t.text(t.loss.reason[0]),
              AllOf(HasSubstr("1 events end before they start"),
                    HasSubstr("1 events would have lasted"), HasSubstr("1 events have no end")));
  EXPECT_TRUE(t.clock_snapshot.empty()) << "nothing says what Unix time these are";
}

TEST(ChromeImporter, WorkFarBeforeItsLaunchIsStillItsProcesss) {
  std::string text = R"json([
 {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":9,"dur":1,
  "args":{"device":0,"stream":7,"correlation":5}})json";
  for (int i = 0; i < 530'000; ++i) {
    text += R"(,{"ph":"X","cat":"cpu_op","name":"o","pid":42,"tid":43,"ts":1,"dur":1})";
  }
  const Imported got = imported(text + R"json(,
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":42,"tid":43,"ts":2,"dur":1,
  "args":{"correlation":5}}])json");
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 1U);
  EXPECT_EQ(t.process.pid[indexOf(t.kernel.process_id[0])], 42U);
  EXPECT_EQ(t.kernel.thread_id[0], ThreadId::kNone);
  EXPECT_THAT(t.text(t.loss.reason[0]),
              HasSubstr("1 pieces of device work come so long before their launch"));
}

// Rows are written in batches of 262,144. Work near the end of a batch must not lose its launch, at
// any distance up to the documented 262,144 rows.
TEST(ChromeImporter, WorkUpToTheDocumentedDistanceBeforeItsLaunchHasItsThread) {
  constexpr size_t kAhead = 262'144;
  constexpr std::array<size_t, 7> kDistances = {1, 2, 3, 4'096, kAhead - 2, kAhead - 1, kAhead};
  std::map<size_t, std::string> rows;  // by row number
  size_t correlation = 0;
  for (const size_t end : {kAhead, 2 * kAhead}) {
    for (size_t at = end - 12; at <= end + 12; at += 2) {
      const size_t launch = at + kDistances[correlation % kDistances.size()];
      if (rows.contains(at) || rows.contains(launch)) continue;
      const std::string arguments =
          R"("ts":1,"dur":1,"args":{"device":0,"stream":7,"correlation":)" +
          std::to_string(++correlation) + "}}";
      rows[at] = R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,)" + arguments;
      rows[launch] = R"({"ph":"X","cat":"cuda_runtime","name":"l","pid":4,"tid":5,)" + arguments;
    }
  }
  ASSERT_GT(correlation, 14U);
  std::string text = "[";
  for (size_t at = 0; at <= 3 * kAhead + 20; ++at) {
    const auto row = rows.find(at);
    text += row != rows.end() ? row->second : R"({"ph":"i","ts":1,"name":"f","pid":4,"tid":5})";
    text += ',';
  }
  text.back() = ']';
  const Trace t = imported(text).trace;
  ASSERT_EQ(t.kernel.size(), correlation);
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    EXPECT_NE(t.kernel.thread_id[i], ThreadId::kNone) << t.kernel.correlation_id[i];
  }
  EXPECT_EQ(t.text(t.loss.reason[0]), "");
}

TEST(ChromeImporter, DevicesAndStreamsMayHaveNames) {
  const Imported got = imported(R"json([
 {"ph":"X","cat":"kernel","name":"a","pid":"GPU0","tid":"s0","ts":2,"dur":3},
 {"ph":"X","cat":"kernel","name":"b","pid":"GPU1","tid":"s1","ts":2,"dur":3},
 {"ph":"X","cat":"kernel","name":"c","pid":"GPU1","tid":"s0","ts":5,"dur":3}])json");
  const Trace& t = got.trace;
  ASSERT_EQ(t.device.size(), 2U);
  EXPECT_EQ(t.text(t.device.name[0]), "GPU0");
  EXPECT_EQ(t.text(t.device.name[1]), "GPU1");
  EXPECT_EQ(t.stream.size(), 3U);
  EXPECT_EQ(t.text(t.stream.name[indexOf(t.kernel.stream_id[2])]), "s0");
  EXPECT_EQ(t.deviceOf(t.kernel.stream_id[2]), t.deviceOf(t.kernel.stream_id[1]));
}

TEST(ChromeImporter, WhatIsLostIsCountedWhereAnyoneCanKnow) {
  const std::string event = R"({"ph":"X","name":"e","pid":1,"tid":1,"ts":1,"dur":1})";
  struct Case {
    std::string damage;
    uint64_t written, dropped;
    bool known;
  };
  for (const Case& c :
       {Case{"", 2, 0, true},
        {R"({"ph":"X","name":oops},)", 2, 1, true},
        {R"({"ph":"X","name":oops},)" + event + R"(,{"ph":"X","ts":1..2},)", 3, 2, true},
        {"{\"ph\":\"X\",\"name\":\"e\n\",\"ts\":1},", 3, 0, true},
        {"7,", 2, 0, true},
        {R"({"ph":"X","name":"no end,)", 1, 0, false},
        {R"({"ph":"X","args":{"a":]},)", 2, 0, false}}) {
    const Trace t = imported("[" + event + "," + c.damage + event + "]").trace;
    ASSERT_EQ(t.loss.size(), 1U) << c.damage;
    EXPECT_EQ(t.loss.written[0], c.written) << c.damage;
    EXPECT_EQ(t.loss.dropped[0], c.dropped) << c.damage;
    EXPECT_EQ(emittedIsKnown(t.loss, 0), c.known) << c.damage;
    EXPECT_EQ(t.loss.emitted[0], c.known ? c.written + c.dropped : 0) << c.damage;
  }
}

TEST(ChromeImporter, NoTwoDevicesOrStreamsShareAnOrdinal) {
  // Truncated to 32 bits, the large ones are 0, 1 and -1; names have no number at all.
  const std::vector<std::string> numbers = {"0",
                                            "1",
                                            "-1",
                                            "4294967296",
                                            "4294967297",
                                            "8589934592",
                                            "4294967295",
                                            "-4294967296",
                                            "\"x\"",
                                            "\"y\"",
                                            "9223372036854775807",
                                            "-4611686018427387904"};
  std::string text = R"({"schemaVersion":1,"traceEvents":[)";
  for (const std::string& number : numbers) {
    text +=
        R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":)" +
        number + R"(,"stream":)" + number + "}},";
  }
  text += R"({"ph":"i","cat":"cpu_instant_event","name":"[memory]","ts":9,"pid":1,"tid":2,"s":"t",)"
          R"("args":{"Bytes":8,"Addr":1,"Device Type":1,"Device Id":4294967296}}]})";
  const Trace t = imported(text).trace;
  for (const auto* ordinals : {&t.device.ordinal, &t.stream.ordinal}) {
    EXPECT_EQ(ordinals->size(), numbers.size());
    EXPECT_EQ(std::set<uint32_t>(ordinals->begin(), ordinals->end()).size(), numbers.size());
  }
  EXPECT_EQ(t.stream.handle[3], 4294967296U) << "the number itself";
  ASSERT_EQ(t.memory_event.size(), 1U);
  EXPECT_EQ(t.memory_event.device_id[0], t.deviceOf(t.kernel.stream_id[3]));
}

TEST(ChromeImporter, ACounterIsATrackForEachArgumentAndId) {
  const Imported got = imported(R"json([
 {"ph":"C","name":"a","pid":1,"ts":1,"args":{"b":1,"c":2}},
 {"ph":"C","name":"a","pid":1,"ts":2,"args":{"b":3}},
 {"ph":"C","name":"a b","pid":1,"ts":3,"args":{"value":4}},
 {"ph":"C","name":"a","id":7,"pid":1,"ts":4,"args":{"b":5}},
 {"ph":"s","name":"arrow without an id","pid":1,"tid":1,"ts":4}])json");
  const Trace& t = got.trace;
  EXPECT_EQ(t.counter.size(), 5U);
  ASSERT_EQ(t.counter_track.size(), 4U);
  const auto& tracks = t.counter.track_id;
  EXPECT_EQ(std::count(tracks.begin(), tracks.end(), idAt<CounterTrackId>(0)), 2) << "one series";
  EXPECT_EQ(t.text(t.counter_track.name[0]), "a b");
  EXPECT_EQ(t.text(t.counter_track.name[3]), "a 7 b");
  EXPECT_TRUE(t.flow_event.empty());
}

TEST(ChromeImporter, MemoryEventsKnowTheirDevice) {
  const Imported got = imported(R"json({"traceEvents": [
   {"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":2,"ts":5,"s":"t",
    "args":{"Total Reserved":10,"Bytes":512,"Addr":4096,"Device Id":0,"Device Type":1}},
   {"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":2,"ts":6,"s":"t",
    "args":{"Total Reserved":10,"Bytes":-512,"Addr":4096,"Device Id":0,"Device Type":1}},
   {"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":2,"ts":7,"s":"t",
    "args":{"Total Reserved":10,"Bytes":64,"Addr":8192,"Device Id":-1,"Device Type":0}}]})json");
  const MemoryEventTable& m = got.trace.memory_event;
  ASSERT_EQ(m.size(), 3U);
  EXPECT_EQ(m.kind[0], MemoryKind::kAlloc);
  EXPECT_EQ(m.kind[1], MemoryKind::kFree);
  EXPECT_EQ(m.bytes[1], 512U);
  EXPECT_EQ(m.address[0], 4096U);
  EXPECT_NE(m.device_id[0], DeviceId::kNone);
  EXPECT_EQ(m.device_id[2], DeviceId::kNone) << "of the host";
}

TEST(ChromeImporter, TheSourceIsNotWrittenOver) {
  const TempFile file;
  file.write(asBytes("[]"));
  EXPECT_FALSE(importTrace(file.path(), file.path()));
  EXPECT_EQ(asText(file.bytes()), "[]");
}

TEST(ChromeImporter, WhatFailsLeavesWhatWasThere) {
  const TempFile file, output;
  file.write(asBytes("{\"a\": 1}"));
  output.write(asBytes("precious"));
  const auto report = importTrace(file.path(), output.path());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("traceEvents"));
  EXPECT_EQ(asText(output.bytes()), "precious");
  EXPECT_FALSE(importTrace(file.path(), "/nonexistent/x.sbt"));
}

/// For every real trace: another parser must find the same number of rows of each kind, and the
/// same total time.
TEST(ChromeImporter, RealTracesComeInWhole) {
  size_t compared = 0;
  for (const std::string& path : test::realChromeTraces()) {
    auto source = ByteSource::open(path);
    ASSERT_TRUE(source);
    std::string text;
    std::vector<uint8_t> piece(1 << 20);
    for (size_t n = 1; n > 0;) {
      n = (*source)->read(piece).value();
      text.append(reinterpret_cast<const char*>(piece.data()), n);
    }
    if (text.size() > 5'000'000) continue;
    const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
    if (document.is_discarded()) continue;
    std::map<std::string, std::pair<size_t, double>> expected;
    for (const auto& e : document.is_array() ? document : document["traceEvents"]) {
      if (e.value("ph", "") != "X" || !e.contains("ts")) continue;
      const std::string category = e.value("cat", "");
      const bool kernel = category == "kernel" || category == "Kernel";
      const bool copy = category == "gpu_memcpy" || category == "Memcpy";
      const bool call =
          category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime";
      const char* kind = kernel ? "kernel" : copy ? "copy" : call ? "call" : "other";
      auto& [count, us] = expected[kind];
      ++count;
      us += e.contains("dur") && e["dur"].is_number() ? e["dur"].get<double>() : 0;
    }
    const Imported got = imported(text);
    const auto expect = [&](const char* kind, const auto& table) {
      int64_t ns = 0;
      for (const int64_t d : table.duration_ns) ns += d;
      EXPECT_EQ(table.size(), expected[kind].first) << kind << " of " << path;
      EXPECT_NEAR(static_cast<double>(ns) / 1e3, expected[kind].second,
                  1e-3 * static_cast<double>(table.size() + 1))
          << kind << " of " << path;
    };
    expect("kernel", got.trace.kernel);
    expect("copy", got.trace.copy);
    expect("call", got.trace.host_call);
    EXPECT_TRUE(got.counts.damage.empty());
    ++compared;
  }
  std::printf("%zu real traces compared\n", compared);
  if (compared == 0) GTEST_SKIP() << "no real traces (TRACESMITH_TEST_DATA)";
}

}  // namespace
}  // namespace tracesmith::import
