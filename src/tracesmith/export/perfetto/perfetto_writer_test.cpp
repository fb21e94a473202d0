// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/perfetto/perfetto_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>

#include "tracesmith/export/chrome/chrome_json.hpp"
#include "tracesmith/export/perfetto/perfetto_reading_test_util.hpp"
#include "tracesmith/export/perfetto/perfetto_test_util.hpp"
#include "tracesmith/export/perfetto/sample_trace_test_util.hpp"
#include "tracesmith/export/slices/device_work.hpp"

namespace tracesmith {
namespace {

std::map<uint64_t, const reading::Work*> byId(const reading::File& file) {
  std::map<uint64_t, const reading::Work*> works;
  for (const reading::Work& w : file.works) works[w.id] = &w;
  return works;
}

/// Checks that each row of device work is present once, under its number, with its times, stream
/// and process.
void expectDeviceWork(const Trace& trace, const reading::File& file) {
  const auto works = byId(file);
  const Selection all = everything(trace);
  const DeviceWork numbers = *DeviceWork::index(trace, all);
  size_t expected = 0;
  forEachWorkTable(trace, [&](const auto& table, WorkKind kind) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (!isWorkSelected(table, i, all)) continue;
      ++expected;
      const auto it = works.find(numbers.number(kind, i));
      ASSERT_NE(it, works.end());
      const reading::Work& w = *it->second;
      EXPECT_EQ(w.start, static_cast<uint64_t>(table.start_ns[i]));
      EXPECT_EQ(w.duration, static_cast<uint64_t>(table.duration_ns[i]));
      const size_t s = indexOf(table.stream_id[i]);
      EXPECT_EQ(w.pid, trace.process.pid[indexOf(trace.stream.process_id[s])]);
      EXPECT_EQ(w.gpu, indexOf(trace.stream.device_id[s]));
      EXPECT_EQ(w.args.at("stream"), std::to_string(trace.stream.ordinal[s]));
      EXPECT_EQ(w.args.at("device"),
                std::to_string(trace.device.ordinal[indexOf(trace.stream.device_id[s])]));
    }
  });
  EXPECT_EQ(file.works.size(), expected);
}

TEST(Perfetto, deviceWorkComesBackWithItsTimesStreamsAndArguments) {
  const Trace trace = sample::makeTrace({.kernels = 2000, .names = 40});
  const reading::File file = readBack(trace);
  expectDeviceWork(trace, file);
  const auto works = byId(file);
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    const reading::Work& w = *works.at(i + 1);
    EXPECT_EQ(w.name, trace.text(trace.kernel.name[i]));
    EXPECT_EQ(w.kernel_name, trace.text(trace.kernel.name[i]));
    EXPECT_EQ(w.stage, "Kernel");
    EXPECT_EQ(w.category, 2u);
    EXPECT_EQ(w.api, 3u) << "OpenCL";
    const LaunchShapeRow shape = trace.launch_shape.row(indexOf(trace.kernel.shape_id[i]));
    EXPECT_EQ(w.args.at("grid.x"), std::to_string(shape.global_x / shape.local_x));
    EXPECT_EQ(w.args.at("workgroup.x"), std::to_string(shape.local_x));
    EXPECT_EQ(w.args.count("first_launch"),
              (trace.kernel.flags[i] & op_flags::kFirstLaunch) != 0 ? 1u : 0u);
  }
  const size_t first_copy = trace.kernel.size() + 1;
  for (size_t i = 0; i < trace.copy.size(); ++i) {
    const reading::Work& w = *works.at(first_copy + i);
    EXPECT_EQ(w.name, trace.copy.kind[i] == CopyKind::kHostToDevice ? "Copy host to device"
                                                                    : "Copy device to host");
    EXPECT_EQ(w.args.at("bytes"), std::to_string(trace.copy.bytes[i]));
  }
}

/// The only slice with this name and start.
const reading::Slice* sliceAt(const reading::File& file, std::string_view name, int64_t start_ns) {
  for (const reading::Slice& s : file.slices) {
    if (s.name == name && s.start == static_cast<uint64_t>(start_ns)) return &s;
  }
  return nullptr;
}

