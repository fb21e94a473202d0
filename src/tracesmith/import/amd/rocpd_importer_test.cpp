// SPDX-License-Identifier: Apache-2.0
// No recording of rocprofv3 was available. These databases are handwritten, following schemas 3 and
// 4 in rocprofiler-sdk.
#include "tracesmith/import/amd/rocpd_importer.hpp"

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

/// `sql` with each $ replaced by the UUID.
std::string forProcess(std::string sql, const std::string& uuid) {
  for (size_t at = sql.find('$'); at != std::string::npos; at = sql.find('$', at)) {
    sql.replace(at, 1, "_" + uuid);
  }
  return sql;
}

constexpr const char* kUuid = "0198c1a2_7f3e_7a10_8000_00000000000a";

const std::string kDictionaries = R"sql(
  CREATE TABLE rocpd_metadata$ (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
  INSERT INTO rocpd_metadata$ (tag, value) VALUES ('schema_version', '3');
  CREATE TABLE rocpd_string$ (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
  INSERT INTO rocpd_string$ (id, string) VALUES (1, 'HIP_RUNTIME_API_EXT'), (2, 'hipLaunchKernel'),
    (3, 'KERNEL_DISPATCH'), (4, 'MEMORY_COPY'), (5, 'MEMORY_COPY_HOST_TO_DEVICE'),
    (6, 'MARKER_CORE_RANGE_API'), (7, 'roctxRangePushA'), (8, 'MEMORY_ALLOCATION'), (9, 'sample');
  CREATE TABLE rocpd_info_process$ (id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, ppid INTEGER,
    pid INTEGER, init BIGINT, fini BIGINT, start BIGINT, end BIGINT, command TEXT);
  INSERT INTO rocpd_info_process$ (id, nid, ppid, pid, start, end, command)
    VALUES (1, 1, 99, 4242, 50, 9000, './app --size 3');
  CREATE TABLE rocpd_info_thread$ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name TEXT);
  INSERT INTO rocpd_info_thread$ VALUES (7, 1, 4243, 'worker');
  CREATE TABLE rocpd_info_agent$ (id INTEGER PRIMARY KEY, type TEXT, absolute_index INTEGER,
    logical_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT, vendor_name TEXT,
    extdata JSONB);
  INSERT INTO rocpd_info_agent$ VALUES
    (0, 'CPU', 0, 0, 0, 'AMD EPYC', 'AMD EPYC 9654', 'CPU', '{}'),
    (2, 'GPU', 2, 2, 1, 'gfx942', 'AMD Instinct MI300X', 'AMD',
     '{"cu_count": 304, "wave_front_size": 64, "max_engine_clk_fcompute": 2100,
       "max_waves_per_cu": 32, "workgroup_max_size": 1024}');
  CREATE TABLE rocpd_info_queue$ (id INTEGER PRIMARY KEY, name TEXT);
  INSERT INTO rocpd_info_queue$ VALUES (3, 'Queue 0');
  CREATE TABLE rocpd_info_stream$ (id INTEGER PRIMARY KEY, name TEXT);
  INSERT INTO rocpd_info_stream$ VALUES (5, 'Stream 1');
  CREATE TABLE rocpd_info_pmc$ (id INTEGER PRIMARY KEY, agent_id INTEGER, name TEXT, symbol TEXT);
  INSERT INTO rocpd_info_pmc$ VALUES (11, 2, 'SQ_WAVES', 'SQ_WAVES');
  CREATE TABLE rocpd_info_kernel_symbol$ (id INTEGER PRIMARY KEY, kernel_name TEXT,
    display_name TEXT, group_segment_size INTEGER, private_segment_size INTEGER,
    arch_vgpr_count INTEGER, accum_vgpr_count INTEGER);
  INSERT INTO rocpd_info_kernel_symbol$ VALUES (21, '_Z3addPf.kd', 'add(float*)', 1024, 0, 32, 8);
  CREATE TABLE rocpd_event$ (id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER,
    parent_stack_id INTEGER, correlation_id INTEGER, extdata JSONB);
  INSERT INTO rocpd_event$ VALUES (1, 1, 500, 0, 0, '{}'), (2, 3, 500, 500, 0, '{}'),
    (3, 4, 501, 501, 0, '{}'), (4, 6, 502, 0, 0, '{"message": "forward \"pass\""}'),
    (5, 8, 503, 0, 0, '{}'), (6, 6, 504, 0, 0, '{"message": broken');
  CREATE TABLE rocpd_arg$ (id INTEGER PRIMARY KEY, event_id INTEGER, name TEXT, value TEXT);
  INSERT INTO rocpd_arg$ VALUES (1, 1, 'numBlocks', '{64, 1, 1}');
  CREATE TABLE rocpd_pmc_event$ (id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER,
    value REAL);
  INSERT INTO rocpd_pmc_event$ VALUES (1, 2, 11, 4096.0), (2, 77, 11, 1.0);
)sql";

