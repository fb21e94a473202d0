// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/trace_event.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <tuple>

#include "tracesmith/model/event_appender.hpp"

namespace tracesmith {
namespace {

std::string randomName(std::mt19937_64& random) {
  static const char* const kNames[] = {"", "gemm", "relu", ".type", "..", "µ-kernel\n\"x\"", "a b"};
  return kNames[random() % std::size(kNames)];
}

uint64_t randomNumber(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return 0;
    case 1:
      return random() % 4;
    default:
      return random() >> (random() % 64);
  }
}
uint32_t randomNumber32(std::mt19937_64& random) {
  return static_cast<uint32_t>(randomNumber(random));
}

CallStack randomStack(std::mt19937_64& random) {
  CallStack stack;
  stack.thread_id = randomNumber(random);
  for (size_t i = random() % 4; i > 0; --i) {
    stack.frames.push_back(
        {random() % 3, randomName(random), randomName(random), randomNumber32(random) % 3});
  }
  return stack;
}

TraceEvent randomEvent(std::mt19937_64& random) {
  TraceEvent event(static_cast<EventType>(random() % kEventTypeCount), randomNumber(random));
  event.duration = randomNumber(random);
  event.device_id = randomNumber32(random) % 5;
  event.stream_id = randomNumber32(random);
  event.correlation_id = random() % 20;  // so that unrelated events share one
  event.name = randomName(random);
  event.thread_id = randomNumber32(random);
  for (size_t i = random() % 3; i > 0; --i) event.metadata[randomName(random)] = randomName(random);
  if (random() % 2 == 0) {
    event.flow_info = {randomNumber(random), static_cast<FlowType>(random() % 4),
                       random() % 2 == 0};
  }
  if (random() % 2 == 0) {
    auto n = [&] { return randomNumber32(random); };
    event.kernel_params = {n(), n(), n(), n(), n(), n(), n(), n()};
  }
  if (random() % 2 == 0) {
    event.memory_params = {randomNumber(random), randomNumber(random), randomNumber(random)};
  }
  if (random() % 2 == 0) event.call_stack = randomStack(random);
  for (size_t i = random() % 4; i > 0; --i)
    event.custom_data.push_back(static_cast<uint8_t>(random()));
  return event;
}

/// All fields as text, for comparing and for failure messages.
std::string describe(const TraceEvent& e) {
  std::string s = std::to_string(e.timestamp) + " " + eventTypeToString(e.type) + " +" +
                  std::to_string(e.duration) + " d" + std::to_string(e.device_id) + " s" +
                  std::to_string(e.stream_id) + " c" + std::to_string(e.correlation_id) + " t" +
                  std::to_string(e.thread_id) + " '" + e.name + "'";
  for (const auto& [k, v] : e.metadata) s += " {" + k + "=" + v + "}";
  const FlowInfo& f = e.flow_info;
  s += " f" + std::to_string(f.id) + "/" + std::to_string(static_cast<int>(f.type)) +
       (f.is_start ? ">" : "<");
  if (e.kernel_params) {
    const KernelParams& p = *e.kernel_params;
    for (uint32_t n : {p.grid_x, p.grid_y, p.grid_z, p.block_x, p.block_y, p.block_z,
                       p.shared_mem_bytes, p.registers_per_thread}) {
      s += " k" + std::to_string(n);
    }
  }
  if (e.memory_params) {
    for (uint64_t n : {e.memory_params->src_address, e.memory_params->dst_address,
                       e.memory_params->size_bytes}) {
      s += " m" + std::to_string(n);
    }
  }
  if (e.call_stack) {
    s += " stack of " + std::to_string(e.call_stack->thread_id);
    for (const StackFrame& frame : e.call_stack->frames) {
      s += " [" + std::to_string(frame.address) + " " + frame.function_name + " " +
           frame.file_name + ":" + std::to_string(frame.line_number) + "]";
    }
  }
  for (uint8_t b : e.custom_data) s += " " + std::to_string(b);
  return s;
}

std::vector<std::string> sortedTexts(const std::vector<TraceEvent>& events) {
  std::vector<std::string> texts;
  for (const TraceEvent& event : events) texts.push_back(describe(event));
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(TraceEvent, EveryFieldOfEveryTypeSurvivesAsRows) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<TraceEvent> events;
    for (size_t i = random() % 60; i > 0; --i) events.push_back(randomEvent(random));
    Trace trace;
    appendEvents(trace, events);
    const std::vector<TraceEvent> again = toEvents(trace);
    ASSERT_EQ(sortedTexts(events), sortedTexts(again)) << "seed " << seed;
    ASSERT_TRUE(std::is_sorted(again.begin(), again.end(), [](const auto& a, const auto& b) {
      return a.timestamp < b.timestamp;
    }));
  }
}

