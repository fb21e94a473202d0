// SPDX-License-Identifier: Apache-2.0
// The real document only contains dispatches. Calls, markers, copies, allocations and counters are
// handwritten, following rocprofiler-sdk's own schema (rocprofv3-schema.json).
#include "tracesmith/import/amd/rocprof_json.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tracesmith/base/sanitized.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/import/common/import_test_util.hpp"
#include "tracesmith/import/common/source_test_util.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/import/xray/xray_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::TempFile;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

struct ImportedJson {
  bool ok = false;
  ImportReport report;
  Trace trace;
  std::vector<nlohmann::json> sources;
  std::string lost() const { return std::string(trace.text(trace.loss.reason[0])); }
};

ImportedJson importedFile(const std::string& path, size_t every_source = 0) {
  const TempFile output;
  Result<ImportReport> report = importTrace(path, output.path());
  if (!report) return {};
  auto reader = TraceReader::open(output.path());
  EXPECT_TRUE(reader);
  return {true, *report, reader->read().value(),
          every_source > 0 ? test::sourcesOf(output.path(), every_source)
                           : std::vector<nlohmann::json>{}};
}

ImportedJson importedJson(std::string_view text, bool sources = false) {
  const TempFile file;
  file.write(asBytes(text));
  return importedFile(file.path(), sources ? 1 : 0);
}

// Symbols and strings come after the records that refer to them, because members of JSON have no
// order.
constexpr std::string_view kRun = R"json({"rocprofiler-sdk-tool": [{
"metadata": {"pid": 42, "init_time": 1, "command": ["./app", "-x"], "node": {"hostname": "box"},
  "config": {"group_by_queue": false}},
"agents": [
  {"id": {"handle": 100}, "type": 1, "name": "CPU", "product_name": "EPYC", "cu_count": 64},
  {"id": {"handle": 200}, "type": 2, "name": "gfx942", "product_name": "MI300X", "cu_count": 304,
   "wave_front_size": 64, "max_waves_per_cu": 32, "gfx_target_version": 90402, "domain": 1,
   "location_id": 768, "vendor_name": "AMD", "logical_node_type_id": 0, "workgroup_max_size": 1024,
   "mem_banks": [{"heap_type": 1, "size_in_bytes": 1000, "mem_clk_max": 1300, "width": 8192}]}],
"buffer_records": {
 "kernel_dispatch": [
  {"size": 184, "kind": 11, "operation": 2, "thread_id": 43,
   "correlation_id": {"internal": 7, "external": 0}, "start_timestamp": 1000,
   "end_timestamp": 1500, "dispatch_info": {"agent_id": {"handle": 200},
   "queue_id": {"handle": 3}, "kernel_id": 5, "dispatch_id": 1, "private_segment_size": 16,
   "group_segment_size": 4096, "workgroup_size": {"x": 64, "y": 2, "z": 1},
   "grid_size": {"x": 1024, "y": 2, "z": 1}}, "stream_id": {"handle": 9}}],
 "hip_api": [{"size": 48, "kind": 1, "operation": 1, "correlation_id": {"internal": 7, "external": 0},
   "start_timestamp": 900, "end_timestamp": 950, "thread_id": 43}],
 "marker_api": [{"kind": 2, "operation": 0, "correlation_id": {"internal": 8, "external": 0},
   "start_timestamp": 800, "end_timestamp": 2000, "thread_id": 43}],
 "memory_copy": [{"kind": 3, "operation": 1, "correlation_id": {"internal": 9, "external": 0},
   "start_timestamp": 1600, "end_timestamp": 1700, "thread_id": 43, "dst_agent_id": {"handle": 200},
   "src_agent_id": {"handle": 100}, "bytes": 4096}],
 "memory_allocation": [{"kind": 4, "operation": 1, "correlation_id": {"internal": 10, "external": 0},
   "start_timestamp": 700, "end_timestamp": 710, "thread_id": 43, "agent_id": {"handle": 200},
   "address": "0x7f0000", "allocation_size": 8192}],
 "newer_than_this": [{"start_timestamp": 5, "end_timestamp": 6, "note": "é\n"}, {"no": "times"}]
},
"callback_records": {"counter_collection": [
  {"thread_id": 43, "dispatch_data": {"correlation_id": {"internal": 7, "external": 0},
   "start_timestamp": 1000, "end_timestamp": 1500, "dispatch_info": {"agent_id": {"handle": 200},
   "queue_id": {"handle": 3}, "kernel_id": 5}}, "records": [
   {"counter_id": {"handle": 1}, "value": 10.5}, {"counter_id": {"handle": 1}, "value": 2}]}]},