const std::string kSchema3 = kDictionaries + R"sql(
  CREATE TABLE rocpd_track$ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name_id INTEGER);
  INSERT INTO rocpd_track$ VALUES (1, 1, 7, 9);
  CREATE TABLE rocpd_region$ (id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER,
    tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER, extdata JSONB);
  INSERT INTO rocpd_region$ VALUES (1, 'g', 1, 1, 7, 1000, 1100, 2, 1, '{}'),
    (2, 'g', 1, 1, 7, 900, 3000, 7, 4, '{}'), (3, 'g', 1, 1, 7, 910, 920, 7, 6, '{}');
  CREATE TABLE rocpd_kernel_dispatch$ (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER,
    tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER,
    stream_id INTEGER, start BIGINT, end BIGINT, private_segment_size INTEGER,
    group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER,
    workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER,
    event_id INTEGER);
  INSERT INTO rocpd_kernel_dispatch$ VALUES
    (1, 1, 1, 7, 2, 21, 1, 3, 5, 1200, 1700, 16, 3072, 256, 1, 1, 16384, 2, 1, 2),
    (2, 1, 1, 7, 2, 99, 2, 3, 5, 1650, 1750, 0, 0, 64, 1, 1, 64, 1, 1, NULL);
  CREATE TABLE rocpd_memory_copy$ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start BIGINT,
    end BIGINT, name_id INTEGER, dst_agent_id INTEGER, dst_address INTEGER, src_agent_id INTEGER,
    src_address INTEGER, size INTEGER, stream_id INTEGER, event_id INTEGER);
  INSERT INTO rocpd_memory_copy$ VALUES (1, 1, 7, 1150, 1190, 5, 2, 65536, 0, 4096, 8192, 5, 3);
  CREATE TABLE rocpd_memory_allocate$ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,
    agent_id INTEGER, type TEXT, level TEXT, start BIGINT, end BIGINT, address INTEGER,
    size INTEGER, event_id INTEGER);
  INSERT INTO rocpd_memory_allocate$ VALUES (1, 1, 7, 2, 'ALLOC', 'REAL', 800, 850, 65536, 8192, 5),
    (2, 1, 7, NULL, 'FREE', 'REAL', 8000, 8010, 65536, 0, NULL);
  CREATE TABLE rocpd_sample$ (id INTEGER PRIMARY KEY, track_id INTEGER, timestamp BIGINT,
    event_id INTEGER);
  INSERT INTO rocpd_sample$ VALUES (1, 1, 950, NULL);
  CREATE VIEW kernels AS SELECT * FROM rocpd_kernel_dispatch$;
)sql";