TEST(Perfetto, hostCallsHaveTheirCallStacks) {
  Trace trace = sample::makeTrace({.kernels = 200, .processes = 1, .names = 10});
  sample::addStacks(trace);
  const std::string main = "main main.cpp:7 /opt/app/train+4607";
  const std::string first = "train model.py:15 interpreted";
  const std::string second = "train model.py:16 interpreted";
  const std::string step = "step(int) step \"1\".cpp:41 /usr/lib/libmodel.so.2+15 20";
  const std::string launch = "launch<int>() launch.h:3 /usr/lib/libmodel.so.2+15 20";
  const std::vector<std::vector<std::string>> expected = {
      {},
      {main},
      {main, first},
      {main, second},
      {main, first, step, launch},
      {main, second, step, launch},
      {main, second, "libmodel.so.2+0x20 /usr/lib/libmodel.so.2+31 20"},
      {"[more callers]"},
      {"[more callers]", "0x123456"},
      {main, first, step, launch, step, launch},
      {main, "libmodel.so.2+0x30 /usr/lib/libmodel.so.2+48 20"}};
  const reading::File file = readBack(trace);
  std::map<std::tuple<uint64_t, uint64_t, std::string>, std::vector<std::string>> found;
  for (const reading::Slice& s : file.slices) found[{s.start, s.end, s.name}] = s.stack;
  for (size_t i = 0; i < trace.host_call.size(); ++i) {
    const HostCallRow row = trace.host_call.row(i);
    const auto start = static_cast<uint64_t>(row.start_ns);
    EXPECT_EQ((found[{start, start + static_cast<uint64_t>(row.duration_ns),
                      std::string(trace.text(row.name))}]),
              expected[static_cast<size_t>(row.call_path_id)])
        << i;
  }
  expectDeviceWork(trace, file);

  // A host wait without a recorded call, and a range.
  for (int64_t& t : trace.sync.start_ns) t += 1;
  trace.host_call.clear();
  std::fill(trace.range.call_path_id.begin(), trace.range.call_path_id.end(), CallPathId(3));
  size_t waits = 0;
  size_t ranges = 0;
  for (const reading::Slice& s : readBack(trace).slices) {
    if (s.category == "sync" && s.stack.size() > 1) ++waits;
    if (s.category == "epoch") {
      EXPECT_EQ(s.stack, expected[3]);
      ++ranges;
    }
  }
  EXPECT_GT(waits, 0u);
  EXPECT_EQ(ranges, trace.range.size());
}

TEST(Perfetto, withoutCallStacksNothingIsWrittenOfThem) {
  Trace trace = sample::makeTrace({.kernels = 200, .names = 10});
  const std::string without = encoded(trace);
  const std::string compat = encoded(trace, {.compat = true});
  sample::addStacks(trace);
  EXPECT_GT(encoded(trace).size(), without.size());
  // Viewers before v53 count each stack as an error.
  EXPECT_EQ(encoded(trace, {.compat = true}), compat);
  trace.call_path.clear();
  EXPECT_EQ(encoded(trace), without);
}

TEST(Perfetto, damagedCallStacksDoNoHarm) {
  Trace trace = sample::makeTrace({.kernels = 100, .names = 10});
  sample::addStacks(trace);
  trace.call_path.parent[0] = CallPathId(9);
  trace.call_path.frame[2] = FrameId(4000);
  trace.call_path.frame[4] = FrameId::kNone;
  trace.frame.module[0] = StringId(0xffffffff);
  trace.frame.build_id[3] = trace.strings.intern("no build-id");
  trace.host_call.call_path_id[0] = CallPathId(4000);
  const reading::File file = readBack(trace);  // fails on data that is not interned
  EXPECT_EQ(file.works.size(), readBack(trace, {.flows = false}).works.size());
  const auto longest = [](const reading::File& of) {
    size_t most = 0;
    for (const reading::Slice& s : of.slices) most = std::max(most, s.stack.size());
    return most;
  };
  EXPECT_LT(longest(file), 100U) << "a path is younger than its caller's";
  EXPECT_GT(longest(readBack(trace, {.all_frames = true})), 1000U) << "and goes round otherwise";
}

