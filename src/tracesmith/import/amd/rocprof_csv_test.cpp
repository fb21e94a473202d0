// SPDX-License-Identifier: Apache-2.0
// The real tables come from rocprofiler-sdk's documentation. Allocations, agents and the columns of
// newer versions are handwritten here.
#include "tracesmith/import/amd/rocprof_csv.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>

#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/import/common/csv_reader.hpp"
#include "tracesmith/import/common/import_test_util.hpp"
#include "tracesmith/import/common/source_test_util.hpp"
#include "tracesmith/import/import_trace.hpp"

namespace tracesmith::import {
namespace {

using test::TempFile;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct ImportedCsv {
  bool ok = false;
  std::string error;
  ImportReport report;
  Trace trace;
  std::vector<nlohmann::json> sources;
  std::string lost() const { return std::string(trace.text(trace.loss.reason[0])); }
};

ImportedCsv importedFiles(const std::vector<std::string>& paths) {
  const TempFile output;
  ImportOptions options;
  options.more.assign(paths.begin() + 1, paths.end());
  Result<ImportReport> report = importTrace(paths.front(), output.path(), options);
  if (!report) return {.error = report.error().toString()};
  auto reader = TraceReader::open(output.path());
  EXPECT_TRUE(reader);
  return {true, {}, *report, reader->read().value(), test::sourcesOf(output.path())};
}

ImportedCsv importedCsv(const std::vector<std::string>& texts) {
  std::vector<std::unique_ptr<TempFile>> files;
  std::vector<std::string> paths;
  for (const std::string& text : texts) {
    files.push_back(std::make_unique<TempFile>());
    files.back()->write(asBytes(text));
    paths.push_back(files.back()->path());
  }
  return importedFiles(paths);
}

const std::string kKernels =
    "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\","
    "\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_Size\","
    "\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_X\","
    "\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\r\n"
    "\"KERNEL_DISPATCH\",\"Agent 4\",1,2,69,11,16,\"void add<float>(float*, \"\"q\"\")\",1451,1000,"
    "1400,512,16,8,4,32,64,1,1,1024,8,1\r\n";
const std::string kCounters =
    "\"Dispatch_Id\",\"Agent_Id\",\"Process_Id\",\"Counter_Name\",\"Counter_Value\"\n"
    "11,\"Agent 4\",42,\"SQ_WAVES\",16384.5\n12,\"Agent 4\",42,\"SQ_WAVES\",1\n";
const std::string kAgents =
    "\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Cu_Count\",\"Wave_Front_Size\","
    "\"Max_Waves_Per_Cu\",\"Name\",\"Product_Name\",\"Vendor_Name\"\n"
    "4,4,\"GPU\",304,64,32,\"gfx942\",\"AMD Instinct MI300X\",\"AMD\"\n";
const std::string kAllocations =
    "\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\",\"Correlation_Id\","
    "\"Start_Timestamp\",\"End_Timestamp\"\n"
    "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_ALLOCATE\",\"Agent 4\",4096,\"0x7f00\",3,500,510\n"
    "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_FREE\",\"Agent 4\",0,\"0x7f00\",4,600,610\n";

TEST(RocprofCsv, TheTablesOfARunMakeOneTrace) {
  const ImportedCsv got = importedCsv({kCounters, kKernels, kAllocations, kAgents});
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.report.format, "rocprofv3 CSV");
  EXPECT_THAT(got.report.counts.damage, IsEmpty());
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 1U);
  const KernelRow k = t.kernel.row(0);
  EXPECT_EQ(t.text(k.name), "void add<float>(float*, \"q\")");
  EXPECT_EQ(k.duration_ns, 400);
  EXPECT_EQ(k.correlation_id, 1451U);
  EXPECT_EQ(t.process.pid[indexOf(k.process_id)], 42U);  // named in another table
  const LaunchShapeRow shape = t.launch_shape.row(indexOf(k.shape_id));
  EXPECT_EQ(shape.global_x, 1024U);
  EXPECT_EQ(shape.global_y, 8U);
  EXPECT_EQ(shape.registers_per_thread, 12U);
  EXPECT_EQ(shape.static_shared_bytes, 512U);
  EXPECT_EQ(t.stream.handle[indexOf(k.stream_id)], 2U);
  std::map<DeviceId, DeviceRow> devices;
  for (size_t i = 0; i < t.device.size(); ++i) devices[t.device.id[i]] = t.device.row(i);
  EXPECT_EQ(t.text(devices.at(t.stream.device_id[indexOf(k.stream_id)]).name),
            "AMD Instinct MI300X");
  ASSERT_EQ(t.counter.size(), 1U);  // the other dispatch is in no table
  EXPECT_EQ(t.counter.time_ns[0], 1000);
  EXPECT_EQ(t.counter.value[0], 16384.5);
  ASSERT_EQ(t.memory_event.size(), 2U);
  EXPECT_EQ(t.memory_event.kind[1], MemoryKind::kFree);
  EXPECT_EQ(t.memory_event.address[0], 0x7f00U);
  EXPECT_EQ(got.report.counts.events, 6U);
  EXPECT_EQ(got.report.counts.rows, 4U);
  EXPECT_EQ(got.report.counts.others, 1U);
  EXPECT_EQ(got.sources.size(), 6U);
}

