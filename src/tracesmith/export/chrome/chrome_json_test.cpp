// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/chrome/chrome_json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/perfetto/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using nlohmann::json;

std::string written(const Trace& trace, const ChromeJsonOptions& options = {}) {
  std::string text;
  Output out = Output::toString(&text);
  EXPECT_TRUE(writeChromeJson(trace, out, options));
  EXPECT_TRUE(out.finish());
  return text;
}

/// Converts decimal microseconds from the file to ns, without using a double.
int64_t nsOf(const std::string& text) {
  const size_t dot = text.find('.');
  EXPECT_EQ(text.size() - dot, 4u) << "three decimals: " << text;
  std::string digits = text.substr(0, dot) + text.substr(dot + 1);
  return std::stoll(digits);
}

/// Parses, keeping each "ts" and "dur" as its text.
struct ExactNumbers : nlohmann::json_sax<json> {
  std::vector<std::string> ts, dur;
  std::string last_key;
  bool key(string_t& name) override {
    last_key = name;
    return true;
  }
  bool number_float(number_float_t, const string_t& text) override {
    if (last_key == "ts") ts.push_back(text);
    if (last_key == "dur") dur.push_back(text);
    return true;
  }
  bool number_integer(number_integer_t) override { return last_key != "ts" && last_key != "dur"; }
  bool number_unsigned(number_unsigned_t) override { return last_key != "ts" && last_key != "dur"; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }
};

std::string asParsed(std::string_view text) {
  std::string quoted = "\"";
  appendJsonEscaped(quoted, text);
  return json::parse(quoted + "\"").get<std::string>();
}

TEST(ChromeJson, kernelsComeBackWithNamesPlacesAndArguments) {
  const Trace trace = sample::makeTrace({.kernels = 1000, .names = 20});
  const json document = json::parse(written(trace));
  EXPECT_EQ(document["displayTimeUnit"], "ns");
  std::map<std::pair<uint64_t, uint64_t>, std::string> threads;
  std::map<uint64_t, std::string> processes;
  std::map<std::pair<uint64_t, uint64_t>, json> kernels;  // (pid of host, correlation)
  for (const json& e : document["traceEvents"]) {
    if (e["ph"] == "M" && e["name"] == "thread_name") {
      threads[{e["pid"], e["tid"]}] = e["args"]["name"];
    }
    if (e["ph"] == "M" && e["name"] == "process_name") processes[e["pid"]] = e["args"]["name"];
    if (e["ph"] == "X" && e["cat"] == "kernel") {
      kernels[{e["args"]["context"], e["args"]["correlation"]}] = e;
    }
  }
  ASSERT_EQ(kernels.size(), trace.kernel.size());
  EXPECT_EQ(processes.at(4000), "/opt/app/train");
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    const KernelRow row = trace.kernel.row(i);
    const size_t s = indexOf(row.stream_id);
    const json& e =
        kernels.at({static_cast<uint64_t>(trace.stream.context_id[s]), row.correlation_id});
    EXPECT_EQ(e["name"], asParsed(trace.text(row.name)));
    EXPECT_EQ(e["args"]["stream"], static_cast<uint32_t>(row.stream_id));
    EXPECT_EQ(threads.at({e["pid"], e["tid"]}).rfind("Stream #", 0), 0u);
    EXPECT_EQ(processes.at(e["pid"]).rfind("GPU ", 0), 0u);
    const LaunchShapeRow shape = trace.launch_shape.row(indexOf(row.shape_id));
    EXPECT_EQ(e["args"]["block"], (json{shape.local_x, 1, 1}));
    EXPECT_EQ(e["args"]["grid"], (json{shape.global_x / shape.local_x, 1, 1}));
  }
}

