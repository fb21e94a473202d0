// SPDX-License-Identifier: Apache-2.0
// Importers write rows in batches, and read logs in windows and buffers. No row, launch or call may
// be lost at such a boundary, or up to two rows before or after it. chrome_importer_test.cpp tests
// Chrome's launches, and import_limits_test.cpp tests the windows of text readers.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/sqlite/sqlite_test_util.hpp"
#include "tracesmith/import/xray/xray_calls.hpp"
#include "tracesmith/import/xray/xray_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::importText;
using test::readLog;
using test::ReadLog;
using test::XRayLogBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kBatch = test::SmallBatches::kRows;

std::vector<int64_t> rowsAround(int64_t limit) {
  return {limit - 2, limit - 1, limit, limit + 1, limit + 2};
}

/// Imports the database created by `sql`; holds its trace and counts.
struct FromSql {
  explicit FromSql(const std::string& sql) {
    const test::TempFile made, output;
    test::Database(made.path()).run("PRAGMA journal_mode = OFF; BEGIN;" + sql + "COMMIT;");
    const auto report = importTrace(made.path(), output.path());
    EXPECT_TRUE(report) << report.error().toString();
    if (!report) return;
    counts = report->counts;
    trace = TraceReader::open(output.path())->read().value();
  }
  ImportCounts counts;
  Trace trace;
};

/// "WITH RECURSIVE n(i) …": the numbers 1 to `last`.
std::string numbers(int64_t last) {
  return "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
         std::to_string(last) + ") ";
}

/// Rows that refer to the first four and the last five of `last` rows.
std::string ends(const std::string& column, int64_t last) {
  return " WHERE " + column + " <= 4 OR " + column + " > " + std::to_string(last - 5);
}

/// Checks that `table` has one row at each time from `first` to `last`.
template <class Table>
void expectTimes(const Table& table, int64_t first, int64_t last) {
  ASSERT_EQ(static_cast<int64_t>(table.size()), last - first + 1);
  std::vector<bool> seen(table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    const int64_t at = table.start_ns[i] - first;
    ASSERT_TRUE(at >= 0 && at <= last - first && !seen[static_cast<size_t>(at)]) << at;
    seen[static_cast<size_t>(at)] = true;
  }
}

std::string nsysCalls(int64_t calls) {
  return "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
         "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'k'), (3, 'main'),"
         " (4, 'app');"
         "CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER,"
         " unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER);"
         "INSERT INTO CUDA_CALLCHAINS VALUES (1, 3, 4, NULL, 64, 0);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,"
         " correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);" +
         numbers(calls) +
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME"
         " SELECT i, i + 1, 42 << 24 | (10 + i % 3), i, 1, 0, 1 FROM n;";
}

TEST(ImportBoundaries, NsysWorkFindsItsCallWhereverTheBatchEnds) {
  const test::SmallBatches small;
  for (const int64_t calls : rowsAround(kBatch)) {
    SCOPED_TRACE(calls);
    // The kernels start at the boundary. Waits refer to event records before it.
    const FromSql got(
        nsysCalls(calls) +
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
        " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
        " demangledName INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start, end, 0, 1, 7, correlationId,"
        " 42 << 24, 2 FROM CUPTI_ACTIVITY_KIND_RUNTIME" +
        ends("correlationId", calls) + ";");
    expectTimes(got.trace.host_call, 1, calls);
    ASSERT_EQ(got.trace.kernel.size(), 9U);
    for (size_t i = 0; i < got.trace.kernel.size(); ++i) {
      const KernelRow k = got.trace.kernel.row(i);
      ASSERT_NE(k.thread_id, ThreadId::kNone) << k.start_ns;
      EXPECT_EQ(got.trace.thread.tid[indexOf(k.thread_id)], 10 + k.start_ns % 3);
      EXPECT_NE(k.call_path_id, CallPathId::kNone);
      EXPECT_EQ(got.trace.text(k.name), "k");
    }
    EXPECT_EQ(got.counts.rows, static_cast<uint64_t>(calls + 9));
    EXPECT_EQ(got.counts.others, 0U);
    EXPECT_THAT(got.counts.damage, IsEmpty());
    EXPECT_EQ(got.trace.text(got.trace.loss.reason[0]), "");
  }
}