TEST(TraceEvent, AppendingInPartsGivesTheSameEvents) {
  std::mt19937_64 random(5);
  std::vector<TraceEvent> events;
  for (size_t i = 0; i < 100; ++i) events.push_back(randomEvent(random));
  Trace trace;
  appendEvents(trace, std::span(events).first(40));
  appendEvents(trace, std::span(events).subspan(40));
  EXPECT_EQ(sortedTexts(events), sortedTexts(toEvents(trace)));
  EXPECT_LE(trace.device.size(), 5u) << "devices of the first part are used again";
}

TEST(TraceEvent, NumbersOfDevicesAndStreamsAreTheCallersOwn) {
  TraceEvent event(EventType::KernelComplete, 10);
  event.device_id = 7;
  event.stream_id = 4242;
  Trace trace;
  appendEvents(trace, {&event, 1});
  ASSERT_EQ(trace.device.size(), 1u);
  EXPECT_EQ(trace.device.ordinal[0], 7u);
  ASSERT_EQ(trace.stream.size(), 1u);
  EXPECT_EQ(trace.stream.ordinal[0], 4242u);
  EXPECT_EQ(trace.deviceOf(trace.kernel.stream_id[0]), idAt<DeviceId>(0));
}

TEST(TraceEvent, EventsGoToTheTablesThatAnalysesRead) {
  std::vector<TraceEvent> events;
  for (int type = 0; type < kEventTypeCount; ++type) {
    events.emplace_back(static_cast<EventType>(type), 100 + static_cast<uint64_t>(type));
  }
  Trace trace;
  appendEvents(trace, events);
  EXPECT_EQ(trace.host_call.size(), 1u);
  EXPECT_EQ(trace.host_call.kind[0], CallKind::kLaunch);
  EXPECT_EQ(trace.kernel.size(), 1u);
  EXPECT_EQ(trace.copy.kind, (std::vector{CopyKind::kHostToDevice, CopyKind::kDeviceToHost,
                                          CopyKind::kDeviceToDevice}));
  EXPECT_EQ(trace.fill.size(), 1u);
  EXPECT_EQ(trace.sync.kind, (std::vector{SyncKind::kStreamWait, SyncKind::kDeviceWait,
                                          SyncKind::kEventRecord, SyncKind::kEventWait}));
  EXPECT_EQ(trace.memory_event.kind, (std::vector{MemoryKind::kAlloc, MemoryKind::kFree}));
  EXPECT_EQ(trace.range.size(), events.size() - 12);
}

/// One captured launch with its kernel, as the collector writes them.
Trace capturedLaunch() {
  Trace trace;
  trace.device.push({.id = idAt<DeviceId>(0), .ordinal = 0});
  trace.stream.push({.id = idAt<StreamId>(0), .device_id = idAt<DeviceId>(0), .ordinal = 1});
  trace.process.push({.id = idAt<ProcessId>(0), .pid = 77});
  trace.thread.push({.id = idAt<ThreadId>(0), .process_id = idAt<ProcessId>(0), .tid = 78});
  trace.launch_shape.push({.dimensions = 1,
                           .global_x = 1000,
                           .global_y = 1,
                           .global_z = 1,
                           .local_x = 256,
                           .local_y = 1,
                           .local_z = 1});
  trace.host_call.push({.start_ns = 100,
                        .duration_ns = 5,
                        .name = trace.strings.intern("clEnqueueNDRangeKernel"),
                        .process_id = idAt<ProcessId>(0),
                        .thread_id = idAt<ThreadId>(0),
                        .stream_id = idAt<StreamId>(0),
                        .correlation_id = 9,
                        .kind = CallKind::kLaunch});
  trace.kernel.push({.start_ns = 200,
                     .duration_ns = 50,
                     .name = trace.strings.intern("relu"),
                     .process_id = idAt<ProcessId>(0),
                     .thread_id = idAt<ThreadId>(0),
                     .stream_id = idAt<StreamId>(0),
                     .correlation_id = 9,
                     .shape_id = idAt<ShapeId>(0)});
  return trace;
}

