// SPDX-License-Identifier: Apache-2.0
// Handwritten timelines: Ascend's follow the events in the tests of Ascend's own tools, and
// mcTracer's follow reports by its users.
#include "tracesmith/import/chrome/chrome_dialects.hpp"

#include <gmock/gmock.h>

#include "tracesmith/import/common/importer_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::importDamaged;
using test::ImportedText;
using test::importText;

constexpr std::string_view kAscend = R"json([
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"Python"}},
{"ph":"M","name":"process_name","pid":4139906593,"tid":0,"args":{"name":"Ascend Hardware"}},
{"ph":"M","name":"process_labels","pid":4139906593,"tid":0,"args":{"labels":"NPU 3"}},
{"ph":"M","name":"process_name","pid":5,"tid":0,"args":{"name":"CANN"}},
{"ph":"X","name":"aten::mm","pid":1,"tid":20,"ts":"1699529623106700.125","dur":60.5,"args":{"Sequence number":-1}},
{"ph":"X","name":"Node@launch","pid":5,"tid":20,"ts":"1699529623106710","dur":8.2,
 "args":{"Thread Id":20,"Mode":"launch","level":"node","id":"MatMul","item_id":"MatMul","connection_id":3013}},
{"ph":"X","name":"MatMul","pid":4139906593,"tid":16,"ts":"1699529623106750.250","dur":160.26,
 "args":{"Model Id":4294967295,"Task Type":"AI_CORE","Stream Id":16,"Task Id":13489,"Batch Id":0,
 "Subtask Id":4294967295,"connection_id":3013}},
{"ph":"X","name":"SDMA","pid":4139906593,"tid":11,"ts":"1699529623106920.380","dur":0.74,
 "args":{"Task Type":"SDMA_SQE","Physic Stream Id":11,"Task Id":4043,"Batch Id":0,"Subtask Id":0,"connection_id":19}},
{"ph":"X","name":"EVENT_WAIT","pid":4139906593,"tid":11,"ts":"1699529623106930.380","dur":4,
 "args":{"Task Type":"EVENT_WAIT_SQE","Physic Stream Id":11,"Task Id":4044,"Batch Id":0,"Subtask Id":0,"connection_id":20}},
{"ph":"X","name":"hcom_allReduce__101_0_1","pid":7,"tid":3,"ts":"1699529623106940","dur":12,"args":{"connection_id":30}},
{"ph":"s","name":"HostToDevice","cat":"HostToDevice","id":"12940","pid":5,"tid":20,"ts":"1699529623106710"},
{"ph":"f","bp":"e","name":"HostToDevice","cat":"HostToDevice","id":"12940","pid":4139906593,"tid":16,"ts":"1699529623106750.250"}
])json";

TEST(ChromeDialects, AnNpuWithoutALabelIsNotOneThatHasIt) {
  const ImportedText got = importText(
      R"([{"ph":"M","name":"process_labels","pid":8,"tid":0,"args":{"labels":"NPU 1"}},)"
      R"({"ph":"X","name":"a","pid":8,"tid":1,"ts":"1","dur":1,"args":{"Task Type":"AI_CORE"}},)"
      R"({"ph":"X","name":"b","pid":9,"tid":1,"ts":"2","dur":1,"args":{"Task Type":"AI_CORE"}},)"
      R"({"ph":"X","name":"c","pid":7,"tid":1,"ts":"3","dur":1,"args":{"Task Type":"AI_CORE"}}])");
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_THAT(got.trace.device.ordinal, ::testing::ElementsAre(1U, 0U, 2U));
}

TEST(ChromeDialects, AscendTasksAreDeviceWork) {
  const ImportedText got = importText(kAscend);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "Ascend timeline (msprof, trace_view)");
  EXPECT_TRUE(got.counts.damage.empty());
  EXPECT_EQ(got.counts.others, 0u);
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 1u);
  EXPECT_EQ(t.text(t.kernel.name[0]), "MatMul");
  EXPECT_EQ(t.kernel.start_ns[0], 1'699'529'623'106'750'250);
  EXPECT_EQ(t.kernel.duration_ns[0], 160'260);
  EXPECT_EQ(t.kernel.correlation_id[0], 3013u);
  const size_t stream = indexOf(t.kernel.stream_id[0]);
  EXPECT_EQ(t.stream.ordinal[stream], 16u);
  EXPECT_EQ(t.device.ordinal[indexOf(t.stream.device_id[stream])], 3u);
  EXPECT_EQ(t.device.backend[indexOf(t.stream.device_id[stream])], PlatformType::Ascend);
  ASSERT_EQ(t.copy.size(), 1u);
  EXPECT_EQ(t.copy.duration_ns[0], 740);
  ASSERT_EQ(t.sync.size(), 1u);
  EXPECT_EQ(t.sync.kind[0], SyncKind::kBarrier);
  ASSERT_EQ(t.host_call.size(), 1u);
  EXPECT_EQ(t.host_call.correlation_id[0], 3013u);
  EXPECT_EQ(t.kernel.thread_id[0], t.host_call.thread_id[0]);
  EXPECT_EQ(t.range.size(), 2u);  // the operator, and HCCL's range for the same time
  EXPECT_EQ(t.flow_event.size(), 2u);
}