TEST(Perfetto, compatHasDeviceWorkAsSlicesOfStreamTracks) {
  const Trace trace = sample::makeTrace({.kernels = 500, .names = 40});
  const reading::File plain = readBack(trace);
  const reading::File file = readBack(trace, {.compat = true});
  EXPECT_TRUE(file.works.empty());
  EXPECT_EQ(file.slices.size(), plain.slices.size() + plain.works.size());
  std::map<uint64_t, uint64_t> begins;  // flow id to number of slices where it starts
  for (const reading::Slice& s : file.slices) {
    for (const uint64_t arrow : s.flows_out) ++begins[arrow];
  }
  std::map<uint64_t, uint64_t> last_end;
  for (const reading::Slice& s : file.slices) {
    if (s.category != "kernel") continue;
    EXPECT_EQ(s.depth, 0u);  // overlapping work is on separate tracks
    EXPECT_GE(s.start, last_end[s.track]);
    last_end[s.track] = s.end;
    const reading::Track& track = file.tracks.at(s.track);
    EXPECT_EQ(track.name.rfind("Stream #", 0), 0u) << track.name;
    EXPECT_NE(file.tracks.count(track.parent), 0u);
  }
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    const reading::Slice* s =
        sliceAt(file, trace.text(trace.kernel.name[i]), trace.kernel.start_ns[i]);
    ASSERT_NE(s, nullptr) << i;
    EXPECT_EQ(s->end - s->start, static_cast<uint64_t>(trace.kernel.duration_ns[i]));
    EXPECT_FALSE(s->flows_in.empty());  // from its launch
    for (const uint64_t arrow : s->flows_in) EXPECT_EQ(begins[arrow], 1u);
    EXPECT_EQ(s->args.count("grid"), 1u);
  }
}

TEST(Perfetto, hostCallsNestAndNameTheWorkThatTheyCaused) {
  const Trace trace = sample::makeTrace({.kernels = 2000, .names = 40});
  const reading::File file = readBack(trace);
  const DeviceWork numbers = *DeviceWork::index(trace, everything(trace));
  std::map<std::tuple<uint64_t, uint64_t, std::string>, std::vector<const reading::Slice*>> slices;
  for (const reading::Slice& s : file.slices) {
    slices[{file.tracks.at(s.track).tid, s.start, s.name}].push_back(&s);
  }
  const HostCallTable& calls = trace.host_call;
  for (size_t i = 0; i < calls.size(); ++i) {
    const uint64_t tid = trace.thread.tid[indexOf(calls.thread_id[i])];
    const auto found = slices.find(
        {tid, static_cast<uint64_t>(calls.start_ns[i]), std::string(trace.text(calls.name[i]))});
    ASSERT_NE(found, slices.end());
    ASSERT_EQ(found->second.size(), 1u);
    const reading::Slice& s = *found->second[0];
    EXPECT_EQ(s.end, static_cast<uint64_t>(calls.start_ns[i] + calls.duration_ns[i]));
    EXPECT_EQ(s.category, toString(calls.kind[i]));
    EXPECT_GE(s.depth, 1u) << "all calls lie inside the range of their thread";
    std::vector<uint64_t> expected;
    for (uint32_t w = numbers.first(calls.process_id[i], calls.correlation_id[i]); w != 0;
         w = numbers.next(w)) {
      expected.push_back(w);
    }
    EXPECT_EQ(s.submitted, expected);
    EXPECT_EQ(s.args.count("result"), calls.result[i] != 0 ? 1u : 0u);
  }
  const auto build = std::find_if(file.slices.begin(), file.slices.end(),
                                  [](const auto& s) { return s.name == "build program"; });
  ASSERT_NE(build, file.slices.end());
  EXPECT_EQ(build->depth, 2u) << "range, host call, build";
  EXPECT_EQ(build->args.at("options"), "-D NAME=\"x\\y\"");
}

/// readBack() fails where v58 would count `clock_sync_unrelatable_clock_domains`.
TEST(Perfetto, countersAndAllocatedMemoryHoldTheirValues) {
  const Trace trace = sample::makeTrace({.kernels = 50, .names = 4});
  const reading::File file = readBack(trace);
  std::map<std::string, std::vector<double>> series;
  for (const reading::Sample& s : file.samples) {
    const reading::Track& track = file.tracks.at(s.track);
    series[track.name +
           (track.parent == 0 ? "" : "@" + std::to_string(file.tracks.at(track.parent).pid))]
        .push_back(s.value);
  }
  ASSERT_EQ(series.size(), 4u);
  EXPECT_EQ(series.at("GPU 0: temperature \"core\"").size(), 20u);
  EXPECT_EQ(series.at("GPU 0: temperature \"core\"")[3], 43.5);
  EXPECT_EQ(series.at("queue depth@4000")[7], 2);
  EXPECT_EQ(series.at("Allocated device memory, context #0@4001"),
            (std::vector<double>{1024, 3072, 7168, 6144}));
  EXPECT_TRUE(readBack(trace, {.counters = false}).samples.empty());
}

