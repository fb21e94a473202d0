// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/nsys/nsys_importer.hpp"

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "tracesmith/import/sqlite/sqlite_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::Database;
using test::importedDatabase;
using test::ImportedDatabase;
using test::TempFile;
using ::testing::HasSubstr;

// Process 42 (global id 42 << 24) with thread 43, and process 77.
constexpr std::string_view kSmallReport = R"sql(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'void add<float>(float*)'),
    (3, 'add'), (4, 'cuMemcpyDtoH_v2'), (5, 'main'), (6, 'libcuda.so'), (7, 'train'),
    (8, 'registered'), (9, 'pthread_cond_wait'), (10, 'worker'), (11, 'cudaGraphLaunch_v10000');
  CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
  INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'),
    (21, 'CUDA_MEMCPY_KIND_UVM_HTOD', 'Unified Host-to-Device');
  CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, busLocation TEXT, totalMemory INTEGER,
    clockRate INTEGER, smCount INTEGER, uuid TEXT, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER,
    maxThreadsPerBlock INTEGER, computeMajor INTEGER, computeMinor INTEGER);
  INSERT INTO TARGET_INFO_GPU VALUES (3, 'NVIDIA H100', '0000:18:00.0', 85899345920, 1980000000,
    132, 'GPU-1', 32, 64, 1024, 9, 0);
  CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
  INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 42, 'GPU-1');
  CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
  INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);
  CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
  INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.25.0');
  CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
  INSERT INTO PROCESSES VALUES (42 << 24, 42, 'python3'), (99 << 24, 99, 'bystander');
  CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
  INSERT INTO ThreadNames VALUES (10, 20, 42 << 24 | 43);
  CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER,
    originalIP INTEGER, stackDepth INTEGER);
  INSERT INTO CUDA_CALLCHAINS VALUES (1, 7, 6, NULL, 4096, 1), (1, 3, 6, NULL, 8192, 0),
    (1, 5, 6, NULL, 2048, 2), (2, 5, 6, NULL, 2048, 0);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER,
    gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
    staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER, novelty TEXT);
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (2000, 5000, 0, 1, 7, 100, 42 << 24, 2, 3, 32, 64, 2, 1, 256, 1, 1, 48, 1024, NULL, 'x'),
    (3000, 3500, 0, 1, 7, 100, 77 << 24, 999, 3, 8, 1, 1, 1, 1, 1, 1, 0, 0, 55, NULL),
    (6000, 6100, 0, 1, 7, 200, 42 << 24, 2, 3, 8, 1, 1, 1, 1, 1, 1, 0, 0, 56, NULL),
    (6100, 6200, 0, 1, 7, 200, 42 << 24, 2, 3, 8, 1, 1, 1, 1, 1, 1, 0, 0, 57, NULL),
    (9000, 8000, 0, 1, 7, 300, 42 << 24, 2, 3, 8, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL),
    ('soon', 8000, 0, 1, 7, 300, 42 << 24, 2, 3, 8, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER,
    callchainId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
    (1000, 1500, 0, 42 << 24 | 43, 100, 1, 0, 1), (1600, 1700, 1, 42 << 24 | 44, 101, 4, 2, 2),
    (1100, 1200, 0, 77 << 24 | 78, 100, 1, 0, NULL), (5500, 5600, 0, 42 << 24 | 43, 200, 11, 0, 9);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
    copyKind INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1650, 1690, 0, 1, 7, 101, 42 << 24, 4096, 2),
    (1700, 1710, 0, 1, 7, NULL, 42 << 24, 1, 21), (1800, 1810, 0, 1, 7, 0, 42 << 24, -5, 8);
  CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    syncType INTEGER, eventId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
    (7000, 7500, 0, 1, 4294967295, 102, 42 << 24, 4, 4294967295),
    (7010, 7011, 0, 1, 7, 103, 42 << 24, 2, 5), (7012, 7013, 0, 1, 7, 109, 42 << 24, 2, 5),
    (7014, 7015, 0, 1, 7, 111, 77 << 24, 2, 5), (7016, 7017, 0, 1, 7, 112, 42 << 24, 2, 6);
  CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 9, 90, 42 << 24, 5),
    (0, 1, 13, 110, 42 << 24, 5), (0, 1, 9, 102, 42 << 24, 5), (0, 1, 9, 120, 42 << 24, 6);
  CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    graphId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (7600, 7700, 0, 1, 7, 200, 42 << 24, 12);
  CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER,
    contextId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER,
    memoryOperationType INTEGER, name TEXT, correlationId INTEGER);
  INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (100, 42 << 24, 0, 1, 139637976727552, 512, 2, 0,
    NULL, 100), (200, 42 << 24, 0, 1, 139637976727552, 512, 2, 1, NULL, 0);
  CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER,
    category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, textId INTEGER,
    domainId INTEGER, doubleValue REAL, jsonText TEXT, binaryData TEXT);
  INSERT INTO NVTX_EVENTS VALUES
    (900, 8000, 59, NULL, NULL, 4278255360, 'step 1', 42 << 24 | 43, NULL, 0, NULL, NULL, NULL),
    (950, 960, 60, 4, NULL, NULL, NULL, 42 << 24 | 43, 8, 7, 0.1, '{"a":1}', 'AAEC'),
    (970, NULL, 34, NULL, NULL, NULL, 'mark', 42 << 24 | 43, NULL, 0, 1.5, NULL, x'00ff'),
    (980, NULL, 59, NULL, NULL, NULL, 'open', 42 << 24 | 43, NULL, 0, NULL, NULL, NULL),
    (1, NULL, 75, NULL, NULL, NULL, 'NCCL', 42 << 24 | 43, NULL, 7, NULL, NULL, NULL);
  CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
    nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
  INSERT INTO OSRT_API VALUES (10, 20, 2, 42 << 24 | 43, 9, 0, 0);
  CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER,
    metricId INTEGER, value INTEGER);
  CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT,
    metricId INTEGER, metricName TEXT);
  INSERT INTO TARGET_INFO_GPU_METRICS VALUES (1, 1, 'GH100', 2, 'SMs Active [Throughput %]');
  INSERT INTO GPU_METRICS VALUES (1, 4000, 1, 2, 87);
  CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, timestampType INTEGER, source INTEGER,
    severity INTEGER, text TEXT, globalPid INTEGER);
  INSERT INTO DIAGNOSTIC_EVENT VALUES (5, 1, 1, 2, '12 CUDA events were dropped.', 42 << 24),
    (6, 1, 1, 1, 'Profiling has started.', NULL);
  CREATE TABLE SOMETHING_NEW (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
  INSERT INTO SOMETHING_NEW VALUES (30, 40, 42 << 24 | 43, 3);
  CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER);
  INSERT INTO SCHED_EVENTS VALUES (30, 4, 1, 42 << 24 | 43);
  CREATE VIEW trap AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n;
)sql";

