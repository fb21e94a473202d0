// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/sbt/joined_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

using testing::HasSubstr;

/// Unix time 1,000 s is at 5 µs in the document.
constexpr const char* kDocument = R"({"baseTimeNanoseconds": 999999995000, "traceEvents": [
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":42,"tid":7,"ts":5.0,"dur":20.0,"args":{"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":42,"tid":7,"ts":6.0,"dur":1.0,"args":{"correlation":3}}
]})";

struct Joined {
  explicit Joined(const std::string& document) {
    std::ofstream(folder.path("t.json")) << document;
    TraceEvent span(EventType::RangeStart, 1'000);
    span.name = "step";
    span.duration = 50'000;
    span.thread_id = 7;
    TraceEvent kernel(EventType::KernelComplete, 2'000);
    kernel.name = "gemm";
    kernel.duration = 500;
    kernel.correlation_id = 3;
    const std::vector<TraceEvent> events = {span, kernel};
    const std::vector<CounterEvent> counters = {
        {.timestamp = 3'000, .counter_name = "loss", .value = 0.5}};
    status = joinEvents(folder.path("t.json"),
                        {.events = events,
                         .counters = counters,
                         .pid = 42,
                         .unix_minus_monotonic_ns = 1'000'000'000'000 - 1'000},
                        folder.path("t.sbt"));
    if (!status) return;
    auto reader = TraceReader::open(folder.path("t.sbt"));
    trace = reader->read().value();
  }
  test::TempFolder folder;
  Status status;
  Trace trace;
};

TEST(JoinedEvents, AreInTheTimeOfTheOtherOnesOnTheSameThreads) {
  const Joined joined(kDocument);
  ASSERT_TRUE(joined.status) << joined.status.error().toString();
  const Trace& trace = joined.trace;
  ASSERT_EQ(trace.range.size(), 2u);
  EXPECT_EQ(trace.text(trace.range.name[0]), "aten::mm");
  EXPECT_EQ(trace.text(trace.range.name[1]), "step");
  EXPECT_EQ(trace.range.start_ns[1], 5'000);
  EXPECT_EQ(trace.range.duration_ns[1], 50'000);
  EXPECT_EQ(trace.range.thread_id[1], trace.range.thread_id[0]);
  EXPECT_EQ(trace.range.process_id[1], trace.range.process_id[0]);
  ASSERT_EQ(trace.kernel.size(), 1u);
  EXPECT_EQ(trace.kernel.start_ns[0], 6'000);
  // Id 3 belongs to another call.
  EXPECT_NE(trace.kernel.correlation_id[0], trace.host_call.correlation_id[0]);
  ASSERT_EQ(trace.counter.size(), 1u);
  EXPECT_EQ(trace.counter.time_ns[0], 7'000);
  EXPECT_EQ(joined.folder.files(), 2u);
}

TEST(JoinedEvents, NeedATimeThatIsKnown) {
  const Joined joined(R"({"traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]})");
  ASSERT_FALSE(joined.status);
  EXPECT_EQ(joined.status.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(joined.status.error().toString(), HasSubstr("Unix time"));
  EXPECT_FALSE(std::filesystem::exists(joined.folder.path("t.sbt")));
}

}  // namespace
}  // namespace tracesmith
