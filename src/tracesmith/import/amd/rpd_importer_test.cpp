// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/amd/rpd_importer.hpp"

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

constexpr const char* kReal = "rocm_rpd/examples/rocm-profile-data/results/matmul_result.rpd.gz";

TEST(RpdImporter, SaysOfARealTraceWhatPlainSqlSays) {
  const TempFile unpacked;
  const std::string packed = test::unpackedTestData(kReal, unpacked);
  if (packed.empty()) GTEST_SKIP() << "TRACESMITH_TEST_DATA has no " << kReal;
  const Database db(unpacked.path());
  const ImportedDatabase got = importedDatabase(packed);
  const Trace& t = got.trace;
  EXPECT_EQ(got.report->format, "rocmProfileData (RPD)");
  EXPECT_TRUE(got.report->counts.damage.empty());
  EXPECT_EQ(got.report->counts.others, 0U);

  const auto ops = [&](const std::string& what, const std::string& types) {
    return db.number("SELECT " + what +
                     " FROM rocpd_op o JOIN rocpd_string s ON s.id = o.opType_id WHERE s.string " +
                     types);
  };
  const auto sum = [](const auto& column) {
    int64_t total = 0;
    for (size_t i = 0; i < column.size(); ++i) total += static_cast<int64_t>(column[i]);
    return total;
  };
  EXPECT_EQ(static_cast<int64_t>(t.kernel.size()), ops("count(*)", "= 'KernelExecution'"));
  EXPECT_EQ(sum(t.kernel.duration_ns), ops("sum(end - start)", "= 'KernelExecution'"));
  EXPECT_EQ(static_cast<int64_t>(t.copy.size()), ops("count(*)", "LIKE 'Copy%'"));
  EXPECT_EQ(sum(t.copy.duration_ns), ops("sum(end - start)", "LIKE 'Copy%'"));
  EXPECT_EQ(static_cast<int64_t>(t.fill.size()), ops("count(*)", "= 'FillBuffer'"));
  EXPECT_EQ(sum(t.copy.bytes),
            db.number("SELECT sum(size) FROM rocpd_copyapi JOIN rocpd_api_ops ON api_id = "
                      "api_ptr_id JOIN rocpd_op o ON o.id = op_id"));
  EXPECT_EQ(static_cast<int64_t>(t.host_call.size()),
            db.number("SELECT count(*) FROM rocpd_api JOIN rocpd_string s ON s.id = apiName_id "
                      "WHERE string LIKE 'hip%'"));
  EXPECT_EQ(sum(t.host_call.duration_ns),
            db.number("SELECT sum(end - start) FROM rocpd_api JOIN rocpd_string s ON s.id = "
                      "apiName_id WHERE string LIKE 'hip%'"));
  EXPECT_EQ(static_cast<int64_t>(t.counter.size()),
            db.number("SELECT count(*) FROM rocpd_monitor"));
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    const KernelRow k = t.kernel.row(i);
    ASSERT_NE(k.thread_id, ThreadId::kNone) << "every kernel of this file has its call";
    EXPECT_EQ(t.thread.tid[indexOf(k.thread_id)], 1087077U);
    const LaunchShapeRow shape = t.launch_shape.row(indexOf(k.shape_id));
    EXPECT_GE(shape.global_x, shape.local_x);
    // hipExtModuleLaunchKernel counts in work-items, hipLaunchKernel in blocks.
    if (t.text(k.name).starts_with("Cijk_")) {
      EXPECT_EQ(shape.global_x, 1792U);
      EXPECT_EQ(shape.global_y, 782U);
      EXPECT_EQ(shape.local_x, 256U);
    }
    if (t.text(k.name).find("CatArrayBatchedCopy<") != std::string_view::npos) {
      EXPECT_EQ(shape.global_x, 128U);
      EXPECT_EQ(shape.global_y, 2U);
    }
  }
  const DeviceRow device = t.device.row(indexOf(t.deviceOf(t.kernel.stream_id[0])));
  EXPECT_EQ(device.backend, PlatformType::ROCm);
  EXPECT_EQ(device.ordinal, 2U);
  EXPECT_EQ(got.kept, db.everything()) << "every value of every table comes back";
}

