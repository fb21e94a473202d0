// SPDX-License-Identifier: Apache-2.0
// A trace exported to Perfetto and imported again: the same work at the same times, on the same
// streams and threads, with the same names.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tracesmith/analysis/timing/call_path_costs.hpp"
#include "tracesmith/export/perfetto/perfetto_reading_test_util.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"
#include "tracesmith/export/perfetto/sample_trace_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/import/common/import_test_util.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/import/perfetto/perfetto_source_test_util.hpp"

namespace tracesmith {
namespace {

using test::TempFile;

Trace imported(const std::string& path, bool damage_allowed = false) {
  const TempFile output;
  const auto report = import::importTrace(path, output.path());
  EXPECT_TRUE(report) << report.error().toString();
  if (!report) return {};
  if (!damage_allowed) {
    EXPECT_TRUE(report->counts.damage.empty()) << report->counts.damage[0].reason;
  }
  auto reader = TraceReader::open(output.path());
  EXPECT_TRUE(reader);
  return reader->read().value();
}

Trace roundTrip(const Trace& trace, bool full) {
  const TempFile file;
  EXPECT_TRUE(exportPerfetto(trace, file.path(), {.full_args = full}));
  return imported(file.path());
}

/// Names as a viewer may show them: protobuf texts are UTF-8, the exporter mends what is not.
std::string shown(const Trace& t, StringId id) {
  std::string text(t.text(id));
  std::erase_if(text, [](char c) { return static_cast<uint8_t>(c) >= 0x80 || c == '?'; });
  return text;
}
uint32_t pidOf(const Trace& t, ProcessId id) {
  return id == ProcessId::kNone ? 0 : t.process.pid[indexOf(id)];
}
uint32_t tidOf(const Trace& t, ThreadId id) {
  return id == ThreadId::kNone ? 0 : t.thread.tid[indexOf(id)];
}
std::string streamOf(const Trace& t, StreamId id) {
  if (id == StreamId::kNone) return "none";
  const size_t s = indexOf(id);
  const DeviceId device = t.stream.device_id[s];
  return std::to_string(t.stream.ordinal[s]) + " of device " +
         (device == DeviceId::kNone ? "none" : std::to_string(t.device.ordinal[indexOf(device)])) +
         " of " + std::to_string(pidOf(t, t.stream.process_id[s]));
}

using Row = std::tuple<int64_t, int64_t, std::string, std::string, int64_t>;
std::vector<Row> sorted(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Row> kernels(const Trace& t) {
  std::vector<Row> rows;
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    const ShapeId shape = t.kernel.shape_id[i];
    rows.emplace_back(t.kernel.start_ns[i], t.kernel.duration_ns[i], shown(t, t.kernel.name[i]),
                      streamOf(t, t.kernel.stream_id[i]),
                      shape == ShapeId::kNone
                          ? 0
                          : static_cast<int64_t>(t.launch_shape.global_x[indexOf(shape)]));
  }
  return sorted(rows);
}
template <class Table>
std::vector<Row> transfers(const Trace& t, const Table& table) {
  std::vector<Row> rows;
  for (size_t i = 0; i < table.size(); ++i) {
    rows.emplace_back(table.start_ns[i], table.duration_ns[i], shown(t, table.name[i]),
                      streamOf(t, table.stream_id[i]), static_cast<int64_t>(table.bytes[i]));
  }
  return sorted(rows);
}
std::vector<Row> syncs(const Trace& t, bool host) {
  std::vector<Row> rows;
  for (size_t i = 0; i < t.sync.size(); ++i) {
    if (((t.sync.flags[i] & op_flags::kHostSide) != 0) != host) continue;
    rows.emplace_back(t.sync.start_ns[i], t.sync.duration_ns[i], shown(t, t.sync.name[i]),
                      host ? "" : streamOf(t, t.sync.stream_id[i]),
                      static_cast<int64_t>(t.sync.kind[i]));
  }
  return sorted(rows);
}
std::vector<Row> calls(const Trace& t) {
  std::vector<Row> rows;
  for (size_t i = 0; i < t.host_call.size(); ++i) {
    rows.emplace_back(
        t.host_call.start_ns[i], t.host_call.duration_ns[i], shown(t, t.host_call.name[i]), "",
        tidOf(t, t.host_call.thread_id[i]) * 100 + static_cast<int64_t>(t.host_call.kind[i]));
  }
  return sorted(rows);
}
std::vector<Row> ranges(const Trace& t) {
  std::vector<Row> rows;
  for (size_t i = 0; i < t.range.size(); ++i) {
    rows.emplace_back(t.range.start_ns[i], t.range.duration_ns[i], shown(t, t.range.name[i]),
                      shown(t, t.range.category[i]), static_cast<int64_t>(t.range.kind[i]));
  }
  return sorted(rows);
}
std::map<std::string, std::vector<std::pair<int64_t, double>>> counters(const Trace& t) {
  std::map<std::string, std::vector<std::pair<int64_t, double>>> values;
  for (size_t i = 0; i < t.counter.size(); ++i) {
    const size_t track = indexOf(t.counter.track_id[i]);
    const DeviceId device = t.counter_track.device_id[track];
    const std::string key = std::string(t.text(t.counter_track.name[track])) + " in " +
                            std::string(t.text(t.counter_track.unit[track])) +
                            (device == DeviceId::kNone ? "" : " of a device");
    values[key].emplace_back(t.counter.time_ns[i], t.counter.value[i]);
  }
  return values;
}
/// For each kernel the call that its correlation id leads to.
std::vector<Row> launches(const Trace& t) {
  std::map<std::pair<ProcessId, uint64_t>, size_t> by_id;
  for (size_t i = 0; i < t.host_call.size(); ++i) {
    by_id[{t.host_call.process_id[i], t.host_call.correlation_id[i]}] = i;
  }
  std::vector<Row> rows;
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    const auto it = by_id.find({t.kernel.process_id[i], t.kernel.correlation_id[i]});
    if (it == by_id.end() || t.kernel.correlation_id[i] == 0) continue;
    rows.emplace_back(t.kernel.start_ns[i], t.host_call.start_ns[it->second],
                      shown(t, t.host_call.name[it->second]), "", 0);
  }
  return sorted(rows);
}

/// The stack of each call and each piece of device work. In the file a frame has one function, so
/// functions are compared, not frames.
std::vector<Row> callStacks(const Trace& t) {
  const FrameSymbols symbols(t);
  std::vector<FrameFunction> functions;
  std::vector<Row> rows;
  const auto add = [&](const auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      std::string stack;
      for (const FrameId id : framesOf(t, table.call_path_id[i])) {
        const FrameRow frame = t.frame.row(indexOf(id));
        symbols.functions(id, functions);
        for (size_t k = functions.size(); k-- > 0;) {
          const FrameFunction& f = functions[k];
          stack += fmt::format("{} = {} {}:{} {} {:x} {}\n", symbols.label(id, f), f.function,
                               f.file, f.line, t.text(frame.module), frame.module_offset,
                               t.text(frame.build_id));
        }
      }
      rows.emplace_back(table.start_ns[i], table.duration_ns[i], stack, "", 0);
    }
  };
  add(t.host_call);
  add(t.kernel);
  add(t.copy);
  add(t.fill);
  return sorted(rows);
}