ImportedDatabase small(const std::string& more = "") {
  const TempFile made;
  Database(made.path()).run(std::string(kSmallReport) + more);
  ImportedDatabase got = importedDatabase(made.path());
  EXPECT_EQ(got.kept, Database(made.path()).everything());
  return got;
}

/// The row of `table` with start `start_ns` (rows of a trace are in a different order).
template <class Table>
typename Table::Row at(const Table& table, int64_t start_ns) {
  for (size_t i = 0; i < table.size(); ++i) {
    const auto row = table.row(i);
    if constexpr (requires { row.start_ns; }) {
      if (row.start_ns == start_ns) return row;
    } else {
      if (row.time_ns == start_ns) return row;
    }
  }
  ADD_FAILURE() << "no row at " << start_ns;
  return {};
}

TEST(NsysImporter, KernelsHaveTheirLaunchTheirShapeAndTheGpuThatTheProcessMeant) {
  const ImportedDatabase got = small();
  const Trace& t = got.trace;
  EXPECT_EQ(got.report->format, "Nsight Systems SQLite");
  ASSERT_EQ(t.kernel.size(), 6U);  // one has no time; a whole graph is another
  const KernelRow k = at(t.kernel, 2000);
  EXPECT_EQ(t.text(k.name), "void add<float>(float*)");
  EXPECT_EQ(k.start_ns, 2000);
  EXPECT_EQ(k.duration_ns, 3000);
  EXPECT_EQ(k.correlation_id, 100U);
  EXPECT_EQ(t.process.pid[indexOf(k.process_id)], 42U);
  EXPECT_EQ(t.text(t.process.command_line[indexOf(k.process_id)]), "python3");
  EXPECT_EQ(t.thread.tid[indexOf(k.thread_id)], 43U);
  EXPECT_EQ(t.text(t.thread.name[indexOf(k.thread_id)]), "worker");
  EXPECT_EQ(t.stream.handle[indexOf(k.stream_id)], 7U);
  const LaunchShapeRow shape = t.launch_shape.row(indexOf(k.shape_id));
  EXPECT_EQ(shape.global_x, 64U * 256) << "the grid counts blocks";
  EXPECT_EQ(shape.global_y, 2U);
  EXPECT_EQ(shape.dimensions, 2U);
  EXPECT_EQ(shape.local_x, 256U);
  EXPECT_EQ(shape.registers_per_thread, 32U);
  EXPECT_EQ(shape.static_shared_bytes, 48U);
  EXPECT_EQ(shape.dynamic_shared_bytes, 1024U);
  const DeviceRow device = t.device.row(indexOf(t.deviceOf(k.stream_id)));
  EXPECT_EQ(device.ordinal, 3U) << "CUDA's number 0 of process 42";
  EXPECT_EQ(t.text(device.name), "NVIDIA H100");
  EXPECT_EQ(device.backend, PlatformType::CUDA);
  EXPECT_EQ(device.compute_units, 132U);
  EXPECT_EQ(device.clock_mhz, 1980U);
  EXPECT_EQ(device.max_threads_per_unit, 2048U);

  // The same correlation id in another process belongs to another launch.
  const KernelRow other = at(t.kernel, 3000);
  EXPECT_EQ(t.thread.tid[indexOf(other.thread_id)], 78U);
  EXPECT_EQ(t.text(other.name), "add") << "its long name is not in the file";
  EXPECT_EQ(t.device.ordinal[indexOf(t.deviceOf(other.stream_id))], 0U);
  // Two kernels of one graph launch.
  EXPECT_EQ(at(t.kernel, 6000).thread_id, at(t.kernel, 6100).thread_id);
  EXPECT_EQ(at(t.kernel, 6000).correlation_id, 200U);
  // Its end is before its start.
  EXPECT_EQ(at(t.kernel, 9000).duration_ns, 0);
  EXPECT_EQ(t.text(at(t.kernel, 7600).name), "CUDA graph 12 (as a whole)");
}