TEST(Perfetto, oneLaunchMayOwnManyKernels) {
  Trace trace = sample::makeTrace({.kernels = 10, .names = 4, .extras = false});
  for (int i = 0; i < 300; ++i) {
    KernelRow extra = trace.kernel.row(0);
    extra.start_ns += 1'000'000 + i * 10;
    extra.duration_ns = 5;
    trace.kernel.push(extra);
  }
  const reading::File file = readBack(trace);
  expectDeviceWork(trace, file);
  size_t most = 0;
  for (const reading::Slice& s : file.slices) most = std::max(most, s.submitted.size());
  EXPECT_EQ(most, 301u);
}

TEST(Perfetto, rowsOutOfOrderGiveTheSameEvents) {
  const Trace trace = sample::makeTrace({.kernels = 1000, .names = 12});
  Trace shuffled = trace;
  sample::Random random(11);
  const auto shuffle = [&](auto& table) {
    for (size_t i = table.size(); i > 1; --i) {
      const size_t j = random.below(i);
      const auto a = table.row(i - 1);
      table.set(i - 1, table.row(j));
      table.set(j, a);
    }
  };
  shuffle(shuffled.kernel);
  shuffle(shuffled.host_call);
  shuffle(shuffled.copy);
  shuffle(shuffled.counter);
  shuffle(shuffled.range);
  const reading::File file = readBack(shuffled);
  expectDeviceWork(shuffled, file);
  const reading::File ordered = readBack(trace);
  const auto key = [](const reading::Slice& s) {
    return std::tuple(s.track, s.start, s.end, s.name, s.depth);
  };
  std::vector<std::tuple<uint64_t, uint64_t, uint64_t, std::string, size_t>> a, b;
  for (const auto& s : file.slices) a.push_back(key(s));
  for (const auto& s : ordered.slices) b.push_back(key(s));
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  EXPECT_EQ(a, b);
}

TEST(Perfetto, overlappingCallsOfOneThreadGoToFurtherLanes) {
  Trace trace = sample::makeTrace({.kernels = 0, .names = 1, .extras = false});
  const StringId name = trace.strings.intern("call");
  const auto call = [&](int64_t start, int64_t end) {
    HostCallRow row;
    row.start_ns = start;
    row.duration_ns = end - start;
    row.name = name;
    row.process_id = ProcessId(1);
    row.thread_id = ThreadId(1);
    trace.host_call.push(row);
  };
  call(120, 130);  // inner first, as an agent writes them
  call(100, 200);
  call(150, 250);  // partially overlaps the previous call
  call(160, 170);
  call(200, 300);
  call(200, 200);
  const reading::File file = readBack(trace);
  ASSERT_EQ(file.slices.size(), 6u);
  std::map<std::pair<uint64_t, uint64_t>, std::pair<std::string, size_t>> found;
  for (const reading::Slice& s : file.slices) {
    found[{s.start, s.end}] = {file.tracks.at(s.track).name, s.depth};
  }
  using Where = std::pair<std::string, size_t>;
  EXPECT_EQ((found[{100, 200}]), (Where{"main", 0}));
  EXPECT_EQ((found[{120, 130}]), (Where{"main", 1}));
  EXPECT_EQ((found[{160, 170}]), (Where{"main", 1}));
  EXPECT_EQ((found[{150, 250}]), (Where{"main (overlapping)", 0}));
  EXPECT_EQ((found[{200, 300}]), (Where{"main", 0}));
  EXPECT_EQ((found[{200, 200}]), (Where{"main", 1}));
}

TEST(Perfetto, beginAndEndRowsBecomeRanges) {
  Trace trace = sample::makeTrace({.kernels = 0, .names = 1, .extras = false});
  const auto row = [&](RangeKind kind, const char* name, int64_t time) {
    RangeRow r;
    r.kind = kind;
    r.name = trace.strings.intern(name);
    r.start_ns = time;
    r.process_id = ProcessId(1);
    r.thread_id = ThreadId(1);
    trace.range.push(r);
  };
  row(RangeKind::kBegin, "outer", 10);
  row(RangeKind::kBegin, "inner", 20);
  row(RangeKind::kBegin, "open", 25);
  row(RangeKind::kEnd, "inner", 30);
  row(RangeKind::kEnd, "stranger", 35);
  row(RangeKind::kEnd, "outer", 40);
  const reading::File file = readBack(trace);
  std::map<std::string, std::pair<uint64_t, uint64_t>> found;
  for (const reading::Slice& s : file.slices) {
    found[s.name] = {s.start, s.end};
    EXPECT_EQ(s.args.count("unfinished"), s.name == "open" ? 1u : 0u);
    EXPECT_EQ(s.args.count("stray_end"), s.name == "stranger" ? 1u : 0u);
  }
  using Span = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(found["outer"], (Span{10, 40}));
  EXPECT_EQ(found["inner"], (Span{20, 30}));
  EXPECT_EQ(found["open"], (Span{25, 40}));
  EXPECT_EQ(found["stranger"], (Span{35, 35}));
}