void expectSame(const Trace& before, const Trace& after) {
  EXPECT_EQ(kernels(before), kernels(after));
  EXPECT_EQ(transfers(before, before.copy), transfers(after, after.copy));
  EXPECT_EQ(transfers(before, before.fill), transfers(after, after.fill));
  EXPECT_EQ(syncs(before, false), syncs(after, false));
  EXPECT_EQ(calls(before), calls(after));
  EXPECT_EQ(ranges(before), ranges(after));
  EXPECT_EQ(launches(before), launches(after));
}

TEST(PerfettoRoundTrip, TheSampleComesBack) {
  const Trace before = sample::makeTrace();
  for (const bool full : {false, true}) {
    SCOPED_TRACE(full ? "with everything" : "as by default");
    const Trace after = roundTrip(before, full);
    expectSame(before, after);
    auto values = counters(after);
    // Counted from allocations, which the file does not have one by one.
    std::erase_if(values, [](const auto& v) { return v.first.find("Allocated") == 0; });
    EXPECT_EQ(counters(before), values);
    ASSERT_EQ(before.process.size(), after.process.size());
    for (size_t i = 0; i < before.process.size(); ++i) {
      EXPECT_EQ(before.process.pid[i], after.process.pid[i]);
      EXPECT_EQ(before.text(before.process.command_line[i]),
                after.text(after.process.command_line[i]));
    }
    ASSERT_EQ(before.device.size(), after.device.size());
    for (size_t i = 0; i < before.device.size(); ++i) {
      EXPECT_EQ(before.text(before.device.name[i]), after.text(after.device.name[i]));
      EXPECT_EQ(before.device.memory_bytes[i], after.device.memory_bytes[i]);
      EXPECT_EQ(before.device.backend[i], after.device.backend[i]);
    }
    EXPECT_EQ(before.program_build.size(), after.program_build.size());
    EXPECT_EQ(before.flow.size(), after.flow.size());
    EXPECT_EQ(after.metadataValue("application"), "sample \"quoted\"");
  }
}

TEST(PerfettoRoundTrip, ASecondTripChangesNothing) {
  const Trace once = roundTrip(sample::makeTrace(), true);
  const Trace twice = roundTrip(once, true);
  expectSame(once, twice);
}