TEST(NsysImporter, CallsHaveNamesWithoutVersionsResultsAndStacks) {
  const ImportedDatabase got = small();
  const Trace& t = got.trace;
  ASSERT_EQ(t.host_call.size(), 4U);
  const HostCallRow call = at(t.host_call, 1000);
  EXPECT_EQ(t.text(call.name), "cudaLaunchKernel");
  EXPECT_EQ(call.kind, CallKind::kLaunch);
  EXPECT_EQ(t.text(at(t.host_call, 1600).name), "cuMemcpyDtoH_v2") << "that is its name";
  EXPECT_EQ(at(t.host_call, 1600).result, 2);
  std::vector<std::string> stack;
  for (CallPathId at = call.call_path_id; at != CallPathId::kNone;
       at = t.call_path.parent[indexOf(at)]) {
    stack.emplace_back(t.text(t.frame.function[indexOf(t.call_path.frame[indexOf(at)])]));
  }
  EXPECT_THAT(stack, testing::ElementsAre("add", "train", "main"));
  EXPECT_EQ(at(t.kernel, 2000).call_path_id, call.call_path_id) << "that of its launch";
  EXPECT_EQ(at(t.host_call, 1100).call_path_id, CallPathId::kNone);
  EXPECT_EQ(at(t.host_call, 5500).call_path_id, CallPathId::kNone) << "there is no stack 9";
}