TEST(ImportBoundaries, NsysWaitsFindTheirRecordABatchBefore) {
  const test::SmallBatches small;
  for (const int64_t between : rowsAround(kBatch - 1)) {
    SCOPED_TRACE(between);
    const FromSql got(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (start INTEGER, deviceId INTEGER,"
        " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
        " eventId INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (1, 0, 1, 9, 1, 42 << 24, 5);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
        " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER);" +
        numbers(between) +
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i, 0, 1, 7, 0, 42 << 24 FROM n;"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER,"
        " deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,"
        " globalPid INTEGER, syncType INTEGER, eventId INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES"
        " (9, 10, 0, 1, 7, 2, 42 << 24, 2, 5);");
    expectTimes(got.trace.kernel, 1, between);
    ASSERT_EQ(got.trace.flow.size(), 1U);
    EXPECT_EQ(got.trace.flow.from_correlation_id[0], 1U);
    EXPECT_EQ(got.trace.flow.to_correlation_id[0], 2U);
  }
}

TEST(ImportBoundaries, RocpdWorkAndCountersFindTheirEventWhereverTheBatchEnds) {
  const test::SmallBatches small;
  for (const int64_t calls : rowsAround(kBatch)) {
    SCOPED_TRACE(calls);
    const FromSql got(
        "CREATE TABLE rocpd_metadata_a (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);"
        "CREATE TABLE rocpd_string_a (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);"
        "INSERT INTO rocpd_string_a VALUES (1, '', 'HIP_RUNTIME_API_EXT'),"
        " (2, '', 'hipLaunchKernel');"
        "CREATE TABLE rocpd_info_process_a (id INTEGER PRIMARY KEY, pid INTEGER);"
        "INSERT INTO rocpd_info_process_a VALUES (1, 42);"
        "CREATE TABLE rocpd_info_thread_a (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER);"
        "INSERT INTO rocpd_info_thread_a VALUES (0, 1, 10), (1, 1, 11), (2, 1, 12);"
        "CREATE TABLE rocpd_info_pmc_a (id INTEGER PRIMARY KEY, agent_id INTEGER, name TEXT);"
        "INSERT INTO rocpd_info_pmc_a VALUES (11, 2, 'SQ_WAVES');"
        "CREATE TABLE rocpd_event_a (id INTEGER PRIMARY KEY, category_id INTEGER,"
        " stack_id INTEGER, correlation_id INTEGER);"
        "CREATE TABLE rocpd_region_a (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,"
        " start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER);" +
        numbers(calls) + "INSERT INTO rocpd_event_a SELECT i, 1, i, i FROM n;" + numbers(calls) +
        "INSERT INTO rocpd_region_a SELECT i, 1, i % 3, i, i + 1, 2, i FROM n;"
        "CREATE TABLE rocpd_kernel_dispatch_a (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,"
        " agent_id INTEGER, kernel_id INTEGER, queue_id INTEGER, start BIGINT, end BIGINT,"
        " event_id INTEGER);"
        "INSERT INTO rocpd_kernel_dispatch_a SELECT id, 1, tid, 2, 1, 3, start, end, event_id"
        " FROM rocpd_region_a" +
        ends("id", calls) +
        ";"
        "CREATE TABLE rocpd_pmc_event_a (id INTEGER PRIMARY KEY, event_id INTEGER,"
        " pmc_id INTEGER, value REAL);"
        "INSERT INTO rocpd_pmc_event_a SELECT id, event_id, 11, id FROM rocpd_region_a" +
        ends("id", calls) + ";");
    expectTimes(got.trace.host_call, 1, calls);
    ASSERT_EQ(got.trace.kernel.size(), 9U);
    for (size_t i = 0; i < got.trace.kernel.size(); ++i) {
      const KernelRow k = got.trace.kernel.row(i);
      EXPECT_EQ(k.correlation_id, static_cast<uint64_t>(k.start_ns));
      ASSERT_NE(k.thread_id, ThreadId::kNone) << k.start_ns;
      EXPECT_EQ(got.trace.thread.tid[indexOf(k.thread_id)], 10 + k.start_ns % 3);
    }
    ASSERT_EQ(got.trace.counter.size(), 9U);  // each at the time of its event
    for (size_t i = 0; i < got.trace.counter.size(); ++i) {
      EXPECT_EQ(static_cast<double>(got.trace.counter.time_ns[i]), got.trace.counter.value[i]);
    }
    EXPECT_EQ(got.counts.others, 0U);
    EXPECT_THAT(got.counts.damage, IsEmpty());
    EXPECT_EQ(got.trace.text(got.trace.loss.reason[0]), "");
  }
}

/// Rows of a table may have many patterns; beyond 1,024 patterns, rows are kept as one text each.
TEST(ImportBoundaries, DatabaseRowsOfAnyPatternAreKept) {
  std::string sql =
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE OSRT_API (start INTEGER, end INTEGER";
  std::string row = "i, i + 1";
  for (int bit = 0; bit < 11; ++bit) {
    sql += ", c" + std::to_string(bit) + " INTEGER";
    row += ", CASE WHEN i >> " + std::to_string(bit) + " & 1 THEN i END";
  }
  for (const int64_t rows : rowsAround(1024)) {
    const test::TempFile made;
    const test::Database database(made.path());
    database.run(sql + ");" + numbers(rows) + "INSERT INTO OSRT_API SELECT " + row + " FROM n;");
    const test::ImportedDatabase got = test::importedDatabase(made.path());
    EXPECT_EQ(got.trace.range.size(), static_cast<size_t>(rows));
    EXPECT_EQ(got.kept, database.everything()) << rows;
  }
}

TEST(ImportBoundaries, XRayCallsAreWholeWhereverTheBatchEnds) {
  const test::SmallBatches small;
  for (const int64_t calls : rowsAround(kBatch)) {
    XRayLogBuilder log(3, XRayMode::kBasic);
    for (int64_t i = 0; i < calls; ++i) {
      log.basic(0, 2, static_cast<uint64_t>(2 * i)).basic(1, 2, static_cast<uint64_t>(2 * i + 1));
    }
    const auto got = importText(log.string());
    ASSERT_TRUE(got.ok) << got.error;
    ASSERT_EQ(got.trace.range.size(), static_cast<size_t>(calls));
    EXPECT_EQ(got.counts.events, static_cast<uint64_t>(2 * calls));
    for (size_t i = 0; i < got.trace.range.size(); ++i) {
      ASSERT_EQ(got.trace.range.kind[i], RangeKind::kRange) << i;
      ASSERT_EQ(got.trace.range.duration_ns[i], 1) << i;
    }
    EXPECT_EQ(got.trace.text(got.trace.loss.reason[0]), "");
  }
}

TEST(ImportBoundaries, XRayArgumentsFindTheirCallAcrossTheWindow) {
  constexpr int64_t kWindowRecords = 1 << 15;
  for (const int64_t before : rowsAround(kWindowRecords)) {
    XRayLogBuilder log(3, XRayMode::kBasic);
    for (int64_t i = 0; i < before; ++i) log.basic(0, 1, 1);
    log.basic(3, 5, 2).basicArgument(5, 42).basicArgument(5, 43).basic(1, 5, 3);
    const ReadLog got = readLog(log.string());
    EXPECT_TRUE(got.damage.empty()) << got.damage.summary();
    ASSERT_EQ(got.records.size(), static_cast<size_t>(before + 2));
    EXPECT_THAT(got.records[got.records.size() - 2].arguments, ElementsAre(42, 43)) << before;
  }
}

TEST(ImportBoundaries, XRayCallsHaveUpTo64Arguments) {
  for (const int64_t arguments : rowsAround(64)) {
    XRayLogBuilder log(3, XRayMode::kBasic);
    log.basic(3, 5, 2);
    for (int64_t i = 0; i < arguments; ++i) log.basicArgument(5, static_cast<uint64_t>(i));
    const ReadLog got = readLog(log.basic(1, 5, 3).string());
    ASSERT_EQ(got.records.size(), 2U);
    const auto kept = static_cast<int64_t>(got.records[0].arguments.size());
    EXPECT_EQ(kept, std::min<int64_t>(arguments, 64));
    int64_t lost = 0;
    for (const auto& place : got.damage.places()) lost += static_cast<int64_t>(place.bytes) / 32;
    EXPECT_EQ(kept + lost, arguments);
  }
}

// --- Buffers of FDR logs ---------------------------------------------------------------------

struct Call {
  int32_t function;
  uint64_t enter, exit;
  XRayEnd end;
  bool operator==(const Call&) const = default;
};

std::vector<Call> callsOf(const ReadLog& log) {
  std::vector<Call> calls;
  XRayCalls stacks([&](const XRayCall& c) {
    calls.push_back({c.function, c.enter_tsc, c.exit_tsc, c.end});
  });
  for (const test::KeptRecord& r : log.records) stacks.add(r.r);
  stacks.finish();
  return calls;
}

constexpr uint64_t kPrefaceBytes = 4 * 16;  // thread, wall clock, process, CPU

/// A buffer of thread 11 that starts at `tsc`. `claimed`: the size of `body` according to its
/// extents record.
void putBuffer(XRayLogBuilder& log, uint64_t tsc, uint32_t micros, const Bytes& body,
               int64_t claimed) {
  log.metadata(7, kPrefaceBytes + static_cast<uint64_t>(claimed))
      .metadata(0, int32_t{11})
      .metadata(4, uint64_t{12}, micros)
      .metadata(9, int32_t{10})
      .metadata(2, uint16_t{3}, tsc);
  log.bytes.insert(log.bytes.end(), body.begin(), body.end());
}

/// Entries of functions 1 to n and their exits, one tick apart.
struct NestedCalls {
  explicit NestedCalls(uint32_t n) {
    for (uint32_t i = 1; i <= n; ++i) records.emplace_back(0, i);
    for (uint32_t i = n; i > 0; --i) records.emplace_back(1, i);
  }
  /// Writes records `from` to `to` as a buffer that starts at the time of `from`.
  void put(XRayLogBuilder& log, size_t from, size_t to, uint32_t micros) const {
    XRayLogBuilder body(5, XRayMode::kFdr);
    body.bytes.clear();
    for (size_t i = from; i < to; ++i) {
      body.function(records[i].first, records[i].second, i == from ? 0 : 1);
    }
    putBuffer(log, from, micros, body.bytes, static_cast<int64_t>(body.bytes.size()));
  }
  std::vector<std::pair<uint32_t, uint32_t>> records;  // kind and function
};

TEST(ImportBoundaries, FdrCallsAreWholeWhereverABufferEnds) {
  const NestedCalls nested(6);
  XRayLogBuilder one(5, XRayMode::kFdr);
  nested.put(one, 0, nested.records.size(), 0);
  const std::vector<Call> whole = callsOf(readLog(one.string()));
  ASSERT_EQ(whole.size(), 6U);
  for (const Call& call : whole) ASSERT_EQ(call.end, XRayEnd::kReturned);
  for (size_t first = 0; first <= nested.records.size(); ++first) {
    for (size_t second = first; second <= nested.records.size(); ++second) {
      // In time order, and in the order of a flushed ring of buffers; with exact wall clocks, and
      // with one too coarse to distinguish the buffers.
      for (const uint32_t step : {100U, 0U}) {
        const auto put = [&](XRayLogBuilder& log, int which) {
          const size_t from = which == 0 ? 0 : which == 1 ? first : second;
          const size_t to = which == 0 ? first : which == 1 ? second : nested.records.size();
          nested.put(log, from, to, step * static_cast<uint32_t>(which));
        };
        for (const auto& order : {std::vector{0, 1, 2}, {1, 2, 0}, {2, 0, 1}}) {
          XRayLogBuilder log(5, XRayMode::kFdr);
          for (const int which : order) put(log, which);
          const ReadLog got = readLog(log.string());
          EXPECT_TRUE(got.damage.empty()) << got.damage.summary();
          ASSERT_EQ(callsOf(got), whole) << first << ", " << second << ", " << step;
        }
      }
    }
  }
}

TEST(ImportBoundaries, ABufferWhoseSizeIsWrongCostsNoOther) {
  const NestedCalls nested(3);
  XRayLogBuilder body(5, XRayMode::kFdr);
  body.bytes.clear();
  for (const auto& [kind, function] : nested.records) body.function(kind, function, 1);
  const auto size = static_cast<int64_t>(body.bytes.size());
  for (const int64_t claimed : rowsAround(size)) {
    XRayLogBuilder log(5, XRayMode::kFdr);
    putBuffer(log, 0, 0, body.bytes, claimed);
    putBuffer(log, 100, 100, body.bytes, size);
    putBuffer(log, 200, 200, body.bytes, size);
    const ReadLog got = readLog(log.string());
    EXPECT_EQ(got.damage.empty(), claimed == size) << claimed;
    const size_t intact =
        static_cast<size_t>(std::count_if(got.records.begin(), got.records.end(),
                                          [](const test::KeptRecord& r) { return r.r.tsc > 200; }));
    EXPECT_EQ(intact, nested.records.size()) << claimed;
    if (claimed <= size) {  // the second starts where expected, or a few bytes later
      EXPECT_EQ(got.records.size(), 3 * nested.records.size() - (claimed < size ? 1 : 0))
          << claimed;
    }
  }
}

TEST(ImportBoundaries, OldFdrBuffersMayBeFullToTheLastByte) {
  // Six calls fill 96 bytes after a preface of 48; the buffers are up to two records longer.
  const NestedCalls nested(6);
  for (const uint64_t spare : {0U, 8U, 16U, 24U}) {
    XRayLogBuilder log(1, XRayMode::kFdr, 1'000'000'000, 48 + 96 + spare);
    for (int32_t thread = 20; thread < 23; ++thread) {
      log.metadata(0, thread)
          .metadata(4, uint64_t{1}, uint32_t{0})
          .metadata(2, uint16_t{0}, uint64_t{100});
      for (const auto& [kind, function] : nested.records) log.function(kind, function, 1);
      if (spare >= 16) log.metadata(1);
      log.text(std::string(spare >= 16 ? spare - 16 : spare, '\0'));
    }
    const ReadLog got = readLog(log.string());
    EXPECT_TRUE(got.damage.empty()) << got.damage.summary();
    const size_t whole =
        3 * nested.records.size() + (spare == 8 ? 3 : 0);  // zeros enter function 0
    EXPECT_EQ(got.records.size(), whole) << spare;
  }
}

TEST(ImportBoundaries, TheLastBufferMayBeCutAtAnyByte) {
  const NestedCalls nested(3);
  XRayLogBuilder log(5, XRayMode::kFdr);
  nested.put(log, 0, 6, 0);
  const std::string first = log.string();
  nested.put(log, 0, 6, 100);
  const std::string both = log.string();
  for (size_t cut = first.size(); cut <= both.size(); ++cut) {
    const ReadLog got = readLog(both.substr(0, cut));
    const size_t begun = first.size() + 16 + kPrefaceBytes;
    const size_t second = cut > begun ? (cut - begun) / 8 : 0;
    EXPECT_EQ(got.records.size(), 6 + second) << cut;
    EXPECT_EQ(got.damage.empty(), cut == first.size() || cut == both.size()) << cut;
  }
}

}  // namespace
}  // namespace tracesmith::import
