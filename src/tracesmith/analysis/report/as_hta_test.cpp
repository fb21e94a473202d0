// SPDX-License-Identifier: Apache-2.0
// `analyze --as-hta`: excluded work is excluded from every table, and classes match the chosen
// version. (Against HTA itself: tests/cli/analyze_golden_test.py.)
#include <gmock/gmock.h>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/analysis/timing/device_ops.hpp"

namespace tracesmith {
namespace {

/// Two steps, each with a launch, its kernel, a copy and its call.
Trace twoSteps() {
  Trace t;
  const StringId kernel = t.strings.intern("gemm");
  t.device.push({.id = DeviceId{1}, .name = t.strings.intern("GPU")});
  t.context.push({.id = ContextId{1}, .device_id = DeviceId{1}});
  t.stream.push({.id = StreamId{1}, .context_id = ContextId{1}, .handle = 7});
  t.launch_shape.push({.dimensions = 1, .global_x = 64, .local_x = 64});
  for (int64_t step = 0; step < 2; ++step) {
    const int64_t begin = 1'000'400 + step * 1'000'000;  // within a microsecond
    const auto id = static_cast<uint64_t>(2 * step + 1);
    t.range.push({.start_ns = begin,
                  .duration_ns = 900'000,
                  .name = t.strings.intern("ProfilerStep#" + std::to_string(step))});
    t.host_call.push({.start_ns = begin + 10'000,
                      .duration_ns = 5'000,
                      .name = t.strings.intern("cudaLaunchKernel"),
                      .correlation_id = id,
                      .kind = CallKind::kLaunch});
    t.host_call.push({.start_ns = begin + 20'000,
                      .duration_ns = 5'000,
                      .name = t.strings.intern("cudaMemcpyAsync"),
                      .correlation_id = id + 1,
                      .kind = CallKind::kCopy});
    t.kernel.push({.start_ns = begin + 30'000,
                   .duration_ns = 100'700,
                   .name = kernel,
                   .stream_id = StreamId{1},
                   .correlation_id = id,
                   .shape_id = ShapeId{1}});
    t.copy.push({.start_ns = begin + 200'000,
                 .duration_ns = 50'000,
                 .kind = CopyKind::kHostToDevice,
                 .stream_id = StreamId{1},
                 .correlation_id = id + 1,
                 .bytes = 4096,
                 .name = t.strings.intern("Memcpy HtoD")});
  }
  return t;
}

std::map<std::string, ReportTable> tablesOf(const Trace& trace, const AnalysisOptions& options) {
  std::map<std::string, ReportTable> tables;
  for (ReportTable& table : analyze(trace, {.analysis = options, .whole_paths = true})) {
    std::string key = table.key;
    tables.emplace(std::move(key), std::move(table));
  }
  return tables;
}

/// The sum of an integer column.
int64_t sumOf(const ReportTable& table, std::string_view column) {
  int64_t sum = 0;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].key != column) continue;
    for (const auto& row : table.rows) sum += std::get<int64_t>(row[c]);
  }
  return sum;
}

TEST(AsHta, TheLastStepIsInNoTable) {
  const Trace trace = twoSteps();
  for (const bool as_hta : {false, true}) {
    const auto tables = tablesOf(trace, {.as_hta = as_hta});
    const int64_t steps = as_hta ? 1 : 2;
    EXPECT_EQ(sumOf(tables.at("kernels"), "count"), steps);
    EXPECT_EQ(sumOf(tables.at("memcpy"), "count"), steps);
    EXPECT_EQ(sumOf(tables.at("memcpy"), "bytes"), 4096 * steps);
    EXPECT_EQ(sumOf(tables.at("host_calls"), "count"), 2 * steps);
    EXPECT_EQ(sumOf(tables.at("streams"), "ops"), 2 * steps);
    EXPECT_EQ(sumOf(tables.at("launch_paths"), "ops"), 2 * steps);
    EXPECT_EQ(tables.at("longest_ops").rows.size(), static_cast<size_t>(2 * steps));
    EXPECT_EQ(tables.at("steps").rows.size(), static_cast<size_t>(steps));
    EXPECT_EQ(sumOf(tables.at("steps"), "launched"), 2 * steps);
    // Whole microseconds: from 1030.4 up to 1031, to 1131.1 down to 1131.
    EXPECT_EQ(sumOf(tables.at("kernels"), "max_ns"), as_hta ? 100'000 : 100'700);
  }
}

TEST(AsHta, ClassesAreThoseOfTheVersionThatIsMeant) {
  struct Case {
    const char* name;
    WorkClass release, main_branch;
  };
  using enum WorkClass;
  const Case cases[] = {
      {"ncclDevKernel_AllReduce_Sum_f32(x)", kCommunication, kCommunication},
      {"ncclKernel_SendRecv", kCommunication, kCommunication},
      {"nccl_something", kCompute, kCommunication},  // without "Kernel"
      {"hccl_AllReduce", kCompute, kCommunication},
      {"Memcpy DtoD (Device -> Device)", kMemory, kMemory},
      {"Memset (Device)", kMemory, kMemory},
      {"Stream Wait Event", kCompute, kOther},
      {"Stream Synchronize", kOther, kOther},
      {"Context Sync", kOther, kOther},
      {"my_Memcpy_kernel", kOther, kOther},
      {"my_Memset_kernel", kCompute, kOther},  // its pattern is anchored
      {"add_dma", kCompute, kOther},
      {"gemm", kCompute, kCompute},
  };
  for (const Case& c : cases) {
    for (const bool main_branch : {false, true}) {
      Trace t = twoSteps();
      t.kernel.name[0] = t.strings.intern(c.name);
      const DeviceOps ops = DeviceOps::of(t, {.as_hta = true, .hta_main = main_branch});
      ASSERT_EQ(ops.ops.size(), 2U);
      EXPECT_EQ(ops.ops[0].work, main_branch ? c.main_branch : c.release)
          << c.name << (main_branch ? " in main" : "");
    }
  }
}

}  // namespace
}  // namespace tracesmith