constexpr std::string_view kSmallRpd = R"sql(
  CREATE TABLE "rocpd_string" ("id" integer PRIMARY KEY, "string" varchar(4096));
  INSERT INTO rocpd_string VALUES (1, ''), (2, 'hipLaunchKernel'), (3, 'kernel'),
    (4, 'KernelExecution'), (5, 'UserMarker'), (6, 'forward'), (7, 'CopyDeviceToDevice');
  CREATE TABLE "rocpd_api" ("id" integer PRIMARY KEY, "pid" integer, "tid" integer,
    "start" integer, "end" integer, "apiName_id" integer, "args_id" integer);
  INSERT INTO rocpd_api VALUES (1, 10, 11, 100, 110, 2, 1), (2, 20, 21, 105, 115, 2, 1),
    (3, 10, 11, 90, 200, 5, 6);
  CREATE TABLE "rocpd_op" ("id" integer PRIMARY KEY, "gpuId" integer, "queueId" integer,
    "start" integer, "end" integer, "description_id" integer, "opType_id" integer);
  INSERT INTO rocpd_op VALUES (1, 0, 0, 120, 130, 3, 4), (2, 1, 0, 121, 131, 3, 4),
    (3, 0, 1, 125, 128, 1, 7), (4, 0, 1, 'never', 128, 1, 7);
  CREATE TABLE "rocpd_api_ops" ("id" integer PRIMARY KEY, "api_id" integer, "op_id" integer);
  INSERT INTO rocpd_api_ops VALUES (1, 1, 1), (2, 2, 2);
  CREATE TABLE "rocpd_monitor" ("id" integer PRIMARY KEY, "deviceType" text, "deviceId" integer,
    "monitorType" text, "start" integer, "end" integer, "value" text);
  INSERT INTO rocpd_monitor VALUES (1, 'gpu', 0, 'power', 100, 200, '41.5'),
    (2, 'gpu', 0, 'power', 200, 300, 'unknown'), (3, 'gpu', 0, 'power', 300, 400, '41.5x');
  CREATE TABLE "rocpd_barrierop" (a);
  INSERT INTO rocpd_barrierop VALUES (7);)sql";

TEST(RpdImporter, WorkHasTheProcessOfItsCallAndNoneWhereThatCanNotBeTold) {
  const TempFile made;
  Database(made.path()).run(std::string(kSmallRpd));
  const ImportedDatabase got = importedDatabase(made.path());
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 2U);
  std::map<uint32_t, uint32_t> tid_of_pid;
  for (size_t i = 0; i < 2; ++i) {
    tid_of_pid[t.process.pid[indexOf(t.kernel.process_id[i])]] =
        t.thread.tid[indexOf(t.kernel.thread_id[i])];
  }
  EXPECT_EQ(tid_of_pid, (std::map<uint32_t, uint32_t>{{10, 11}, {20, 21}}));
  ASSERT_EQ(t.copy.size(), 1U);
  EXPECT_EQ(t.copy.kind[0], CopyKind::kDeviceToDevice);
  EXPECT_EQ(t.copy.thread_id[0], ThreadId::kNone);
  EXPECT_EQ(t.copy.correlation_id[0], 0U);
  ASSERT_EQ(t.range.size(), 1U);
  EXPECT_EQ(t.text(t.range.name[0]), "forward");
  EXPECT_EQ(t.text(t.range.category[0]), "roctx");
  ASSERT_EQ(t.counter.size(), 1U);
  EXPECT_EQ(t.counter.value[0], 41.5);
  EXPECT_EQ(got.report->counts.others, 3U);
  EXPECT_EQ(got.kept, Database(made.path()).everything());
}

TEST(RpdImporter, MissingTablesAreSaidAndTheOthersAreRead) {
  for (const char* table : {"rocpd_string", "rocpd_api", "rocpd_op", "rocpd_api_ops"}) {
    SCOPED_TRACE(table);
    const TempFile made;
    Database(made.path()).run(std::string(kSmallRpd) + "DROP TABLE " + table + ";");
    const ImportedDatabase got = importedDatabase(made.path());
    ASSERT_TRUE(got.report);
    EXPECT_EQ(got.report->format, "rocmProfileData (RPD)");
    EXPECT_THAT(std::string(got.trace.text(got.trace.loss.reason[0])),
                HasSubstr(std::string("the table ") + table + " is missing"));
    EXPECT_GT(got.report->counts.rows, 0U);
    EXPECT_EQ(got.kept, Database(made.path()).everything());
  }
}

TEST(RpdImporter, LengthsThatCanNotBeAreNoneAndAreSaid) {
  const TempFile made;
  const Database db(made.path());
  db.run(std::string(kSmallRpd) +
         "UPDATE rocpd_op SET end = start - 1; UPDATE rocpd_api SET end = NULL;"
         "UPDATE rocpd_monitor SET start = 9223372036854775807;");
  const ImportedDatabase got = importedDatabase(made.path());
  ASSERT_EQ(got.trace.kernel.size(), 2U);
  EXPECT_EQ(got.trace.kernel.duration_ns[0], 0);
  EXPECT_EQ(got.trace.counter.size(), 0U);
  const std::string lost(got.trace.text(got.trace.loss.reason[0]));
  EXPECT_THAT(lost, HasSubstr("3 events end before they start"));
  EXPECT_THAT(lost, HasSubstr(std::to_string(db.number("SELECT count(*) FROM rocpd_api")) +
                              " events have no end"));
  EXPECT_THAT(lost, HasSubstr("1 events have an impossible time"));
  EXPECT_EQ(got.kept, db.everything());
}

TEST(RpdImporter, BrokenFilesAreImportedInPartOrRefusedButNeverHangOrCrash) {
  const TempFile made;
  Database(made.path()).run("PRAGMA page_size=512;" + std::string(kSmallRpd));
  const Bytes whole = made.bytes();
  std::mt19937_64 random(5);
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