"counters": [{"id": {"handle": 1}, "name": "SQ_WAVES"}],
"strings": {"buffer_records": [{"kind": "NONE", "operations": []},
  {"kind": "HIP_RUNTIME_API", "operations": ["hipInit", "hipLaunchKernel"]},
  {"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]},
  {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
  {"kind": "MEMORY_ALLOCATION", "operations": ["NONE", "MEMORY_ALLOCATION_ALLOCATE"]}],
  "marker_api": [{"key": 8, "value": "step 1"}]},
"kernel_symbols": [{"kernel_id": 5, "kernel_name": "_Z3addPf.kd", "group_segment_size": 1024,
  "arch_vgpr_count": 24, "accum_vgpr_count": 8, "formatted_kernel_name": "add(float*)"}]
}]})json";

TEST(RocprofJson, EveryKindFindsItsTable) {
  const ImportedJson got = importedJson(kRun);
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.report.format, "rocprofv3 JSON");
  EXPECT_THAT(got.report.counts.damage, IsEmpty());
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 1U);
  const KernelRow k = t.kernel.row(0);
  EXPECT_EQ(t.text(k.name), "add(float*)");
  EXPECT_EQ(k.start_ns, 1000);
  EXPECT_EQ(k.duration_ns, 500);
  EXPECT_EQ(k.correlation_id, 7U);
  const LaunchShapeRow shape = t.launch_shape.row(indexOf(k.shape_id));
  EXPECT_EQ(shape.dimensions, 2U);
  EXPECT_EQ(shape.global_x, 1024U);  // in work-items, as in AMD's traces
  EXPECT_EQ(shape.local_x, 64U);
  EXPECT_EQ(shape.static_shared_bytes, 1024U);
  EXPECT_EQ(shape.dynamic_shared_bytes, 3072U);
  EXPECT_EQ(shape.registers_per_thread, 32U);
  EXPECT_EQ(shape.local_bytes_per_thread, 16U);
  const StreamRow stream = t.stream.row(indexOf(k.stream_id));
  EXPECT_EQ(stream.handle, 9U);

  std::map<DeviceId, DeviceRow> devices;  // the last row with an id counts
  for (size_t i = 0; i < t.device.size(); ++i) devices[t.device.id[i]] = t.device.row(i);
  const DeviceRow gpu = devices.at(stream.device_id);
  EXPECT_EQ(t.text(gpu.name), "MI300X");
  EXPECT_EQ(gpu.compute_units, 304U);
  EXPECT_EQ(gpu.max_threads_per_unit, 2048U);
  EXPECT_EQ(gpu.memory_bytes, 1000U);
  EXPECT_EQ(t.text(gpu.pci_address), "0001:03:00.0");
  EXPECT_EQ(gpu.compute_major, 9U);

  ASSERT_EQ(t.host_call.size(), 1U);
  EXPECT_EQ(t.text(t.host_call.name[0]), "hipLaunchKernel");
  EXPECT_EQ(t.host_call.kind[0], CallKind::kLaunch);
  EXPECT_EQ(t.host_call.correlation_id[0], 7U);
  ASSERT_EQ(t.copy.size(), 1U);
  EXPECT_EQ(t.copy.kind[0], CopyKind::kHostToDevice);
  EXPECT_EQ(t.copy.bytes[0], 4096U);
  ASSERT_EQ(t.memory_event.size(), 1U);
  EXPECT_EQ(t.memory_event.kind[0], MemoryKind::kAlloc);
  EXPECT_EQ(t.memory_event.address[0], 0x7f0000U);
  EXPECT_EQ(t.memory_event.bytes[0], 8192U);
  ASSERT_EQ(t.counter.size(), 1U);
  EXPECT_EQ(t.counter.value[0], 12.5);
  EXPECT_EQ(t.text(t.counter_track.name[0]), "SQ_WAVES");
  ASSERT_EQ(t.range.size(), 2U);
  std::vector<std::string> ranges;
  for (size_t i = 0; i < t.range.size(); ++i) ranges.emplace_back(t.text(t.range.name[i]));
  EXPECT_THAT(ranges, UnorderedElementsAreArray({"step 1", "buffer_records.newer_than_this"}));
  EXPECT_EQ(got.report.counts.events, 8U);
  EXPECT_EQ(got.report.counts.others, 1U);
  EXPECT_EQ(t.process.pid[0], 42U);
}