TEST(Perfetto, aStretchAndSomeStreamsAreTakenAlone) {
  const Trace trace = sample::makeTrace({.kernels = 1000, .names = 12});
  PerfettoOptions options;
  options.from_ns = trace.kernel.start_ns[200];
  options.to_ns = trace.kernel.start_ns[600];
  options.streams = {StreamId(2), StreamId(5)};
  const reading::File file = readBack(trace, options);
  size_t expected = 0;
  forEachWorkTable(trace, [&](const auto& table, WorkKind) {
    for (size_t i = 0; i < table.size(); ++i) {
      const int64_t end = table.start_ns[i] + table.duration_ns[i];
      expected += (table.flags[i] & op_flags::kHostSide) == 0 &&
                  (table.stream_id[i] == StreamId(2) || table.stream_id[i] == StreamId(5)) &&
                  table.start_ns[i] < *options.to_ns &&
                  (end > *options.from_ns || table.start_ns[i] == *options.from_ns);
    }
  });
  EXPECT_GT(expected, 50u);
  EXPECT_EQ(file.works.size(), expected);
  for (const reading::Sample& s : file.samples) {
    EXPECT_GE(s.time, static_cast<uint64_t>(*options.from_ns));
    EXPECT_LT(s.time, static_cast<uint64_t>(*options.to_ns));
  }
  options.to_ns = options.from_ns;
  std::string bytes;
  Output out = Output::toString(&bytes);
  EXPECT_FALSE(writePerfetto(trace, out, options));
}

TEST(Perfetto, fullArgumentsSayWhatDiffersPerEvent) {
  Trace trace = sample::makeTrace({.kernels = 100, .names = 4});
  trace.attribute.push({static_cast<uint32_t>(TableId::kKernel), 42, trace.strings.intern("batch"),
                        trace.strings.intern("\"7\"")});
  trace.attribute.push({static_cast<uint32_t>(TableId::kRange), 0, trace.strings.intern("step"),
                        trace.strings.intern("12")});
  const reading::File file = readBack(trace, {.full_args = true});
  const auto works = byId(file);
  EXPECT_EQ(works.at(43)->args.at("batch"), "\"7\"");
  EXPECT_EQ(works.at(43)->args.at("correlation_id"),
            std::to_string(trace.kernel.correlation_id[42]));
  EXPECT_EQ(works.at(43)->args.at("queued_before_ns"),
            std::to_string(trace.kernel.queued_before_ns[42]));
  EXPECT_TRUE(std::any_of(file.slices.begin(), file.slices.end(), [](const auto& s) {
    return s.args.count("step") != 0 && s.args.at("step") == "12";
  }));
  EXPECT_EQ(byId(readBack(trace)).at(43)->args.count("batch"), 0u);
}