TEST(ChromeJson, timesAreExactToTheNanosecond) {
  Trace trace = sample::makeTrace({.kernels = 500, .names = 20});
  // Times at which a double of microseconds would lose the nanoseconds.
  for (int64_t& t : trace.kernel.start_ns) t += 4'611'686'018'427'387'904;
  std::multiset<std::pair<int64_t, int64_t>> expected, found;
  const auto add = [&](const auto& table) {
    for (size_t i = 0; i < table.size(); ++i) {
      expected.emplace(table.start_ns[i], table.duration_ns[i]);
    }
  };
  add(trace.kernel);
  ExactNumbers exact;
  ASSERT_TRUE(json::sax_parse(written(trace, {.counters = false, .flows = false}), &exact));
  std::multiset<int64_t> starts;
  for (const std::string& text : exact.ts) starts.insert(nsOf(text));
  std::multiset<int64_t> lengths;
  for (const std::string& text : exact.dur) lengths.insert(nsOf(text));
  for (const auto& [start, duration] : expected) {
    const auto at = starts.find(start);
    ASSERT_NE(at, starts.end()) << start;
    starts.erase(at);
    const auto length = lengths.find(duration);
    ASSERT_NE(length, lengths.end());
    lengths.erase(length);
  }
}

TEST(ChromeJson, everyArrowHasBothEndsInsideSlices) {
  const Trace trace = sample::makeTrace({.kernels = 800, .names = 20});
  const json document = json::parse(written(trace));
  std::map<std::pair<uint64_t, uint64_t>, std::vector<std::pair<double, double>>> slices;
  for (const json& e : document["traceEvents"]) {
    if (e["ph"] == "X") {
      const double begin = e["ts"];
      slices[{e["pid"], e["tid"]}].emplace_back(begin, begin + e["dur"].get<double>());
    }
  }
  std::map<std::pair<std::string, uint64_t>, std::pair<int, int>> ends;
  for (const json& e : document["traceEvents"]) {
    if (e["ph"] != "s" && e["ph"] != "f") continue;
    auto& [starts, finishes] = ends[{e["cat"], e["id"]}];
    ++(e["ph"] == "s" ? starts : finishes);
    const double ts = e["ts"];
    const auto& row = slices[{e["pid"], e["tid"]}];
    EXPECT_TRUE(std::any_of(row.begin(), row.end(), [&](const auto& s) {
      return s.first <= ts && ts <= s.second;
    })) << e.dump();
  }
  size_t launches = 0;
  size_t waits = 0;
  for (const auto& [key, counts] : ends) {
    EXPECT_EQ(counts, (std::pair{1, 1})) << key.first << " " << key.second;
    ++(key.first == "ac2g" ? launches : waits);
  }
  EXPECT_EQ(waits, trace.flow.size());
  EXPECT_GE(launches, trace.kernel.size());
  const json without = json::parse(written(trace, {.flows = false}));
  for (const json& e : without["traceEvents"]) {
    EXPECT_TRUE(e["ph"] != "s" && e["ph"] != "f");
  }
}

TEST(ChromeJson, slicesOfOneThreadNestOrFollowEachOther) {
  Trace trace = sample::makeTrace({.kernels = 300, .names = 20});
  for (size_t i = 0; i < trace.kernel.size(); ++i)
    trace.kernel.duration_ns[i] += 60'000;  // overlap
  for (size_t i = 0; i < trace.host_call.size(); i += 7) trace.host_call.duration_ns[i] += 5'000;
  const json document = json::parse(written(trace));
  std::map<std::pair<uint64_t, uint64_t>, std::vector<std::pair<int64_t, int64_t>>> rows;
  size_t slices = 0;
  for (const json& e : document["traceEvents"]) {
    if (e["ph"] != "X") continue;
    ++slices;
    const auto begin = std::llround(e["ts"].get<double>() * 1000);
    rows[{e["pid"], e["tid"]}].emplace_back(begin,
                                            begin + std::llround(e["dur"].get<double>() * 1000));
  }
  EXPECT_GT(slices, trace.kernel.size() + trace.host_call.size());
  for (auto& [place, row] : rows) {
    std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<int64_t> open;
    for (const auto& [begin, end] : row) {
      while (!open.empty() && open.back() <= begin) open.pop_back();
      EXPECT_TRUE(open.empty() || open.back() >= end) << "two slices cross";
      open.push_back(end);
    }
  }
}