/// A table as JSON objects, with integers as numbers.
std::multiset<std::string> recordsOf(const std::string& text) {
  std::multiset<std::string> all;
  test::TextSource source(text);
  CsvReader reader(source);
  std::vector<std::string> names, fields;
  reader.next(names);
  while (reader.next(fields)) {
    nlohmann::json record;
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::string name = i < names.size() ? names[i] : "column " + std::to_string(i + 1);
      char* end = nullptr;
      const long long value = std::strtoll(fields[i].c_str(), &end, 10);
      if (std::to_string(value) == fields[i]) {
        record[name] = value;
      } else {
        record[name] = fields[i];
      }
    }
    all.insert(record.dump());
  }
  return all;
}

std::multiset<std::string> dumped(const std::vector<nlohmann::json>& sources) {
  std::multiset<std::string> all;
  for (const auto& source : sources) all.insert(source.dump());
  return all;
}

TEST(RocprofCsv, EveryColumnOfEveryRecordIsKept) {
  for (const std::string& table : {kKernels, kCounters, kAgents, kAllocations,
                                   kAgents + "5,5,\"CPU\",\"007\",9223372036854775807\n"
                                             "6,6,\"CPU\",1,2,3,4,5,6,7,8\n"}) {
    EXPECT_EQ(dumped(importedCsv({table}).sources), recordsOf(table));
  }
}

TEST(RocprofCsv, RealTables) {
  const char* const data = std::getenv("TRACESMITH_TEST_DATA");
  const std::string folder =
      std::string(data == nullptr ? "" : data) + "/traces/rocprofiler_sdk/source/docs/data/";
  if (data == nullptr || !std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no real tables (TRACESMITH_TEST_DATA)";
  }
  // Number of records that Python's csv.DictReader finds in each table, and the sum of their
  // durations.
  const std::map<std::string, std::pair<size_t, int64_t>> tables = {
      {"counter_collection.csv", {7, 0}},        {"hip_compile_trace.csv", {4, 23324}},
      {"hip_runtime_trace.csv", {8, 972177644}}, {"hsa_api_trace.csv", {10, 13473}},
      {"kernel_trace.csv", {7, 795453}},         {"marker_api_trace.csv", {5, 4962639}},
      {"memory_copy_trace.csv", {2, 1145680}},
  };
  for (const auto& [name, expected] : tables) {
    const ImportedCsv got = importedFiles({folder + name});
    ASSERT_TRUE(got.ok) << name << got.error;
    EXPECT_EQ(got.report.counts.events, expected.first) << name;
    const Trace& t = got.trace;
    int64_t sum = 0;
    for (const int64_t d : t.kernel.duration_ns) sum += d;
    for (const int64_t d : t.copy.duration_ns) sum += d;
    for (const int64_t d : t.host_call.duration_ns) sum += d;
    for (const int64_t d : t.range.duration_ns) sum += d;
    EXPECT_EQ(sum, expected.second) << name;
    std::ifstream file(folder + name);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    EXPECT_EQ(dumped(got.sources), recordsOf(text)) << name;
  }
}