TEST(Perfetto, absurdValuesNeitherCrashNorBreakTheFile) {
  Trace trace = sample::makeTrace({.kernels = 200, .names = 9});
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  sample::Random random(5);
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    switch (random.below(6)) {
      case 0:
        trace.kernel.start_ns[i] = kMin;
        break;
      case 1:
        trace.kernel.start_ns[i] = kMax;
        trace.kernel.duration_ns[i] = kMax;
        break;
      case 2:
        trace.kernel.duration_ns[i] = -5;
        break;
      case 3:
        trace.kernel.stream_id[i] = StreamId(0xffffffff);
        trace.kernel.process_id[i] = ProcessId(0xfffffff0);
        break;
      case 4:
        trace.kernel.name[i] = StringId(0xffffffff);
        trace.kernel.shape_id[i] = ShapeId(0xffffffff);
        trace.kernel.correlation_id[i] = random.next();
        break;
      default:
        trace.host_call.thread_id[i] = ThreadId(0xffffffff);
        trace.host_call.kind[i] = CallKind(255);
        trace.host_call.start_ns[i] = i % 2 ? kMin : kMax;
    }
  }
  trace.stream.device_id[0] = DeviceId(77);
  trace.stream.context_id[1] = ContextId(77);
  trace.stream.process_id[2] = ProcessId(77);
  trace.thread.process_id[0] = ProcessId(77);
  trace.counter.track_id[0] = CounterTrackId(77);
  trace.counter.value[1] = std::numeric_limits<double>::quiet_NaN();
  trace.launch_shape.local_x[0] = 0;
  trace.copy.kind[0] = CopyKind(200);
  trace.memory_event.bytes[0] = std::numeric_limits<uint64_t>::max();
  trace.clock_domain.push({ClockDomainId(1), ClockKind::kHostRealtime, StringId(999), 0, 0});
  trace.clock_snapshot.push({ClockDomainId(9), 1, 2, 3});
  const reading::File file = readBack(trace, {.full_args = true});
  EXPECT_EQ(file.works.size(),
            trace.kernel.size() + trace.copy.size() + trace.fill.size() +
                static_cast<size_t>(std::count_if(
                    trace.sync.flags.begin(), trace.sync.flags.end(),
                    [](uint32_t flags) { return (flags & op_flags::kHostSide) == 0; })));
}

TEST(Perfetto, namesOfAnyLengthSurvive) {
  Trace trace = sample::makeTrace({.kernels = 10, .names = 2, .extras = false});
  const std::string name(5 << 20, 'n');
  trace.kernel.name[3] = trace.strings.intern(name);
  trace.process.command_line[0] = trace.strings.intern(name);
  const reading::File file = readBack(trace);
  EXPECT_EQ(byId(file).at(4)->name.size(), name.size());
}

TEST(Perfetto, aLaunchAndItsKernelTakeAtMost105BytesAnd15PercentOfTheJson) {
  const Trace trace =
      sample::makeTrace({.kernels = 300'000, .hostile_names = false, .extras = false});
  const std::string bytes = encoded(trace);
  std::string json;
  Output out = Output::toString(&json);
  ASSERT_TRUE(writeChromeJson(trace, out));
  ASSERT_TRUE(out.finish());
  const double per_kernel = static_cast<double>(bytes.size()) / 300'000;
  RecordProperty("bytes_per_kernel", std::to_string(per_kernel));
  EXPECT_LE(per_kernel, 105);
  EXPECT_LE(static_cast<double>(bytes.size()), 0.15 * static_cast<double>(json.size()));
}

TEST(Perfetto, protocReadsItAsWell) {
  if (std::system("protoc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no protoc";
  const auto directory = std::filesystem::temp_directory_path();
  const std::string path = (directory / ("protoc." + std::to_string(getpid()))).string();
  const Trace trace = sample::makeTrace({.kernels = 500, .names = 12});
  ASSERT_TRUE(exportPerfetto(trace, path));
  FILE* pipe = popen(("protoc --decode_raw < " + path + " | grep -c '^1 {'").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  uint64_t packets = 0;
  EXPECT_EQ(std::fscanf(pipe, "%lu", &packets), 1);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(packets, reading::File(encoded(trace)).packets);
  std::filesystem::remove(path);
}

TEST(Perfetto, traceProcessorAgrees) {
  const char* processor = std::getenv("TRACE_PROCESSOR");
  if (processor == nullptr) GTEST_SKIP() << "TRACE_PROCESSOR names no binary";
  const auto directory = std::filesystem::temp_directory_path();
  const std::string path = (directory / ("processor." + std::to_string(getpid()))).string();
  const Trace trace = sample::makeTrace({.kernels = 500, .names = 12});
  ASSERT_TRUE(exportPerfetto(trace, path));
  const auto answer = [&](const std::string& question) {
    const std::string command =
        std::string(processor) + " -Q \"" + question + "\" " + path + " 2>/dev/null | tail -1";
    FILE* pipe = popen(command.c_str(), "r");
    size_t number = ~size_t{0};
    if (pipe == nullptr) return number;
    EXPECT_EQ(std::fscanf(pipe, "%zu", &number), 1) << question;
    EXPECT_EQ(pclose(pipe), 0) << question;
    return number;
  };
  EXPECT_EQ(answer("select count(*) from gpu_slice"), reading::File(encoded(trace)).works.size());
  // script/acceptance checks more, for more traces.
  EXPECT_EQ(answer("select count(*) from stats where severity in ('error', 'data_loss') "
                   "and value != 0"),
            0u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tracesmith