TEST(ChromeJson, hostileNamesAreValidEverywhere) {
  for (const std::string& name : sample::hostileNames()) {
    Trace trace = sample::makeTrace({.kernels = 20, .names = 3});
    const StringId id = trace.strings.intern(name);
    trace.kernel.name[0] = trace.host_call.name[0] = trace.range.name[0] = id;
    trace.range.category[0] = trace.process.executable[0] = trace.process.command_line[0] = id;
    trace.thread.name[0] = trace.device.name[0] = trace.stream.name[0] = id;
    trace.counter_track.name[0] = trace.loss.source[0] = trace.program_build.options[0] = id;
    trace.attribute.push({static_cast<uint32_t>(TableId::kKernel), 0, id, id});
    trace.setMetadata(name, name);
    EXPECT_TRUE(json::accept(written(trace, {.full_args = true})));
  }
}

TEST(ChromeJson, countersAndLossesAreThere) {
  Trace trace = sample::makeTrace({.kernels = 50, .names = 4});
  trace.counter.value[2] = std::numeric_limits<double>::infinity();
  const json document = json::parse(written(trace));
  std::map<std::string, std::vector<double>> series;
  for (const json& e : document["traceEvents"]) {
    if (e["ph"] == "C") series[e["name"]].push_back(e["args"].begin().value());
  }
  EXPECT_EQ(series.at("temperature \"core\"").size(), 19u);
  EXPECT_EQ(document["otherData"]["counter_values_that_json_can_not_hold"], 1);
  EXPECT_EQ(series.at("Allocated device memory, context #0").size(), 8u);
  EXPECT_EQ(document["otherData"]["losses"][0]["dropped"], 7);
  EXPECT_EQ(document["otherData"]["metadata"]["application"], "sample \"quoted\"");
}

/// Frame names of a stack as a viewer shows it, outermost first.
std::vector<std::string> stackOf(const json& document, const json& event) {
  std::vector<std::string> names;
  if (!event.contains("sf")) return names;
  const json& frames = document["stackFrames"];
  std::string id = event["sf"].dump();
  while (!id.empty()) {
    const json& frame = frames.at(id);
    names.insert(names.begin(), frame["name"].get<std::string>());
    id = frame.value("parent", "");
  }
  return names;
}

TEST(ChromeJson, eventsHaveTheirCallStacks) {
  Trace trace = sample::makeTrace({.kernels = 100, .names = 4});
  sample::addStacks(trace);
  const std::string main = "main (main.cpp:7)";
  const std::string step = "step(int) (step \"1\".cpp:41)";
  const std::string launch = "launch<int>() (launch.h:3)";
  const std::vector<std::vector<std::string>> expected = {
      {},
      {main},
      {main, "train (model.py:15)"},
      {main, "train (model.py:16)"},
      {main, "train (model.py:15)", step, launch},
      {main, "train (model.py:16)", step, launch},
      {main, "train (model.py:16)", "libmodel.so.2+0x20"},
      {"[more callers]"},
      {"[more callers]", "0x123456"},
      {main, "train (model.py:15)", step, launch, step, launch},
      {main, "libmodel.so.2+0x30"}};
  const json document = json::parse(written(trace));
  EXPECT_EQ(document["stackFrames"]["4"]["category"], "libmodel.so.2");
  std::map<std::tuple<std::string, uint64_t>, size_t> found;  // by name and path
  size_t calls = 0;
  for (const json& e : document["traceEvents"]) {
    if (e["ph"] != "X") continue;
    const uint64_t path = e.value("sf", 0);
    ASSERT_LT(path, expected.size());
    EXPECT_EQ(stackOf(document, e), expected[path]);
    const std::string category = e["cat"];
    calls += category.rfind("host_call", 0) == 0 ? 1 : 0;
    ++found[{category.rfind("host_call", 0) == 0 ? "call" : category, path}];
  }
  EXPECT_EQ(calls, trace.host_call.size());
  const auto expectCounts = [&](const char* what, const auto& column) {
    std::map<uint64_t, size_t> counts;
    for (const CallPathId path : column) ++counts[static_cast<uint64_t>(path)];
    for (const auto& [path, count] : counts) {
      EXPECT_EQ((found[{what, path}]), count) << what << " " << path;
    }
  };
  expectCounts("call", trace.host_call.call_path_id);
  expectCounts("kernel", trace.kernel.call_path_id);
  expectCounts("gpu_memcpy", trace.copy.call_path_id);
  expectCounts("gpu_memset", trace.fill.call_path_id);
}