/// The records of a table, read by a simple parser. `open`: the last one ends inside quotes.
std::vector<std::vector<std::string>> recordsIn(const std::string& table, bool& open) {
  std::vector<std::vector<std::string>> records = {{""}};
  bool quoted = false;
  bool at_begin = true;  // at the start of a field
  for (size_t i = 0; i < table.size(); ++i) {
    const char c = table[i];
    std::string& field = records.back().back();
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (table.substr(i + 1, 1) == "\"") {
        field += table[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && at_begin) {
      quoted = true;
    } else if (c == ',') {
      records.back().emplace_back();
    } else if (c == '\n') {
      records.push_back({""});
    } else if (c != '\r' || table.substr(i + 1, 1) != "\n") {
      field += c;
    }
    at_begin = !quoted && (c == ',' || c == '\n');
  }
  open = quoted;
  std::erase(records, std::vector<std::string>{""});
  return records;
}

bool isInteger(const std::string& text) {
  return std::to_string(std::strtoll(text.c_str(), nullptr, 10)) == text;
}

/// Checks the expected result for a kernel table, record by record.
void expectEveryRecord(const std::string& table) {
  const ImportedCsv got = importedCsv({table});
  bool open = false;
  const std::vector<std::vector<std::string>> records = recordsIn(table, open);
  if (!got.ok) {
    EXPECT_THAT(got.error, ::testing::AnyOf(HasSubstr("known format"), HasSubstr("is empty"),
                                            HasSubstr("does not have the columns")));
    EXPECT_FALSE(table.starts_with(kKernels.substr(0, kKernels.find('\n'))));
    return;
  }
  const std::vector<std::string>& header = records.front();
  const auto place = [&](const char* name) {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  size_t rows = 0;
  bool sound = !open;
  bool backwards = false;
  for (size_t i = 1; i < records.size(); ++i) {
    const std::vector<std::string>& r = records[i];
    const bool whole = r.size() == header.size();
    sound = sound && whole;
    if (!whole) continue;
    const std::string& start = r[place("Start_Timestamp")];
    const std::string& end = r[place("End_Timestamp")];
    if (!isInteger(start) || !isInteger(end)) continue;
    ++rows;
    backwards = backwards || std::stoll(end) < std::stoll(start);
  }
  const ImportCounts& counts = got.report.counts;
  EXPECT_EQ(counts.events, records.size() - 1);
  EXPECT_EQ(counts.rows, rows);
  EXPECT_EQ(got.trace.kernel.size(), rows);
  EXPECT_EQ(counts.rows + counts.others, counts.events);
  EXPECT_EQ(got.sources.size(), counts.events) << "what is no row is kept";
  EXPECT_EQ(got.lost().empty(), !backwards && counts.others == 0 && counts.damage.empty());
  EXPECT_TRUE(sound || !counts.damage.empty());
}

TEST(RocprofCsv, EveryRecordOfADamagedTableIsARowOrCounted) {
  const std::string whole = kKernels + kKernels.substr(kKernels.find('\n') + 1);
  for (size_t n = 0; n < whole.size(); n += 13) {
    SCOPED_TRACE("at " + std::to_string(n));
    expectEveryRecord(whole.substr(0, n));
    std::string changed = whole;
    for (const char with : {'\0', '"', ',', '\n', '\xff', '9'}) {
      SCOPED_TRACE("with " + std::to_string(with));
      changed[n] = with;
      expectEveryRecord(changed);
    }
  }
}

TEST(RocprofCsv, ValuesOfCountersThatOnlyBeginWithANumberAreNone) {
  std::string counters = kCounters;
  counters.replace(counters.find("16384.5"), 7, "16384.5x");
  const ImportedCsv got = importedCsv({kKernels, counters});
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_TRUE(got.trace.counter.empty());
  EXPECT_THAT(got.lost(), HasSubstr("1 counter values that are not numbers are kept"));
}

TEST(RocprofCsv, NumbersThatCanNotBeDoNoHarm) {
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string changed = kKernels;
    changed.replace(changed.find(what), what.size(), instead);
    return importedCsv({changed});
  };
  const ImportedCsv backwards = with("1400", "5");
  EXPECT_EQ(backwards.trace.kernel.duration_ns[0], 0);
  EXPECT_THAT(backwards.lost(), HasSubstr("1 events end before they start"));
  EXPECT_EQ(with("1400", "8.1097E+14").report.counts.others, 1U);
  EXPECT_EQ(with(",1000,", ",-9223372036854775808,").report.counts.others, 1U);
  EXPECT_EQ(with("Agent 4", "GPU 99999999999999999999").trace.kernel.size(), 1U);
  EXPECT_EQ(with(",1024,", ",-1,").trace.kernel.size(), 1U);
}

TEST(RocprofCsv, ARecordOfOtherFieldsThanTheHeaderIsNoRow) {
  // A missing quote moves the times of one kernel, or those of the next, to other columns.
  const std::string header = kKernels.substr(0, kKernels.find('\n') + 1);
  const std::string record = kKernels.substr(header.size());
  std::string open = record;
  open.replace(open.find("\"Agent 4\""), 9, "\"Agent 4");
  for (const std::string& broken : {std::string("\"KERNEL_DISPATCH\",1,1,69,1,16,\"void addi\r\n"),
                                    open, record.substr(0, record.rfind(",8,1")) + "\r\n"}) {
    SCOPED_TRACE(broken);
    const ImportedCsv got = importedCsv({header + broken + record + record});
    ASSERT_TRUE(got.ok) << got.error;
    for (size_t i = 0; i < got.trace.kernel.size(); ++i) {
      EXPECT_EQ(got.trace.kernel.start_ns[i], 1000);
      EXPECT_EQ(got.trace.kernel.duration_ns[i], 400);
    }
    EXPECT_EQ(got.trace.kernel.size() + 1, got.report.counts.events);
    EXPECT_EQ(got.report.counts.others, 1U);
    EXPECT_EQ(got.report.counts.damage.size(), 1U);
    EXPECT_EQ(got.sources.size(), got.report.counts.events);
  }
}

TEST(RocprofCsv, CountersWithoutTheirDispatchesSayWhatIsMissing) {
  const ImportedCsv got = importedCsv({kCounters});
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.report.counts.rows, 0U);
  EXPECT_THAT(got.lost(), HasSubstr("kernel_trace.csv"));
  EXPECT_THAT(got.report.counts.notes, Contains(HasSubstr("2 counter values have no time")));
}