/// The same kernel, call and marker, with times and tracks in separate tables.
const std::string kSchema4 = kDictionaries + R"sql(
  CREATE TABLE rocpd_info_category$ (id INTEGER PRIMARY KEY, name TEXT);
  INSERT INTO rocpd_info_category$ VALUES (1, 'HIP_RUNTIME_API'), (3, 'KERNEL_DISPATCH'),
    (6, 'MARKER_API');
  CREATE TABLE rocpd_track$ (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, tid INTEGER,
    agent_id INTEGER, queue_id INTEGER, stream_id INTEGER, name_id INTEGER);
  INSERT INTO rocpd_track$ VALUES (1, 1, 1, 7, NULL, NULL, NULL, NULL), (2, 1, 1, 7, 2, 3, 5, NULL);
  CREATE TABLE rocpd_timestamp$ (id INTEGER PRIMARY KEY, value BIGINT, phase INTEGER,
    track_id INTEGER);
  INSERT INTO rocpd_timestamp$ VALUES (1, 1000, 1, 1), (2, 1100, 2, 1), (3, 1200, 1, 2),
    (4, 1700, 2, 2), (5, 900, 1, 1), (6, 3000, 2, 1);
  CREATE TABLE rocpd_region$ (id INTEGER PRIMARY KEY, track_id INTEGER, name_id INTEGER,
    start_id INTEGER, end_id INTEGER, event_id INTEGER);
  INSERT INTO rocpd_region$ VALUES (1, 1, 2, 1, 2, 1), (2, 1, 7, 5, 6, 4), (3, 1, 7, 98, 99, 4);
  CREATE TABLE rocpd_kernel_dispatch$ (id INTEGER PRIMARY KEY, track_id INTEGER,
    kernel_id INTEGER, dispatch_id INTEGER, start_id INTEGER, end_id INTEGER,
    private_segment_size INTEGER, group_segment_size INTEGER, workgroup_size_x INTEGER,
    workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER,
    grid_size_z INTEGER, event_id INTEGER);
  INSERT INTO rocpd_kernel_dispatch$ VALUES
    (1, 2, 21, 1, 3, 4, 16, 3072, 256, 1, 1, 16384, 2, 1, 2);
)sql";

class Rocpd : public testing::TestWithParam<const std::string*> {};

TEST_P(Rocpd, KernelsCallsAndMarkersFindTheirPlace) {
  const TempFile made;
  Database(made.path()).run(forProcess(*GetParam(), kUuid));
  const ImportedDatabase got = importedDatabase(made.path());
  const Trace& t = got.trace;
  EXPECT_EQ(got.report->format, "rocpd");
  EXPECT_FALSE(got.report->experimental.empty());
  KernelRow k;
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    if (t.kernel.start_ns[i] == 1200) k = t.kernel.row(i);
  }
  EXPECT_EQ(t.text(k.name), "add(float*)");
  EXPECT_EQ(k.duration_ns, 500);
  EXPECT_EQ(k.correlation_id, 500U);
  EXPECT_EQ(t.process.pid[indexOf(k.process_id)], 4242U);
  EXPECT_EQ(t.text(t.process.command_line[indexOf(k.process_id)]), "./app --size 3");
  EXPECT_EQ(t.thread.tid[indexOf(k.thread_id)], 4243U);
  EXPECT_EQ(t.text(t.thread.name[indexOf(k.thread_id)]), "worker");
  EXPECT_EQ(t.stream.handle[indexOf(k.stream_id)], 5U);
  EXPECT_EQ(t.text(t.stream.name[indexOf(k.stream_id)]), "Stream 1");
  const DeviceRow device = t.device.row(indexOf(t.deviceOf(k.stream_id)));
  EXPECT_EQ(t.text(device.name), "AMD Instinct MI300X");
  EXPECT_EQ(device.backend, PlatformType::ROCm);
  EXPECT_EQ(device.ordinal, 1U);
  EXPECT_EQ(device.compute_units, 304U);
  EXPECT_EQ(device.max_threads_per_unit, 2048U);
  const LaunchShapeRow shape = t.launch_shape.row(indexOf(k.shape_id));
  EXPECT_EQ(shape.global_x, 16384U) << "the grid counts work-items";
  EXPECT_EQ(shape.global_y, 2U);
  EXPECT_EQ(shape.local_x, 256U);
  EXPECT_EQ(shape.static_shared_bytes, 1024U);
  EXPECT_EQ(shape.dynamic_shared_bytes, 2048U);
  EXPECT_EQ(shape.registers_per_thread, 40U);
  ASSERT_EQ(t.host_call.size(), 1U);
  EXPECT_EQ(t.text(t.host_call.name[0]), "hipLaunchKernel");
  EXPECT_EQ(t.host_call.correlation_id[0], 500U);
  EXPECT_EQ(t.host_call.kind[0], CallKind::kLaunch);
  std::map<std::string, std::string> ranges;
  for (size_t i = 0; i < t.range.size(); ++i) {
    ranges[std::string(t.text(t.range.name[i]))] = t.text(t.range.category[i]);
  }
  EXPECT_EQ(ranges["forward \"pass\""], "roctx") << "a marker's name is its message";
  ASSERT_EQ(t.counter.size(), 1U);
  EXPECT_EQ(t.counter.time_ns[0], 1200) << "that of the dispatch";
  EXPECT_EQ(t.counter.value[0], 4096.0);
  EXPECT_EQ(got.kept, Database(made.path()).everything());
}