TEST(NsysImporter, AWaitForAnEventIsLinkedToTheLastRecordBeforeIt) {
  const ImportedDatabase got = small();
  const FlowTable& flows = got.trace.flow;
  ASSERT_EQ(flows.size(), 2U) << "of another process, or not yet recorded: none";
  EXPECT_EQ(flows.from_correlation_id[0], 102U);
  EXPECT_EQ(flows.to_correlation_id[0], 103U);
  EXPECT_EQ(flows.from_correlation_id[1], 102U) << "110 came after 109";
  EXPECT_EQ(flows.to_correlation_id[1], 109U);
  EXPECT_EQ(flows.kind[0], FlowKind::kWait);
  const StreamTable& streams = got.trace.stream;
  const auto at = std::find(streams.id.begin(), streams.id.end(), flows.from_stream_id[0]);
  ASSERT_NE(at, streams.id.end());
  EXPECT_EQ(streams.handle[static_cast<size_t>(at - streams.id.begin())], 9U);
}

TEST(NsysImporter, ALaterVersionTellsWhichRecordAWaitWasFor) {
  const TempFile made;
  Database(made.path()).run(R"sql(
    CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
      contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
      syncType INTEGER, eventId INTEGER, eventSyncId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
      (7010, 7011, 0, 1, 7, 103, 42 << 24, 2, 5, 77), (7020, 7021, 0, 1, 7, 104, 42 << 24, 2, 5, 99);
    CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER,
      streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER,
      eventSyncId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 9, 90, 42 << 24, 5, 77),
      (0, 1, 13, 100, 42 << 24, 5, 78);
  )sql");
  const ImportedDatabase got = importedDatabase(made.path());
  ASSERT_EQ(got.trace.flow.size(), 1U) << "there is no record 99";
  EXPECT_EQ(got.trace.flow.from_correlation_id[0], 90U) << "though 100 came later";
}

TEST(NsysImporter, CopiesSyncsMemoryAndRangesFindTheirTables) {
  const ImportedDatabase got = small();
  const Trace& t = got.trace;
  ASSERT_EQ(t.copy.size(), 3U);
  EXPECT_EQ(at(t.copy, 1650).kind, CopyKind::kDeviceToHost);
  EXPECT_EQ(t.text(at(t.copy, 1650).name), "Memcpy Device-to-Host");
  EXPECT_EQ(at(t.copy, 1650).bytes, 4096U);
  EXPECT_EQ(at(t.copy, 1700).kind, CopyKind::kHostToDevice) << "by the file's own table";
  EXPECT_EQ(at(t.copy, 1800).kind, CopyKind::kDeviceToDevice) << "by CUPTI's header";
  EXPECT_EQ(at(t.copy, 1800).bytes, 0U) << "the source says -5";
  ASSERT_EQ(t.sync.size(), 5U);
  EXPECT_EQ(at(t.sync, 7000).kind, SyncKind::kDeviceWait);
  EXPECT_EQ(at(t.sync, 7000).flags, op_flags::kHostSide);
  EXPECT_EQ(at(t.sync, 7000).stream_id, StreamId::kNone);
  EXPECT_EQ(at(t.sync, 7010).kind, SyncKind::kBarrier);
  EXPECT_EQ(at(t.sync, 7010).flags, 0U);
  ASSERT_EQ(t.memory_event.size(), 2U);
  EXPECT_EQ(at(t.memory_event, 100).kind, MemoryKind::kAlloc);
  EXPECT_EQ(at(t.memory_event, 200).kind, MemoryKind::kFree);
  EXPECT_EQ(t.memory_event.bytes[0], 512U);
  std::map<std::string, RangeRow> ranges;
  for (size_t i = 0; i < t.range.size(); ++i) {
    ranges[std::string(t.text(t.range.name[i]))] = t.range.row(i);
  }
  EXPECT_EQ(t.text(ranges["step 1"].category), "NVTX");
  EXPECT_EQ(ranges["step 1"].duration_ns, 7100);
  EXPECT_EQ(t.text(ranges["registered"].category), "NCCL") << "its domain";
  EXPECT_EQ(ranges["mark"].kind, RangeKind::kInstant);
  EXPECT_EQ(ranges["open"].kind, RangeKind::kBegin);
  EXPECT_EQ(t.text(ranges["pthread_cond_wait"].category), "OS runtime");
  EXPECT_EQ(t.text(ranges["add"].category), "SOMETHING_NEW") << "a table of later versions";
  ASSERT_EQ(t.counter.size(), 1U);
  EXPECT_EQ(t.text(t.counter_track.name[0]), "SMs Active [Throughput %] (GH100)");
  EXPECT_EQ(t.counter.value[0], 87.0);
}