TEST(PerfettoRoundTrip, CallStacksComeBack) {
  Trace before = sample::makeTrace();
  sample::addStacks(before);
  const Trace once = roundTrip(before, false);
  expectSame(before, once);
  EXPECT_EQ(callStacks(before), callStacks(once));
  EXPECT_TRUE(once.symbol.empty());
  const Trace twice = roundTrip(once, true);
  expectSame(before, twice);
  EXPECT_EQ(callStacks(before), callStacks(twice));
  EXPECT_EQ(once.frame.size(), twice.frame.size());
  EXPECT_EQ(once.call_path.size(), twice.call_path.size());
}

TEST(PerfettoRoundTrip, RealTracesComeBack) {
  const std::vector<std::string> files = test::realChromeTraces();
  if (files.empty()) GTEST_SKIP() << "TRACESMITH_TEST_DATA is not set or has no traces";
  size_t compared = 0;
  for (const std::string& path : files) {
    if (std::filesystem::file_size(path) > (700u << 10)) continue;
    SCOPED_TRACE(path);
    const Trace before = imported(path, true);
    if (before.kernel.empty()) continue;
    const Trace after = roundTrip(before, true);
    EXPECT_EQ(kernels(before).size(), kernels(after).size());
    EXPECT_EQ(transfers(before, before.copy), transfers(after, after.copy));
    EXPECT_EQ(calls(before).size(), calls(after).size());
    // More where a kernel came before its launch in the file, so that its process was not known.
    EXPECT_GE(launches(after).size(), launches(before).size());
    EXPECT_EQ(before.range.size(), after.range.size());
    ++compared;
  }
  std::printf("%zu real traces compared\n", compared);
  EXPECT_GT(compared, 0u);
}

/// What a viewer would object to in the export of a trace, by tests/perfetto's own reading: above
/// all that clocks are related, which each source has in its own way.
TEST(PerfettoRoundTrip, ExportsOfAnySourceAreInOrder) {
  const auto object = [](const Trace& trace) {
    for (const bool compat : {false, true}) {
      std::string bytes;
      Output out = Output::toString(&bytes);
      EXPECT_TRUE(writePerfetto(trace, out, {.compat = compat}));
      EXPECT_TRUE(out.finish());
      const reading::File file(bytes);
      EXPECT_TRUE(file.problems.empty()) << file.problems.front();
    }
  };
  object({});
  const std::string chrome = R"({"baseTimeNanoseconds":1700000000000000000,"traceEvents":[
    {"ph":"X","cat":"cpu_op","name":"outer","pid":7,"tid":8,"ts":10,"dur":50},
    {"ph":"B","cat":"cpu_op","name":"never ends","pid":7,"tid":9,"ts":5},
    {"ph":"E","cat":"cpu_op","name":"never began","pid":7,"tid":10,"ts":6},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":90,"dur":30,
     "args":{"device":0,"stream":7,"correlation":3}},
    {"ph":"C","name":"queued","pid":7,"ts":30,"args":{"n":3}}]})";
  const Trace recorded = [] {
    Trace trace = sample::makeTrace({.kernels = 30, .names = 3});
    trace.setMetadata("start_monotonic_ns", "1000");
    trace.setMetadata("start_boottime_ns", "9000");
    return trace;
  }();
  object(recorded);
  object(roundTrip(recorded, false));
  for (const size_t length : {chrome.size(), chrome.size() - 2, chrome.size() / 2}) {
    const TempFile source;
    source.write(asBytes(chrome.substr(0, length)));
    object(imported(source.path(), true));
  }
}

/// Slices at both ends of an arrow are seldom called the same.
TEST(PerfettoRoundTrip, ArrowsOfOthersJoinSlicesOfAnyName) {
  using test::at, test::packet, test::trackEvent;
  const TempFile source;
  const std::string bytes = test::process() +
                            packet(at(10).of(11, trackEvent(1, 200, "send").fixed(47, 5))) +
                            packet(at(20).of(11, trackEvent(2, 200))) +
                            packet(at(30).of(11, trackEvent(1, 200, "take").fixed(48, 5))) +
                            packet(at(40).of(11, trackEvent(2, 200)));
  source.write(asBytes(bytes));
  std::string exported;
  Output out = Output::toString(&exported);
  ASSERT_TRUE(writePerfetto(imported(source.path()), out));
  ASSERT_TRUE(out.finish());
  const reading::File file(exported);
  ASSERT_EQ(file.slices.size(), 2u);
  ASSERT_EQ(file.slices[0].flows_out.size(), 1u);
  EXPECT_EQ(file.slices[1].flows_in, file.slices[0].flows_out);
}

}  // namespace
}  // namespace tracesmith