INSTANTIATE_TEST_SUITE_P(Schemas, Rocpd, testing::Values(&kSchema3, &kSchema4),
                         [](const auto& which) { return which.index == 0 ? "Three" : "Four"; });

TEST(RocpdImporter, CopiesMemoryAndSamplesFindTheirTables) {
  const TempFile made;
  Database(made.path()).run(forProcess(kSchema3, kUuid));
  const ImportedDatabase got = importedDatabase(made.path());
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 2U);
  ASSERT_EQ(t.copy.size(), 1U);
  EXPECT_EQ(t.copy.kind[0], CopyKind::kHostToDevice);
  EXPECT_EQ(t.copy.bytes[0], 8192U);
  EXPECT_EQ(t.copy.source[0], 4096U);
  EXPECT_EQ(t.device.ordinal[indexOf(t.deviceOf(t.copy.stream_id[0]))], 1U);
  ASSERT_EQ(t.memory_event.size(), 2U);
  EXPECT_EQ(t.memory_event.kind[0], MemoryKind::kAlloc);
  EXPECT_EQ(t.memory_event.address[0], 65536U);
  EXPECT_EQ(t.memory_event.kind[1], MemoryKind::kFree);
  std::map<std::string, RangeKind> ranges;
  for (size_t i = 0; i < t.range.size(); ++i) {
    ranges[std::string(t.text(t.range.name[i]))] = t.range.kind[i];
  }
  EXPECT_EQ(ranges["sample"], RangeKind::kInstant);
  EXPECT_EQ(ranges.count("roctxRangePushA"), 1U) << "its message cannot be read";
  EXPECT_EQ(got.report->counts.others, 1U) << "a counter of no event";
}

TEST(RocpdImporter, LengthsThatCanNotBeAreNoneAndAreSaid) {
  const TempFile made;
  const Database db(made.path());
  std::string sql = forProcess(kSchema3, kUuid);
  sql += "UPDATE \"rocpd_kernel_dispatch_" + std::string(kUuid) + "\" SET end = start - 1;";
  db.run(sql);
  const ImportedDatabase got = importedDatabase(made.path());
  ASSERT_EQ(got.trace.kernel.size(), 2U);
  EXPECT_EQ(got.trace.kernel.duration_ns[0], 0);
  EXPECT_THAT(std::string(got.trace.text(got.trace.loss.reason[0])),
              HasSubstr("2 events end before they start"));
  EXPECT_EQ(got.kept, db.everything());
}

TEST(RocpdImporter, OneFileMayHoldSeveralProcesses) {
  const TempFile made;
  const Database db(made.path());
  db.run(forProcess(kSchema3, kUuid));
  std::string second = forProcess(kSchema4, "0198c1a2_7f3e_7a10_8000_00000000000b");
  second.replace(second.find("4242"), 4, "5555");
  db.run(second);
  const ImportedDatabase got = importedDatabase(made.path());
  std::set<uint32_t> pids;
  for (size_t i = 0; i < got.trace.kernel.size(); ++i) {
    pids.insert(got.trace.process.pid[indexOf(got.trace.kernel.process_id[i])]);
  }
  EXPECT_EQ(pids, (std::set<uint32_t>{4242, 5555}));
  EXPECT_EQ(got.trace.kernel.size(), 3U);
  EXPECT_EQ(got.kept, db.everything());
}

TEST(RocpdImporter, BrokenFilesAreImportedInPartOrRefusedButNeverHangOrCrash) {
  const TempFile made;
  Database(made.path()).run("PRAGMA page_size=512;" + forProcess(kSchema3, kUuid));
  const Bytes whole = made.bytes();
  std::mt19937_64 random(9);
  size_t imported = 0;
  for (int round = 0; round < 120; ++round) {
    Bytes bytes = whole;
    if (round % 4 == 0) bytes.resize(bytes.size() * (random() % 100) / 100 + 1);
    for (size_t i = 0; i < 1 + random() % 20; ++i) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    }
    const TempFile broken;
    broken.write(bytes);
    const TempFile output;
    if (importTrace(broken.path(), output.path())) ++imported;
  }
  EXPECT_GT(imported, 10U);
}

}  // namespace
}  // namespace tracesmith::import