TEST(ToEvents, AKernelGivesALaunchAndACompletionThatShareACorrelationId) {
  const std::vector<TraceEvent> events = toEvents(capturedLaunch());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, EventType::KernelLaunch);
  EXPECT_EQ(events[0].name, "relu");
  EXPECT_EQ(events[0].duration, 5u);
  EXPECT_EQ(events[0].metadata.at("api"), "clEnqueueNDRangeKernel");
  EXPECT_EQ(events[1].type, EventType::KernelComplete);
  EXPECT_EQ(events[1].name, "relu");
  EXPECT_EQ(events[1].duration, 50u);
  for (const TraceEvent& event : events) {
    EXPECT_EQ(event.correlation_id, 9u);
    EXPECT_EQ(event.stream_id, 1u);
    EXPECT_EQ(event.thread_id, 78u);
    ASSERT_TRUE(event.kernel_params);
    EXPECT_EQ(event.kernel_params->grid_x, 4u) << "1000 work-items in groups of 256";
    EXPECT_EQ(event.kernel_params->block_x, 256u);
  }
}

TEST(ToEvents, AFailedLaunchHasNoCompletionAndSaysItsReturnCode) {
  Trace trace = capturedLaunch();
  trace.kernel.clear();
  trace.host_call.result[0] = -54;
  const std::vector<TraceEvent> events = toEvents(trace);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "clEnqueueNDRangeKernel");
  EXPECT_EQ(events[0].metadata.at("result"), "-54");
}

TEST(ToEvents, TheSameCorrelationIdInTwoProcessesIsNotMixedUp) {
  Trace trace = capturedLaunch();
  trace.process.push({.id = idAt<ProcessId>(1), .pid = 88});
  KernelRow other = trace.kernel.row(0);
  other.process_id = idAt<ProcessId>(1);
  other.name = trace.strings.intern("other");
  other.start_ns = 150;
  trace.kernel.push(other);
  const std::vector<TraceEvent> events = toEvents(trace);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].name, "relu");
  EXPECT_EQ(events[1].metadata.at("process_id"), "88");
  EXPECT_EQ(events[2].metadata.at("process_id"), "77");
}

TEST(ToEvents, StreamsOfOneNumberInTwoProcessesGetNumbersOfTheirOwn) {
  Trace trace = capturedLaunch();
  trace.stream.push({.id = idAt<StreamId>(1), .device_id = idAt<DeviceId>(0), .ordinal = 1});
  const std::vector<uint32_t> numbers = streamNumbers(trace);
  EXPECT_NE(numbers[0], numbers[1]);
}

TEST(ToEvents, ACircleOfCallPathsEnds) {
  Trace trace = capturedLaunch();
  trace.call_path.push({.parent = idAt<CallPathId>(1), .frame = FrameId::kNone});
  trace.call_path.push({.parent = idAt<CallPathId>(0), .frame = FrameId::kNone});
  trace.kernel.call_path_id[0] = idAt<CallPathId>(1);
  EXPECT_LE(toEvents(trace)[1].call_stack->depth(), 2u);
}

TEST(ToEvents, WhatWasInlinedIsAFrameOfItsOwn) {
  Trace trace = capturedLaunch();
  const auto text = [&](const char* t) { return trace.strings.intern(t); };
  trace.frame.push({.address = 77, .module = text("/bin/app"), .module_offset = 7});
  trace.call_path.push({.parent = CallPathId::kNone, .frame = idAt<FrameId>(0)});
  trace.symbol.push({idAt<FrameId>(0), 0, text("inner"), text("a.c"), 3});
  trace.symbol.push({idAt<FrameId>(0), 1, text("outer"), text("b.c"), 9});
  trace.kernel.call_path_id[0] = idAt<CallPathId>(0);
  const TraceEvent event = toEvents(trace)[1];
  ASSERT_TRUE(event.call_stack);
  EXPECT_EQ(event.call_stack->frames,
            (std::vector<StackFrame>{{77, "inner", "a.c", 3, "/bin/app"},
                                     {77, "outer", "b.c", 9, "/bin/app"}}));
}