constexpr std::string_view kMcTracer = R"json({"traceEvents":[
{"ph":"M","name":"process_name","pid":3423,"tid":0,"args":{"name":"python"}},
{"ph":"X","name":"mcMalloc","cat":"api","pid":3423,"tid":3423,"ts":5000000123,"dur":2100,"args":{}},
{"ph":"X","name":"mcLaunchKernel","cat":"api","pid":3423,"tid":3423,"ts":5000010000,"dur":900,"args":{"correlation":7}},
{"ph":"X","name":"saxpy_kernel(int, float)","cat":"gpu_op","pid":3423,"tid":9,"ts":5000020001,"dur":96601,
 "args":{"name":"_Z12saxpy_kernelif","grid":{"x":64,"y":2,"z":1},"block":{"x":256,"y":1,"z":1},
 "mem":{"registers_per_thread":32,"static_shared":128,"dynamic_shared":64},"mtreg_occupancy(%)":75.0,
 "shared_memeory_occupancy(%)":100.0,"correlation":7}},
{"ph":"X","name":"Memcpy HtoD","cat":"gpu_op","pid":3423,"tid":9,"ts":5000200000,"dur":1000,"args":{"bytes":4096}},
{"ph":"X","name":"nvtx-like range","cat":"mctx","pid":3423,"tid":3423,"ts":5000000000,"dur":300000,"args":{}}
]})json";

TEST(ChromeDialects, TimesOfMcTracerAreNanoseconds) {
  const ImportedText got = importText(kMcTracer);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "MetaX mcTracer");
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 1u);
  EXPECT_EQ(t.kernel.start_ns[0], 5'000'020'001);
  EXPECT_EQ(t.kernel.duration_ns[0], 96'601);
  EXPECT_EQ(t.text(t.kernel.name[0]), "saxpy_kernel(int, float)");
  const LaunchShapeRow shape = t.launch_shape.row(indexOf(t.kernel.shape_id[0]));
  EXPECT_EQ(shape.global_x, 64u * 256);
  EXPECT_EQ(shape.global_y, 2u);
  EXPECT_EQ(shape.registers_per_thread, 32u);
  EXPECT_EQ(shape.static_shared_bytes, 128u);
  EXPECT_EQ(shape.dynamic_shared_bytes, 64u);
  EXPECT_EQ(t.device.backend[0], PlatformType::MACA);
  ASSERT_EQ(t.host_call.size(), 2u);
  EXPECT_EQ(t.host_call.kind[0], CallKind::kMemory);
  EXPECT_EQ(t.host_call.kind[1], CallKind::kLaunch);
  ASSERT_EQ(t.copy.size(), 1u);
  EXPECT_EQ(t.copy.kind[0], CopyKind::kHostToDevice);
  EXPECT_EQ(t.range.size(), 1u);
  EXPECT_TRUE(t.clock_snapshot.empty());  // their clock is unknown
}

/// Kineto on other hardware may use the same names for runtime functions.
TEST(ChromeDialects, NamesAloneAreNoMcTracer) {
  const ImportedText got = importText(
      R"([{"ph":"X","name":"mcLaunchKernel","cat":"cuda_runtime","pid":1,"tid":1,"ts":10,"dur":2}])");
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.format, "Chrome JSON");
  EXPECT_EQ(got.trace.host_call.start_ns[0], 10'000);
}

TEST(ChromeDialects, EveryDamageIsAnErrorOrCounted) {
  importDamaged(kAscend, test::Cut::kHides, 40, 100);  // an array of events needs no end
  importDamaged(kMcTracer, test::Cut::kShows, 40, 100);
}

}  // namespace
}  // namespace tracesmith::import