TEST(RocprofCsv, NoSourceIsWrittenOver) {
  const TempFile first, second;
  first.write(asBytes(kKernels));
  second.write(asBytes(kCounters));
  const auto report = importTrace(first.path(), second.path(), {.more = {second.path()}});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().toString(), HasSubstr("overwritten"));
  EXPECT_EQ(asText(second.bytes()), kCounters);
}

TEST(RocprofCsv, AFileThatIsGivenTwiceIsRefused) {
  const TempFile kernels, counters;
  kernels.write(asBytes(kKernels));
  counters.write(asBytes(kCounters));
  EXPECT_THAT(importedFiles({kernels.path(), counters.path(), kernels.path()}).error,
              HasSubstr("is given twice"));
  const std::string link = counters.path() + ".link";
  ASSERT_EQ(::symlink(kernels.path().c_str(), link.c_str()), 0);
  EXPECT_THAT(importedFiles({kernels.path(), link}).error, HasSubstr("is the same file as"));
  ::unlink(link.c_str());
}

TEST(RocprofCsv, OtherTablesAreNotTaken) {
  EXPECT_THAT(importedCsv({"\"Name\",\"Calls\",\"TotalDurationNs\"\n\"a\",1,2\n"}).error,
              HasSubstr("known format"));
  EXPECT_THAT(importedCsv({kKernels, "a,b\n1,2\n"}).error, HasSubstr("not a rocprofv3 table"));
  EXPECT_THAT(importedCsv({R"({"traceEvents": [{"ph":"X"}]})", kKernels}).error,
              HasSubstr("is not an execution trace"));
}

}  // namespace
}  // namespace tracesmith::import