TEST(ChromeJson, onlyFramesOfStacksThatAreUsedAreWritten) {
  Trace trace = sample::makeTrace({.kernels = 20, .names = 4});
  EXPECT_FALSE(json::parse(written(trace)).contains("stackFrames"));
  sample::addStacks(trace);
  std::fill(trace.host_call.call_path_id.begin(), trace.host_call.call_path_id.end(), CallPathId{});
  std::fill(trace.copy.call_path_id.begin(), trace.copy.call_path_id.end(), CallPathId{});
  std::fill(trace.fill.call_path_id.begin(), trace.fill.call_path_id.end(), CallPathId{});
  std::fill(trace.sync.call_path_id.begin(), trace.sync.call_path_id.end(), CallPathId{});
  std::fill(trace.kernel.call_path_id.begin(), trace.kernel.call_path_id.end(), CallPathId{});
  EXPECT_EQ(written(trace).find("\"sf\""), std::string::npos);
  EXPECT_FALSE(json::parse(written(trace)).contains("stackFrames"));
  trace.kernel.call_path_id[3] = CallPathId(8);
  const json document = json::parse(written(trace));
  std::vector<std::string> ids;
  for (const auto& [id, frame] : document["stackFrames"].items()) ids.push_back(id);
  EXPECT_EQ(ids, (std::vector<std::string>{"7", "8"}));
}

TEST(ChromeJson, stacksThatLeadIntoThemselvesEnd) {
  Trace trace = sample::makeTrace({.kernels = 20, .names = 4});
  sample::addStacks(trace);
  trace.call_path.parent[0] = CallPathId(9);
  trace.call_path.parent[6] = CallPathId(7);
  trace.call_path.parent[1] = CallPathId(4000);
  trace.call_path.frame[2] = FrameId(4000);
  trace.kernel.call_path_id[0] = CallPathId(4000);
  const json document = json::parse(written(trace));
  for (const json& e : document["traceEvents"]) {
    EXPECT_NE(e.value("sf", 0), 4000);
    EXPECT_EQ(stackOf(document, e).empty(), !e.contains("sf"));
  }
}

TEST(ChromeJson, anEmptyTraceAndAbsurdValuesAreValid) {
  EXPECT_TRUE(json::accept(written(Trace{})));
  Trace trace = sample::makeTrace({.kernels = 60, .names = 4});
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    trace.kernel.start_ns[i] =
        i % 2 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    trace.kernel.duration_ns[i] = i % 3 ? std::numeric_limits<int64_t>::max() : -1;
    trace.kernel.stream_id[i] = StreamId(0xffffffff - static_cast<uint32_t>(i));
    trace.kernel.name[i] = StringId(0xffffffff);
    trace.kernel.shape_id[i] = ShapeId(0xffffffff);
    trace.host_call.thread_id[i] = ThreadId(12345678);
    trace.host_call.kind[i] = CallKind(200);
  }
  trace.stream.device_id[0] = DeviceId(99);
  EXPECT_TRUE(json::accept(written(trace)));
}

}  // namespace
}  // namespace tracesmith