TEST(ToEvents, IdsThatPointNowhereAreNone) {
  Trace trace = capturedLaunch();
  trace.kernel.stream_id[0] = static_cast<StreamId>(~0u);
  trace.kernel.shape_id[0] = static_cast<ShapeId>(~0u);
  trace.kernel.thread_id[0] = static_cast<ThreadId>(~0u);
  trace.kernel.call_path_id[0] = static_cast<CallPathId>(~0u);
  trace.kernel.name[0] = static_cast<StringId>(~0u);
  const TraceEvent event = toEvents(trace)[1];
  EXPECT_EQ(event.stream_id, 0u);
  EXPECT_EQ(event.name, "");
  EXPECT_FALSE(event.kernel_params);
  EXPECT_FALSE(event.call_stack);
}

TEST(EventTypeNames, AreReadBackInAnyCase) {
  for (int i = 0; i < kEventTypeCount; ++i) {
    const auto type = static_cast<EventType>(i);
    std::string name = eventTypeToString(type);
    EXPECT_EQ(eventTypeFromString(name), type);
    std::transform(name.begin(), name.end(), name.begin(), ::tolower);
    EXPECT_EQ(eventTypeFromString(name), type);
  }
  EXPECT_EQ(eventTypeFromString("kernel"), std::nullopt);
  EXPECT_STREQ(eventTypeToString(static_cast<EventType>(200)), "Unknown");
}

TEST(EventAppender, DevicesAndMetadataAreReadBack) {
  DeviceInfo info{.device_id = 3,
                  .name = "GPU",
                  .vendor = "V",
                  .compute_major = 9,
                  .compute_minor = 1,
                  .total_memory = 1ull << 40,
                  .memory_clock_rate = 5,
                  .memory_bus_width = 6,
                  .multiprocessor_count = 7,
                  .max_threads_per_mp = 8,
                  .clock_rate = 9,
                  .warp_size = 32};
  TraceMetadata metadata;
  metadata.application_name = "app";
  metadata.command_line = "app --x";
  metadata.hostname = "host";
  metadata.start_time = 5;
  metadata.end_time = 6;
  metadata.process_id = 7;
  metadata.devices = {info};
  Trace trace;
  EventAppender appender(trace);
  appender.append(TraceEvent(EventType::KernelComplete, 1));  // device 0, not described
  appender.setMetadata(metadata);
  const TraceMetadata read = traceMetadata(trace);
  EXPECT_EQ(read.application_name, "app");
  EXPECT_EQ(read.command_line, "app --x");
  EXPECT_EQ(read.hostname, "host");
  EXPECT_EQ(read.start_time, 5u);
  EXPECT_EQ(read.end_time, 6u);
  EXPECT_EQ(read.process_id, 7u);
  ASSERT_EQ(read.devices.size(), 2u);
  EXPECT_EQ(read.devices[1], info);
}

TEST(EventAppender, CountersOfOneNameShareATrack) {
  Trace trace;
  EventAppender appender(trace);
  CounterEvent event{
      .timestamp = 1, .device_id = 2, .counter_name = "power", .value = 1.5, .unit = "W"};
  appender.append(event);
  event.timestamp = 2;
  event.value = -0.25;
  appender.append(event);
  EXPECT_EQ(trace.counter_track.size(), 1u);
  const std::vector<CounterEvent> read = toCounterEvents(trace);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].counter_name, "power");
  EXPECT_EQ(read[1].unit, "W");
  EXPECT_EQ(read[1].device_id, 2u);
  EXPECT_EQ(read[1].value, -0.25);
}

TEST(TraceRecord, SortsAndFilters) {
  TraceRecord record;
  for (uint64_t time : {3, 1, 2}) {
    TraceEvent event(time == 1 ? EventType::Marker : EventType::KernelLaunch, time);
    event.stream_id = static_cast<uint32_t>(time);
    event.device_id = time == 3 ? 1 : 0;
    record.addEvent(event);
  }
  record.sortByTimestamp();
  EXPECT_EQ(record.events()[0].timestamp, 1u);
  EXPECT_EQ(record.filterByType(EventType::KernelLaunch).size(), 2u);
  EXPECT_EQ(record.filterByStream(2).size(), 1u);
  EXPECT_EQ(record.filterByDevice(1).size(), 1u);
  record.clear();
  EXPECT_TRUE(record.empty());
}

}  // namespace
}  // namespace tracesmith