TEST(NsysImporter, TimesHaveTheirUnixTimeAndLossesTheirText) {
  const ImportedDatabase got = small();
  const Trace& t = got.trace;
  ASSERT_EQ(t.clock_snapshot.size(), 1U);
  EXPECT_EQ(t.clock_snapshot.clock_value[0] - t.clock_snapshot.host_ns[0], 1700000000000000000);
  EXPECT_EQ(t.metadataValue("nsys.EXPORT_SCHEMA_VERSION"), "3.25.0");
  ASSERT_EQ(t.loss.size(), 1U);
  const std::string reason(t.text(t.loss.reason[0]));
  EXPECT_THAT(reason, HasSubstr("Nsight Systems said: 12 CUDA events were dropped."));
  EXPECT_THAT(reason, testing::Not(HasSubstr("has started")));
  EXPECT_THAT(reason, HasSubstr("7 rows of unknown kinds or without a time"));
  EXPECT_TRUE(got.report->counts.damage.empty());
}

TEST(NsysImporter, NormalisedTimesAreUnixTimesAlready) {
  const ImportedDatabase got = small(
      "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', 'true'),"
      "('EXPORT_PARAM_TIME_SHIFT', '-50')");
  const Trace& t = got.trace;
  ASSERT_EQ(t.clock_snapshot.size(), 1U);
  EXPECT_EQ(t.clock_snapshot.clock_value[0] - t.clock_snapshot.host_ns[0], 50);
}