/// The expected source of every record and member of the document.
std::vector<std::string> expectedSources(const nlohmann::json& document) {
  std::vector<std::string> all;
  const auto add = [&](const std::string& section, const nlohmann::json& value) {
    all.push_back(nlohmann::json{{section, value}}.dump());
  };
  const auto list = [&](const std::string& section, const nlohmann::json& value) {
    if (!value.is_array()) return add(section, value);
    for (const auto& one : value) add(section, one);
  };
  for (const auto& process : document["rocprofiler-sdk-tool"]) {
    for (const auto& [key, value] : process.items()) {
      if (key == "buffer_records" || key == "callback_records") {
        for (const auto& [name, records] : value.items()) {
          std::string section = key;
          list(section.append(".").append(name), records);
        }
      } else {
        list(key, value);
      }
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> sortedDump(const std::vector<nlohmann::json>& sources) {
  std::vector<std::string> all;
  for (const auto& source : sources) all.push_back(source.dump());
  std::sort(all.begin(), all.end());
  return all;
}

TEST(RocprofJson, EveryKeyAndValueIsKept) {
  const ImportedJson got = importedJson(kRun, true);
  EXPECT_EQ(sortedDump(got.sources), expectedSources(nlohmann::json::parse(kRun)));
}

TEST(RocprofJson, ARealRunIsWhatItsJsonSays) {
  const char* const data = std::getenv("TRACESMITH_TEST_DATA");
  const std::string path = std::string(data == nullptr ? "" : data) +
                           "/traces/tracelens/tests/rocprof/908_results.json.gz";
  if (data == nullptr || !std::filesystem::exists(path)) {
    GTEST_SKIP() << "no real run (TRACESMITH_TEST_DATA)";
  }
  const ImportedJson got = importedFile(path, 16);
  ASSERT_TRUE(got.ok);
  EXPECT_THAT(got.report.counts.damage, IsEmpty());
  EXPECT_EQ(got.trace.kernel.size(), 43915U);
  if (kIsSanitized) return;  // the other parser would take minutes

  std::string text;
  auto source = ByteSource::open(path);
  ASSERT_TRUE(source);
  std::string piece(1 << 20, '\0');
  for (;;) {
    const auto n = (*source)->read({reinterpret_cast<uint8_t*>(piece.data()), piece.size()});
    ASSERT_TRUE(n);
    if (*n == 0) break;
    text.append(piece, 0, *n);
  }
  const nlohmann::json document = nlohmann::json::parse(text);
  std::map<int64_t, std::string> names;
  const auto& process = document["rocprofiler-sdk-tool"][0];
  for (const auto& s : process["kernel_symbols"]) {
    names[s["kernel_id"].get<int64_t>()] = s["formatted_kernel_name"].get<std::string>();
  }
  using Sum = std::pair<uint64_t, int64_t>;  // count, total duration
  std::map<std::string, Sum> theirs, ours;
  uint64_t work_items = 0, our_work_items = 0;
  for (const auto& d : process["buffer_records"]["kernel_dispatch"]) {
    Sum& sum = theirs[names.at(d["dispatch_info"]["kernel_id"].get<int64_t>())];
    ++sum.first;
    sum.second += d["end_timestamp"].get<int64_t>() - d["start_timestamp"].get<int64_t>();
    const auto& grid = d["dispatch_info"]["grid_size"];
    work_items += grid["x"].get<uint64_t>() * grid["y"].get<uint64_t>() * grid["z"].get<uint64_t>();
  }
  const Trace& t = got.trace;
  for (size_t i = 0; i < t.kernel.size(); ++i) {
    Sum& sum = ours[std::string(t.text(t.kernel.name[i]))];
    ++sum.first;
    sum.second += t.kernel.duration_ns[i];
    const LaunchShapeRow s = t.launch_shape.row(indexOf(t.kernel.shape_id[i]));
    our_work_items += s.global_x * s.global_y * s.global_z;
  }
  EXPECT_EQ(ours, theirs);
  EXPECT_EQ(our_work_items, work_items);

  std::map<int64_t, const nlohmann::json*> dispatches, symbols;
  for (const auto& d : process["buffer_records"]["kernel_dispatch"]) {
    dispatches[d["dispatch_info"]["dispatch_id"].get<int64_t>()] = &d;
  }
  for (const auto& s : process["kernel_symbols"]) symbols[s["kernel_id"].get<int64_t>()] = &s;
  size_t compared = 0;
  for (const nlohmann::json& kept : got.sources) {
    const std::string section = kept.begin().key();
    const nlohmann::json& record = kept.begin().value();
    if (section == "buffer_records.kernel_dispatch") {
      EXPECT_EQ(record, *dispatches.at(record["dispatch_info"]["dispatch_id"].get<int64_t>()));
      ++compared;
    } else if (section == "kernel_symbols") {
      EXPECT_EQ(record, *symbols.at(record["kernel_id"].get<int64_t>()));
      ++compared;
    }
  }
  EXPECT_GT(compared, (43915 + 9889) / 17);
}

TEST(RocprofJson, ACutDocumentKeepsWhatIsBefore) {
  const size_t copies = kRun.find("\"memory_copy\"");
  const ImportedJson got = importedJson(kRun.substr(0, copies + 60));
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.trace.kernel.size(), 1U);
  EXPECT_EQ(got.trace.host_call.size(), 1U);
  ASSERT_FALSE(got.report.counts.damage.empty());
  EXPECT_THAT(got.report.counts.damage[0].reason, HasSubstr("does not end"));
}

/// Where the records of kRun end.
std::vector<size_t> recordEnds() {
  constexpr int kRecord = 6;  // bracket depth inside a record
  std::vector<size_t> ends;
  int depth = 0;
  for (size_t i = 0; i < kRun.size(); ++i) {
    depth += kRun[i] == '{' || kRun[i] == '[' ? 1 : 0;
    if (kRun[i] != '}' && kRun[i] != ']') continue;
    const bool in_records = i > kRun.find("\"buffer_records\"") && i < kRun.find("\"counters\"");
    if (in_records && depth == kRecord) ends.push_back(i + 1);
    --depth;
  }
  return ends;
}

/// Checks that every record read is either a row or counted, and only once.
void expectAccounts(const ImportedJson& got) {
  const ImportCounts& counts = got.report.counts;
  const Trace& t = got.trace;
  const size_t rows =
      t.kernel.size() + t.host_call.size() + t.copy.size() + t.memory_event.size() + t.range.size();
  // The counters of a dispatch are one record, which may also give the kernel's row.
  EXPECT_LE(rows, counts.rows);
  EXPECT_GE(rows + t.counter.size(), counts.rows);
  EXPECT_EQ(counts.rows + counts.others, counts.events);
  EXPECT_EQ(t.loss.written[0], counts.events);
  EXPECT_EQ(got.lost().empty(), counts.others == 0 && counts.damage.empty());
}

TEST(RocprofJson, ACutKeepsTheRecordsBeforeItAndSaysWhereItIs) {
  const std::vector<size_t> ends = recordEnds();
  ASSERT_EQ(ends.size(), 8U);
  for (size_t n = kRun.find("\"buffer_records\""); n < kRun.size(); n += 31) {
    SCOPED_TRACE("cut at " + std::to_string(n));
    const ImportedJson got = importedJson(kRun.substr(0, n));
    ASSERT_TRUE(got.ok);
    const auto before = std::upper_bound(ends.begin(), ends.end(), n) - ends.begin();
    EXPECT_EQ(got.report.counts.events, static_cast<uint64_t>(before));
    expectAccounts(got);
    const std::vector<SourceDamage>& damage = got.report.counts.damage;
    ASSERT_FALSE(damage.empty());
    EXPECT_EQ(damage.back().offset + damage.back().bytes, n) << "what is lost reaches to the end";
  }
}

TEST(RocprofJson, AChangedByteCostsNothingOrIsSaid) {
  for (size_t n = kRun.find("\"metadata\""); n < kRun.size(); n += 31) {
    std::string changed(kRun);
    for (const char with : {'\x01', '"', '{', ']', '\xff', '9'}) {
      SCOPED_TRACE("at " + std::to_string(n) + " with " + std::to_string(with));
      changed[n] = with;
      const nlohmann::json document = nlohmann::json::parse(changed, nullptr, false);
      const ImportedJson got = importedJson(changed, !document.is_discarded());
      ASSERT_TRUE(got.ok);
      if (document.is_discarded()) {
        EXPECT_FALSE(got.report.counts.damage.empty()) << "another parser says that it is damaged";
        continue;
      }
      EXPECT_THAT(got.report.counts.damage, IsEmpty());
      expectAccounts(got);
      EXPECT_EQ(sortedDump(got.sources), expectedSources(document));
    }
  }
}

TEST(RocprofJson, ARawControlCharacterCostsNothing) {
  std::string text(kRun);
  text.replace(text.find("step 1"), 6, "step\x01\x31");
  const ImportedJson got = importedJson(text);
  ASSERT_TRUE(got.ok);
  EXPECT_EQ(got.trace.kernel.size(), 1U);
  EXPECT_THAT(got.report.counts.damage[0].reason, HasSubstr("replaced by spaces"));
}

TEST(RocprofJson, NumbersThatCanNotBeDoNoHarm) {
  std::string text(kRun);
  const auto with = [&](std::string_view what, std::string_view instead) {
    std::string changed = text;
    changed.replace(changed.find(what), what.size(), instead);
    return importedJson(changed);
  };
  const ImportedJson backwards = with("\"end_timestamp\": 1500", "\"end_timestamp\": 10");
  EXPECT_EQ(backwards.trace.kernel.duration_ns[0], 0);
  EXPECT_THAT(backwards.lost(), HasSubstr("1 events end before they start"));
  EXPECT_THAT(backwards.report.counts.notes, Contains(HasSubstr("1 events end before they start")));
  // The "no time" value of unsigned times, and other invalid times.
  for (const char* never : {"18446744073709551615", "99999999999999999999", "1e9",
                            "9223372036854775807", "-9223372036854775807"}) {
    SCOPED_TRACE(never);
    const ImportedJson got =
        with("\"start_timestamp\": 1000", std::string("\"start_timestamp\": ") + never);
    EXPECT_EQ(got.trace.kernel.size(), 0U);
    EXPECT_THAT(got.lost(), HasSubstr("2 records without a readable time"));
  }
  EXPECT_EQ(with("\"end_timestamp\": 1500", "\"end_timestamp\": 18446744073709551615")
                .trace.kernel.size(),
            0U);
  EXPECT_EQ(with("\"start_timestamp\": 1000", "\"start_timestamp\": \"now\"").trace.kernel.size(),
            0U);
  EXPECT_EQ(with("\"end_timestamp\": 1500", "\"end_timestamp\": NaN").trace.kernel.size(), 0U);
  EXPECT_EQ(
      with("\"start_timestamp\": 1000", "\"start_timestamp\": 1000.5").trace.kernel.start_ns[0],
      1001)
      << "to the nearest ns";
  const ImportedJson half = with("\"value\": 10.5", "\"value\": \"10.5x\"");
  EXPECT_EQ(half.trace.counter.value[0], 2) << "the other instance's";
  EXPECT_THAT(half.lost(), HasSubstr("1 counter values that are not numbers"));
  EXPECT_EQ(with("\"x\": 1024", "\"x\": -5").trace.kernel.size(), 1U);
  EXPECT_EQ(with("\"kernel_id\": 5", "\"kernel_id\": 77").trace.kernel.size(), 1U);
  EXPECT_EQ(with("\"kind\": 11", "\"kind\": -1").trace.kernel.size(), 1U);
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  with("\"step 1\"", deep);
}

TEST(RocprofJson, OtherJsonIsNotTaken) {
  const ImportedJson chrome =
      importedJson(R"({"traceEvents": [{"ph":"X","name":"a","ts":1,"dur":1}]})");
  EXPECT_EQ(chrome.report.format, "Chrome JSON");
}

}  // namespace
}  // namespace tracesmith::import
