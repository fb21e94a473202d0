// SPDX-License-Identifier: Apache-2.0
// Tests of waits and flows in a Perfetto file.
#include "tracesmith/export/slices/event_links.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tracesmith/export/perfetto/perfetto_test_util.hpp"
#include "tracesmith/export/perfetto/sample_trace_test_util.hpp"
#include "tracesmith/export/slices/device_work.hpp"

namespace tracesmith {
namespace {

TEST(PerfettoLinks, dependenciesBecomeWaitsBetweenWork) {
  const Trace trace = sample::makeTrace({.kernels = 400, .names = 4});
  const DeviceWork numbers = *DeviceWork::index(trace, everything(trace));
  std::map<uint64_t, std::vector<uint64_t>> expected;
  for (size_t i = 0; i < trace.flow.size(); ++i) {
    const ProcessId process = trace.flow.process_id[i];
    expected[numbers.first(process, trace.flow.to_correlation_id[i])].push_back(
        numbers.first(process, trace.flow.from_correlation_id[i]));
  }
  ASSERT_GT(expected.size(), 40u);
  const reading::File file = readBack(trace);
  for (const reading::Work& w : file.works) EXPECT_EQ(w.waits, expected[w.id]);
  for (const reading::Work& w : readBack(trace, {.flows = false}).works) {
    EXPECT_TRUE(w.waits.empty());
  }
}

TEST(PerfettoLinks, flowsBetweenHostRangesBecomeArrows) {
  Trace trace = sample::makeTrace({.kernels = 20, .names = 4});
  RangeRow range;
  range.process_id = ProcessId(1);
  range.thread_id = ThreadId(1);
  range.name = trace.strings.intern("forward");
  range.start_ns = 2'000'000'000;
  range.duration_ns = 10;
  range.correlation_id = 700'001;
  trace.range.push(range);
  range.name = trace.strings.intern("backward");
  range.start_ns = 2'000'000'100;
  range.correlation_id = 700'002;
  trace.range.push(range);
  trace.flow.push({ProcessId(1), 700'001, 700'002, FlowKind::kFwdBwd, ProcessId::kNone, 0});
  trace.flow.push({ProcessId(1), 1, 700'002, FlowKind::kWait, ProcessId::kNone, 0});
  trace.flow.push({ProcessId(1), 999'999'999, 1, FlowKind::kWait, ProcessId::kNone, 0});
  const reading::File file = readBack(trace);
  const auto named = [&](const char* name) {
    return *std::find_if(file.slices.begin(), file.slices.end(),
                         [&](const auto& s) { return s.name == name; });
  };
  ASSERT_EQ(named("forward").flows_out.size(), 1u);
  EXPECT_EQ(named("forward").flows_out, named("backward").flows_in);
  EXPECT_EQ(named("backward").waited_for.size(), 1u);
  EXPECT_EQ(file.attributes.at("tracesmith.unresolved_flows"), "1");
}

TEST(PerfettoLinks, arrowsThatAnotherToolDrewBelongToTheSlicesAroundThem) {
  Trace trace = sample::makeTrace({.kernels = 20, .names = 4});
  const auto range = [&](const char* name, int64_t start_ns, int64_t duration_ns) {
    trace.range.push({.start_ns = start_ns,
                      .duration_ns = duration_ns,
                      .name = trace.strings.intern(name),
                      .process_id = ProcessId(1),
                      .thread_id = ThreadId(1)});
  };
  range("module", 2'000'000'000, 100);
  range("forward", 2'000'000'010, 10);
  range("before", 2'000'000'200, 50);
  range("backward", 2'000'000'250, 10);
  const auto arrow = [&](const char* name, uint64_t id, FlowEnd end, int64_t time_ns) {
    trace.flow_event.push({.time_ns = time_ns,
                           .end = end,
                           .flow_id = id,
                           .name = trace.strings.intern(name),
                           .process_id = ProcessId(1),
                           .thread_id = ThreadId(1)});
  };
  arrow("fwdbwd", 7, FlowEnd::kEnd, 2'000'000'250);
  arrow("fwdbwd", 7, FlowEnd::kBegin, 2'000'000'010);
  arrow("other", 7, FlowEnd::kBegin, 2'000'000'040);
  arrow("other", 7, FlowEnd::kStep, 2'000'000'210);
  arrow("other", 7, FlowEnd::kEnd, 2'000'000'251);
  arrow("lost", 1, FlowEnd::kBegin, 2'000'000'011);  // a start without an end
  arrow("lost", 2, FlowEnd::kEnd, 2'000'000'011);    // an end without a start
  const HostCallTable& calls = trace.host_call;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls.kind[i] != CallKind::kLaunch) continue;
    // A launch as Kineto draws it, with its end on a thread that stands for the stream.
    trace.flow_event.push({.time_ns = calls.start_ns[i],
                           .end = FlowEnd::kBegin,
                           .flow_id = i,
                           .name = trace.strings.intern("ac2g"),
                           .process_id = calls.process_id[i],
                           .thread_id = calls.thread_id[i]});
    trace.flow_event.push({.time_ns = calls.start_ns[i] + 5,
                           .end = FlowEnd::kEnd,
                           .flow_id = i,
                           .name = trace.strings.intern("ac2g")});
  }
  const reading::File file = readBack(trace);
  const auto named = [&](const char* name) {
    return *std::find_if(file.slices.begin(), file.slices.end(),
                         [&](const auto& s) { return s.name == name; });
  };
  ASSERT_EQ(named("forward").flows_out.size(), 1u);
  ASSERT_EQ(named("module").flows_out.size(), 1u);
  ASSERT_EQ(named("before").flows_out.size(), 1u);
  EXPECT_EQ(named("before").flows_in, named("module").flows_out);
  EXPECT_EQ(named("backward").flows_in,
            (std::vector{named("forward").flows_out[0], named("before").flows_out[0]}));
  EXPECT_EQ(file.attributes.at("tracesmith.unresolved_flows"), "2");
  for (const auto& slice : readBack(trace, {.flows = false}).slices) {
    EXPECT_TRUE(slice.flows_out.empty() && slice.flows_in.empty());
  }
}

}  // namespace
}  // namespace tracesmith