TEST(NsysImporter, MissingTablesAndColumnsAreNoObstacle) {
  const TempFile made;
  Database(made.path()).run(R"sql(
    CREATE TABLE StringIds (id INTEGER, value TEXT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (end INTEGER, start INTEGER, shortName INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20, 10, 1), (30, 25, NULL);)sql");
  const ImportedDatabase got = importedDatabase(made.path());
  EXPECT_EQ(got.trace.kernel.size(), 2U);
  EXPECT_EQ(at(got.trace.kernel, 10).duration_ns, 10);
  EXPECT_EQ(got.trace.kernel.stream_id[0], StreamId::kNone);
  EXPECT_EQ(got.trace.kernel.thread_id[0], ThreadId::kNone);
  EXPECT_TRUE(got.trace.clock_snapshot.empty());
  EXPECT_EQ(got.kept, Database(made.path()).everything());
}

TEST(NsysImporter, AMissingTableOfNamesCostsTheNamesOnly) {
  const TempFile made;
  Database(made.path()).run(std::string(kSmallReport) + "DROP TABLE StringIds;");
  const ImportedDatabase got = importedDatabase(made.path());
  ASSERT_TRUE(got.report);
  EXPECT_EQ(got.report->format, "Nsight Systems SQLite");
  EXPECT_EQ(got.trace.kernel.size(), 6U);
  EXPECT_EQ(at(got.trace.kernel, 2000).duration_ns, 3000);
  EXPECT_THAT(std::string(got.trace.text(got.trace.loss.reason[0])),
              HasSubstr("the table StringIds is missing"));
  EXPECT_EQ(got.kept, Database(made.path()).everything());
}

TEST(NsysImporter, RowsOfEveryTypeComeBack) {
  // More type patterns than the limit of shapes, text that needs escapes, extreme numbers.
  std::string more = "CREATE TABLE \"odd \"\"name\\\" (";
  for (int i = 0; i < 12; ++i)
    more += std::string(i == 0 ? "" : ", ") + "\"c\"\"" + std::to_string(i) + "\"";
  more += ");";
  for (int bits = 0; bits < 1500; ++bits) {
    more += "INSERT INTO \"odd \"\"name\\\" VALUES (";
    for (int i = 0; i < 12; ++i) {
      more += i == 0 ? "" : ", ";
      more += (bits >> i & 1) == 0 ? "NULL" : i % 3 == 0 ? "-9223372036854775807" : "'\"\\\x1f'";
    }
    more += ");";
  }
  more +=
      "CREATE TABLE numbers (v); INSERT INTO numbers VALUES (9223372036854775807), (0.1), "
      "(1.0), (-2.5), (1e300), (5e-324), (123456789.123456789), (x''), ('');";
  small(more);
}

// --- Real exports -------------------------------------------------------------------------------

class RealNsys : public testing::TestWithParam<const char*> {};

TEST_P(RealNsys, SaysWhatPlainSqlSays) {
  const TempFile unpacked;
  const std::string packed = test::unpackedTestData(GetParam(), unpacked);
  if (packed.empty()) GTEST_SKIP() << "TRACESMITH_TEST_DATA has no " << GetParam();
  const Database db(unpacked.path());
  const ImportedDatabase got = importedDatabase(packed);
  const Trace& t = got.trace;
  EXPECT_TRUE(got.report->counts.damage.empty());
  EXPECT_EQ(got.report->counts.others, 0U);

  const auto sum = [](const auto& column) {
    int64_t total = 0;
    for (size_t i = 0; i < column.size(); ++i) total += static_cast<int64_t>(column[i]);
    return total;
  };
  const auto compare = [&](const auto& table, const std::string& name) {
    EXPECT_EQ(static_cast<int64_t>(table.size()), db.number("SELECT count(*) FROM " + name));
    EXPECT_EQ(sum(table.duration_ns), db.number("SELECT sum(end - start) FROM " + name)) << name;
    EXPECT_EQ(sum(table.start_ns), db.number("SELECT sum(start) FROM " + name)) << name;
  };
  compare(t.kernel, "CUPTI_ACTIVITY_KIND_KERNEL");
  compare(t.copy, "CUPTI_ACTIVITY_KIND_MEMCPY");
  compare(t.fill, "CUPTI_ACTIVITY_KIND_MEMSET");
  compare(t.sync, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION");
  compare(t.host_call, "CUPTI_ACTIVITY_KIND_RUNTIME");
  EXPECT_EQ(sum(t.copy.bytes), db.number("SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY"));
  EXPECT_EQ(sum(t.fill.bytes), db.number("SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMSET"));
  EXPECT_EQ(static_cast<int64_t>(t.range.size()),
            db.number("SELECT (SELECT count(*) FROM NVTX_EVENTS) + (SELECT count(*) FROM "
                      "CUPTI_ACTIVITY_KIND_OVERHEAD) + (SELECT count(*) FROM PROFILER_OVERHEAD)"));
  // Kernels by name, and the threads that launched them, as SQL joins them.
  std::map<std::string, int64_t> by_name;
  int64_t launched = 0;
  int64_t tids = 0;
  int64_t items = 0;
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    const KernelRow k = t.kernel.row(i);
    by_name[std::string(t.text(k.name))] += k.duration_ns;
    if (k.thread_id != ThreadId::kNone) {
      ++launched;
      tids += t.thread.tid[indexOf(k.thread_id)];
    }
    const LaunchShapeRow shape = t.launch_shape.row(indexOf(k.shape_id));
    items += static_cast<int64_t>(shape.global_x * shape.global_y * shape.global_z);
  }
  for (const auto& row :
       db.rows("SELECT value AS name, sum(end - start) AS ns FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN "
               "StringIds ON id = demangledName GROUP BY 1")) {
    EXPECT_EQ(by_name[row["name"].get<std::string>()], row["ns"].get<int64_t>());
  }
  constexpr const char* kJoin =
      " FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = "
      "k.correlationId AND (r.globalTid >> 24 & 16777215) = (k.globalPid >> 24 & 16777215)";
  EXPECT_EQ(launched, db.number(std::string("SELECT count(*)") + kJoin));
  EXPECT_EQ(tids, db.number(std::string("SELECT sum(r.globalTid & 16777215)") + kJoin));
  EXPECT_EQ(items, db.number("SELECT sum(gridX * blockX * gridY * blockY * gridZ * blockZ) FROM "
                             "CUPTI_ACTIVITY_KIND_KERNEL"));
  std::map<CopyKind, int64_t> kinds;
  for (size_t i = 0; i < t.copy.size(); ++i) ++kinds[t.copy.kind[i]];
  EXPECT_EQ(kinds[CopyKind::kHostToDevice],
            db.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 1"));
  EXPECT_EQ(kinds[CopyKind::kDeviceToDevice],
            db.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 8"));
  ASSERT_EQ(t.clock_snapshot.size(), 1U);
  EXPECT_EQ(t.clock_snapshot.clock_value[0] - t.clock_snapshot.host_ns[0],
            db.number("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"));
  EXPECT_EQ(got.kept, db.everything()) << "every value of every table comes back";
}

INSTANTIATE_TEST_SUITE_P(Files, RealNsys,
                         testing::Values("nsys_ai/tests/fixtures/h100_2gpu_1s.sqlite.gz",
                                         "nsys_ai/tests/fixtures/mfu_2gpu_before.sqlite.gz"),
                         [](const auto& which) { return which.index == 0 ? "H100" : "Mfu"; });

// --- Broken ones --------------------------------------------------------------------------------

TEST(NsysImporter, BrokenFilesAreImportedInPartOrRefusedButNeverHangOrCrash) {
  const TempFile made;
  Database(made.path()).run("PRAGMA page_size=512;" + std::string(kSmallReport));
  const Bytes whole = made.bytes();
  std::mt19937_64 random(3);
  size_t imported = 0;
  for (int round = 0; round < 120; ++round) {
    Bytes bytes = whole;
    if (round % 4 == 0) bytes.resize(bytes.size() * (random() % 100) / 100 + 1);
    for (size_t i = 0; i < 1 + random() % 30; ++i) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    }
    const TempFile broken;
    broken.write(bytes);
    const TempFile output;
    if (importTrace(broken.path(), output.path())) ++imported;
  }
  EXPECT_GT(imported, 20U);
}

TEST(NsysImporter, WrongTypesAndAbsurdNumbersAreTakenAsFarAsTheyGo) {
  const TempFile made;
  const Database db(made.path());
  db.run(std::string(kSmallReport));
  for (const char* value :
       {"9223372036854775807", "-9223372036854775808", "1e308", "'text'", "NULL", "x'00'"}) {
    const std::string v = value;
    std::string kernel = v;
    for (int i = 0; i < 19; ++i) kernel += "," + v;
    db.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + kernel + ")");
    db.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + v + "," + v + "," + v + "," + v +
           "," + v + "," + v + "," + v + "," + v + ")");
    db.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" + v + "," + v + "," + v + "," + v +
           "," + v + "," + v + "," + v + "," + v + "," + v + ")");
    db.run("INSERT INTO CUDA_CALLCHAINS VALUES (" + v + "," + v + "," + v + "," + v + "," + v +
           "," + v + ")");
    db.run("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (" + v + ")");
    db.run("INSERT INTO PROCESSES VALUES (" + v + "," + v + "," + v + ")");
  }
  const ImportedDatabase got = importedDatabase(made.path());
  ASSERT_TRUE(got.report);
  EXPECT_EQ(got.trace.kernel.size(), 6U);
}

TEST(NsysImporter, LengthsThatCanNotBeAreNoneAndAreSaid) {
  const ImportedDatabase got = small(R"sql(
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, globalPid) VALUES
      (20000, NULL, 42 << 24), (0, 1700000000000000000, 42 << 24),
      (9223372036854775807, 9223372036854775807, 42 << 24);)sql");
  EXPECT_EQ(at(got.trace.kernel, 9000).duration_ns, 0);  // ends at 8000
  EXPECT_EQ(at(got.trace.kernel, 20000).duration_ns, 0);
  EXPECT_EQ(at(got.trace.kernel, 0).duration_ns, 0);
  EXPECT_EQ(got.trace.kernel.size(), 8U);
  const std::string lost(got.trace.text(got.trace.loss.reason[0]));
  EXPECT_THAT(lost, HasSubstr("1 events end before they start"));
  EXPECT_THAT(lost, HasSubstr("1 events have no end"));
  EXPECT_THAT(lost, HasSubstr("1 events would have lasted"));
  EXPECT_THAT(lost, HasSubstr("1 events have an impossible time"));
  EXPECT_EQ(got.report->counts.notes.size(), 4U);
}

}  // namespace
}  // namespace tracesmith::import
