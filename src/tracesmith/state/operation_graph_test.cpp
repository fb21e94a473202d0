// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/state/operation_graph.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/state/gpu_state_machine.hpp"
#include "tracesmith/state/instruction_stream.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TraceEvent event(EventType type, uint64_t start, uint64_t duration, uint64_t correlation,
                 uint32_t stream, const char* name) {
  TraceEvent e(type, start);
  e.duration = duration;
  e.correlation_id = correlation;
  e.stream_id = stream;
  e.name = name;
  e.thread_id = 7;
  return e;
}

/// a, b on stream 1; the host waits for it; c on stream 2 is launched afterwards.
std::vector<TraceEvent> program() {
  return {event(EventType::KernelLaunch, 0, 10, 1, 1, "a"),
          event(EventType::KernelLaunch, 10, 10, 2, 1, "b"),
          event(EventType::KernelComplete, 100, 50, 1, 1, "a"),
          event(EventType::KernelComplete, 160, 40, 2, 1, "b"),
          event(EventType::StreamSync, 30, 180, 3, 1, "sync"),
          event(EventType::KernelLaunch, 220, 10, 4, 2, "c"),
          event(EventType::KernelComplete, 300, 25, 4, 2, "c")};
}

TEST(InstructionStream, SaysWhatHadToWaitForWhatAndWhy) {
  InstructionStreamBuilder builder;
  builder.addEvents(program());
  builder.analyze();
  EXPECT_THAT(builder.getExecutionOrder(), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(builder.hasDependency(1, 2));
  EXPECT_TRUE(builder.hasDependency(2, 3)) << "the host waited for it";
  EXPECT_TRUE(builder.hasDependency(1, 4)) << "by way of the wait";
  EXPECT_FALSE(builder.hasDependency(4, 1));
  EXPECT_FALSE(builder.hasDependency(1, 99));
  EXPECT_THAT(builder.getStreamOperations(1), ElementsAre(1, 2));
  EXPECT_THAT(builder.getCallChain(4), ElementsAre(1, 2, 4));
  const auto statistics = builder.getStatistics();
  EXPECT_EQ(statistics.kernel_launches, 3U);
  EXPECT_EQ(statistics.synchronizations, 1U);
  EXPECT_EQ(statistics.total_dependencies, 3U);
  for (const OperationDependency& d : builder.getDependencies()) EXPECT_TRUE(d.exact);
  builder.clear();
  builder.analyze();
  EXPECT_EQ(builder.getStatistics().total_operations, 0U);
}

TEST(InstructionStream, WhatOverlapsInAStreamIsInferred) {
  InstructionStreamBuilder builder;
  builder.addEvents(
      std::vector<TraceEvent>{event(EventType::KernelComplete, 0, 100, 1, 1, "long"),
                              event(EventType::KernelComplete, 50, 10, 2, 1, "short"),
                              event(EventType::KernelComplete, 200, 10, 3, 1, "after")});
  builder.analyze();
  std::map<std::pair<uint64_t, uint64_t>, bool> edges;
  for (const OperationDependency& d : builder.getDependencies()) {
    edges[{d.from_correlation_id, d.to_correlation_id}] = d.exact;
  }
  const std::map<std::pair<uint64_t, uint64_t>, bool> expected = {
      {{1, 2}, false}, {{2, 3}, true}, {{1, 3}, true}};
  EXPECT_EQ(edges, expected);
}

TEST(OperationGraph, LargeIdsOfOtherProcessesAreOtherIds) {
  test::SampleTrace s;
  const ProcessId first = s.process(1, "a");
  const ProcessId second = s.process(2, "b");
  const DeviceId device = s.device("GPU");
  const uint64_t id = uint64_t{5} ^ (uint64_t{3} << 48);  // once the same key as 5 of the second
  s.hostCall("launch", CallKind::kLaunch, s.thread(first, 1), StreamId::kNone, 7, 1, id);
  s.kernel("of b", s.stream(device, second), 100, 10, 5);
  EXPECT_EQ(OperationGraph::of(s.trace).operations.at(0).launched_ns, INT64_MIN);
}

TEST(InstructionStream, OrderIsOneThatKeepsAllDependencies) {
  const Trace trace = std::move(test::sampleProgram().trace);
  const OperationGraph graph = OperationGraph::of(trace);
  const std::vector<uint32_t> order = graph.executionOrder();
  std::vector<size_t> place(graph.operations.size());
  ASSERT_EQ(order.size(), place.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (const Dependency& d : graph.dependencies) EXPECT_LT(place[d.from], place[d.to]);
}

TEST(OperationGraph, AnEventStandsForWhatItsStreamHadWhenItWasRecorded) {
  test::SampleTrace s;
  const ThreadId thread = s.thread(s.process(1, "p"), 2);
  const DeviceId device = s.device("GPU");
  const StreamId first = s.stream(device, s.trace.thread.process_id[0]);
  const StreamId second = s.stream(device, s.trace.thread.process_id[0]);
  const auto launch = [&](std::string_view name, StreamId stream, int64_t called, int64_t begins,
                          uint64_t id) {
    s.hostCall("launch", CallKind::kLaunch, thread, StreamId::kNone, called, 1, id);
    s.kernel(name, stream, begins, 100, id);
  };
  launch("a", first, 10, 1000, 1);
  launch("b", first, 20, 1100, 2);
  s.hostCall("cudaEventRecord", CallKind::kSync, thread, StreamId::kNone, 30, 1, 3);
  launch("c", first, 40, 1200, 4);  // not part of the event
  launch("x", second, 45, 1000, 5);
  s.hostCall("cudaStreamWaitEvent", CallKind::kSync, thread, StreamId::kNone, 50, 3, 6);
  launch("y", second, 60, 1250, 7);
  // CUPTI reports when the wait was requested: while b still runs.
  s.trace.sync.push({.start_ns = 51,
                     .duration_ns = 1,
                     .kind = SyncKind::kBarrier,
                     .process_id = s.trace.thread.process_id[0],
                     .stream_id = second,
                     .correlation_id = 6});
  s.hostCall("cudaEventSynchronize", CallKind::kSync, thread, StreamId::kNone, 70, 1150, 8);
  s.trace.sync.push({.start_ns = 71,
                     .duration_ns = 1140,
                     .kind = SyncKind::kEventWait,
                     .process_id = s.trace.thread.process_id[0],
                     .correlation_id = 8,
                     .flags = op_flags::kHostSide});
  for (const uint64_t wait : {6, 8}) {
    s.trace.flow.push({.process_id = s.trace.thread.process_id[0],
                       .from_correlation_id = 3,
                       .to_correlation_id = wait,
                       .kind = FlowKind::kWait,
                       .from_stream_id = first});
  }
  const OperationGraph graph = OperationGraph::of(s.trace);
  EXPECT_EQ(graph.operations.size(), 6U) << "five kernels, and the wait of the host";
  std::vector<std::string> found;
  for (const Dependency& d : graph.dependencies) {
    if (d.type == DependencyType::Sequential) continue;
    found.push_back(std::to_string(graph.operations[d.from].correlation_id) + " " +
                    std::to_string(graph.operations[d.to].correlation_id) + " " +
                    std::string(toString(d.why)));
  }
  EXPECT_THAT(found, testing::UnorderedElementsAre("2 7 waited for its event",
                                                   "2 8 the host waited for it"));
}

TEST(InstructionStream, GraphvizAcceptsThePicture) {
  InstructionStreamBuilder builder;
  std::vector<TraceEvent> events = program();
  events[2].name = events[0].name = "evil \"name\" \\ with {braces}\n";
  builder.addEvents(events);
  builder.analyze();
  const std::string dot = builder.exportToDot();
  EXPECT_THAT(dot, HasSubstr("host barrier"));
  EXPECT_THAT(builder.exportToDot({.collapse = false, .most_nodes = 1}), HasSubstr("of 4"));
  if (std::system("dot -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "no Graphviz here";
  FILE* const graphviz = popen("dot -Tsvg >/dev/null", "w");
  ASSERT_NE(graphviz, nullptr);
  std::fwrite(dot.data(), 1, dot.size(), graphviz);
  EXPECT_EQ(pclose(graphviz), 0);
}

TEST(GPUStateMachine, FollowsEachOperation) {
  GPUStateMachine machine;
  machine.processEvents(program());
  const GPUStreamState* stream = machine.getStreamState(1);
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->stateAt(0), GPUState::Queued);
  EXPECT_EQ(stream->stateAt(99), GPUState::Queued);
  EXPECT_EQ(stream->stateAt(100), GPUState::Running);
  EXPECT_EQ(stream->stateAt(155), GPUState::Queued) << "b waits for its dispatch";
  EXPECT_EQ(stream->stateAt(160), GPUState::Running);
  EXPECT_EQ(stream->stateAt(200), GPUState::Complete);
  EXPECT_EQ(stream->currentState(), GPUState::Complete);
  const TimeInStates times = stream->timeInStates();
  EXPECT_EQ(times[static_cast<size_t>(GPUState::Running)], 90U);
  EXPECT_EQ(times[static_cast<size_t>(GPUState::Queued)], 110U);
  EXPECT_DOUBLE_EQ(stream->utilization(), 90.0 / 200);
  const auto& ops = machine.operations();
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_EQ(ops[1].launched, 10U);
  EXPECT_EQ(ops[1].released, 150U) << "when a had ended";
  EXPECT_EQ(ops[1].waited_for, 1U);
  EXPECT_EQ(machine.waitedFor().at(1), 140U);
  EXPECT_EQ(machine.deviceStateAt(0, 310), GPUState::Running);
  EXPECT_EQ(machine.deviceStateAt(0, 1000), GPUState::Complete);
  EXPECT_EQ(machine.getAllStreams().size(), 2U);
  EXPECT_EQ(machine.getStatistics().total_events, 7U);
  EXPECT_EQ(machine.exportHistory().size(), 2U);
  machine.reset();
  EXPECT_EQ(machine.getStreamState(1), nullptr);
}

TEST(GPUStateMachine, KernelsAloneAreEnough) {
  GPUStateMachine machine;
  machine.processEvents(
      std::vector<TraceEvent>{event(EventType::KernelComplete, 1000, 1000, 1, 0, "a"),
                              event(EventType::KernelComplete, 2000, 1000, 2, 0, "b")});
  const GPUStreamState* stream = machine.getStreamState(0);
  ASSERT_NE(stream, nullptr);
  EXPECT_DOUBLE_EQ(stream->utilization(), 1.0) << "back to back";
  EXPECT_EQ(machine.operations()[0].launched, 0U) << "not in the trace";
  EXPECT_DOUBLE_EQ(machine.getStatistics().overall_utilization, 1.0);
}

TEST(GPUStateMachine, WaitingIsForWorkOfAnotherStream) {
  Trace trace;
  trace.device.push({.id = idAt<DeviceId>(0)});
  for (size_t i = 0; i < 2; ++i) {
    trace.stream.push({.id = idAt<StreamId>(i),
                       .device_id = idAt<DeviceId>(0),
                       .ordinal = static_cast<uint32_t>(i)});
  }
  const StringId slow = trace.strings.intern("slow");
  trace.host_call.push({.start_ns = 0, .correlation_id = 1});
  trace.host_call.push({.start_ns = 10, .correlation_id = 2});
  trace.kernel.push({.start_ns = 50,
                     .duration_ns = 100,
                     .name = slow,
                     .stream_id = idAt<StreamId>(0),
                     .correlation_id = 1});
  trace.kernel.push({.start_ns = 160,
                     .duration_ns = 10,
                     .name = slow,
                     .stream_id = idAt<StreamId>(1),
                     .correlation_id = 2});
  trace.flow.push({.from_correlation_id = 1, .to_correlation_id = 2, .kind = FlowKind::kWait});
  GPUStateMachine machine;
  machine.processTrace(trace);
  const GPUStreamState* stream = machine.getStreamState(1);
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->stateAt(100), GPUState::Waiting);
  EXPECT_EQ(stream->stateAt(155), GPUState::Queued);
  EXPECT_EQ(stream->stateAt(165), GPUState::Running);
  EXPECT_EQ(stream->transitions().front().reason, "waits for slow");
}

}  // namespace
}  // namespace tracesmith
