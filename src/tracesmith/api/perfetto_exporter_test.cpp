// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/api/perfetto_exporter.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tracesmith/export/perfetto/perfetto_reading_test_util.hpp"

namespace tracesmith {
namespace {

using nlohmann::json;

std::vector<TraceEvent> someEvents() {
  std::vector<TraceEvent> events;
  TraceEvent launch(EventType::KernelLaunch, 1000);
  launch.duration = 50;
  launch.name = "saxpy\"<int>\"";
  launch.correlation_id = 7;
  launch.thread_id = 12;
  TraceEvent kernel(EventType::KernelComplete, 1100);
  kernel.duration = 501;
  kernel.name = launch.name;
  kernel.correlation_id = 7;
  kernel.device_id = 1;
  kernel.stream_id = 3;
  kernel.kernel_params = KernelParams{4, 1, 1, 256, 1, 1, 0, 0};
  kernel.metadata["batch"] = "8";
  TraceEvent copy(EventType::MemcpyH2D, 900);
  copy.duration = 80;
  copy.memory_params = MemoryParams{1, 2, 4096};
  copy.name = "cudaMemcpy";
  TraceEvent forward(EventType::Custom, 2000);
  forward.duration = 10;
  forward.name = "forward";
  forward.thread_id = 12;
  forward.flow_info = {5, FlowType::FwdBwd, true};
  TraceEvent backward = forward;
  backward.name = "backward";
  backward.timestamp = 3000;
  backward.flow_info.is_start = false;
  return {launch, kernel, copy, forward, backward};
}

std::vector<CounterEvent> someCounters() {
  CounterEvent counter;
  counter.timestamp = 1500;
  counter.device_id = 1;
  counter.counter_name = "power";
  counter.unit = "W";
  counter.value = 250.5;
  return {counter};
}

/// A call made by Python's ctypes, as StackCapture and traces represent it.
TraceEvent calledFromPython() {
  TraceEvent event(EventType::KernelLaunch, 1000);
  event.duration = 50;
  event.thread_id = 12;
  event.name = "clEnqueueNDRangeKernel";
  event.call_stack = CallStack{{{0x9990, "launch", "app.cpp", 3, "/app/libapp.so"},
                                {0x7f10, "ffi_call_unix64", "", 0, "/usr/lib/libffi.so.8"},
                                {0x7e10, "PyCFuncPtr_call", "", 0, "/usr/lib/_ctypes.so"},
                                {0x4110, "cfunction_call", "", 0, "/usr/bin/python3.11"},
                                {0, "forward", "model.py", 7, "Python"},
                                {0x4010, "Py_BytesMain", "", 0, "/usr/bin/python3.11"}},
                               12};
  return event;
}

std::string contentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const json* find(const json& document, const char* phase, const std::string& name) {
  for (const json& e : document["traceEvents"]) {
    if (e["ph"] == phase && e["name"] == name) return &e;
  }
  return nullptr;
}

TEST(PerfettoExporter, eventsBecomeValidJsonWithTheirTimesAndArguments) {
  PerfettoExporter exporter;
  exporter.setMetadata({"my app", "worker", {{"run", "12"}}});
  const json document = json::parse(exporter.exportToString(someEvents(), someCounters()));
  size_t named = 0;
  for (const json& e : document["traceEvents"]) {
    if (e["ph"] != "X" || e["name"] != "saxpy\"<int>\"") continue;
    ++named;
    if (e["cat"] != "kernel") continue;
    EXPECT_EQ(e["ts"], 1.1);
    EXPECT_EQ(e["dur"], 0.501);
    EXPECT_EQ(e["args"]["batch"], "8");
    EXPECT_EQ(e["args"]["grid"], (json{4, 1, 1}));
  }
  EXPECT_EQ(named, 2u) << "launch and kernel";
  EXPECT_NE(find(document, "s", "ac2g"), nullptr);
  EXPECT_NE(find(document, "s", "flow"), nullptr);
  EXPECT_NE(find(document, "f", "flow"), nullptr);
  ASSERT_NE(find(document, "C", "power"), nullptr);
  EXPECT_EQ((*find(document, "C", "power"))["args"]["value"], 250.5);
  EXPECT_EQ(document["otherData"]["metadata"]["run"], "12");
  EXPECT_EQ((*find(document, "M", "process_name"))["args"]["name"], "my app");
  EXPECT_EQ(document.dump().find("\".flow\""), std::string::npos) << "our own keys stay inside";
}

TEST(PerfettoExporter, whatIsSwitchedOffIsLeftOutAndTheRestStaysValid) {
  PerfettoExporter exporter;
  exporter.setEnableGPUTracks(false);
  const json without_gpu = json::parse(exporter.exportToString(someEvents(), someCounters()));
  for (const json& e : without_gpu["traceEvents"]) {
    EXPECT_TRUE(!e.contains("cat") || (e["cat"] != "kernel" && e["cat"] != "copy"));
    EXPECT_NE(e["name"], "ac2g");
  }
  EXPECT_NE(find(without_gpu, "X", "forward"), nullptr);
  exporter.setEnableFlowEvents(false);
  exporter.setEnableCounterTracks(false);
  const json less = json::parse(exporter.exportToString(someEvents(), someCounters()));
  EXPECT_EQ(find(less, "s", "flow"), nullptr);
  EXPECT_EQ(find(less, "C", "power"), nullptr);
}

TEST(PerfettoExporter, protobufIsWrittenWithoutAnSdk) {
  EXPECT_FALSE(PerfettoProtoExporter::isSDKAvailable());
  PerfettoProtoExporter exporter;
  EXPECT_EQ(exporter.getFormat(), PerfettoProtoExporter::Format::PROTOBUF);
  const std::string path =
      (std::filesystem::temp_directory_path() / ("exporter." + std::to_string(getpid()))).string();
  ASSERT_TRUE(exporter.exportToFile(someEvents(), someCounters(), path)) << exporter.lastError();
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  const std::string text = bytes.str();
  const reading::File file(text);
  EXPECT_TRUE(file.problems.empty()) << file.problems[0];
  ASSERT_EQ(file.works.size(), 2u);
  EXPECT_EQ(file.works[0].duration, 501u);
  EXPECT_EQ(file.works[0].args.at("batch"), "8");
  const auto forward = std::find_if(file.slices.begin(), file.slices.end(),
                                    [](const auto& s) { return s.name == "forward"; });
  ASSERT_NE(forward, file.slices.end());
  EXPECT_EQ(forward->flows_out.size(), 1u);
  EXPECT_EQ(file.samples.size(), 1u);
  std::filesystem::remove(path);
}

TEST(PerfettoExporter, aFailureSaysWhy) {
  PerfettoExporter exporter;
  EXPECT_FALSE(exporter.exportToFile(someEvents(), "/no/such/directory/trace.json"));
  EXPECT_NE(exporter.lastError().find("/no/such/directory/trace.json"), std::string::npos);
  EXPECT_TRUE(exporter.exportToFile({}, "/dev/null"));
  EXPECT_TRUE(exporter.lastError().empty());
}

/// Tests the rule of analysis/timing/runtime_frames.hpp.
TEST(PerfettoExporter, stacksAreWithoutTheInterpretersFramesUnlessAllAreWanted) {
  const std::string path = testing::TempDir() + "events_with_stacks.pftrace";
  for (const bool all : {false, true}) {
    PerfettoExporter chrome;
    PerfettoProtoExporter perfetto;
    chrome.setAllFrames(all);
    perfetto.setAllFrames(all);
    ASSERT_TRUE(perfetto.exportToFile({calledFromPython()}, path)) << perfetto.lastError();
    const std::string text = chrome.exportToString({calledFromPython()});
    for (const std::string& written : {text, contentOf(path)}) {
      for (const char* const own : {"launch", "forward"}) {
        EXPECT_NE(written.find(own), std::string::npos) << own;
      }
      for (const char* const runtime :
           {"ffi_call_unix64", "PyCFuncPtr_call", "cfunction_call", "Py_BytesMain"}) {
        EXPECT_EQ(written.find(runtime) != std::string::npos, all) << runtime;
      }
    }
    EXPECT_EQ(json::parse(text)["stackFrames"].size(), all ? 6U : 2U);
  }
  std::filesystem::remove(path);
}

/// Events of a trace have their modules, so the rule also applies to lists of events.
TEST(PerfettoExporter, eventsOfATraceKeepTheirModules) {
  Trace trace;
  appendEvents(trace, std::vector{calledFromPython()});
  const std::vector<TraceEvent> events = toEvents(trace);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0], calledFromPython());
}

}  // namespace
}  // namespace tracesmith
