// SPDX-License-Identifier: Apache-2.0
// Reports of files that are read block by block, against those of the trace in memory.
#include <gtest/gtest.h>

#include <string>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/analysis/streaming/random_work_test_util.hpp"
#include "tracesmith/format/trace_scan.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace tracesmith {
namespace {

void writeFile(const Trace& trace, const std::string& path) {
  auto writer = TraceWriter::create(path, {.max_block_rows = 256});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(trace));
  ASSERT_TRUE(writer->finish());
}

void expectEqual(const std::vector<ReportTable>& by_block, const std::vector<ReportTable>& whole) {
  ASSERT_EQ(by_block.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    SCOPED_TRACE(whole[i].key);
    EXPECT_EQ(by_block[i].key, whole[i].key);
    EXPECT_EQ(by_block[i].columns.size(), whole[i].columns.size());
    EXPECT_EQ(by_block[i].rows, whole[i].rows);
    EXPECT_EQ(by_block[i].note, whole[i].note);
  }
}

constexpr AnalysisPart kByBlock[] = {AnalysisPart::kUtilization, AnalysisPart::kOverlap,
                                     AnalysisPart::kIdle,        AnalysisPart::kStreams,
                                     AnalysisPart::kKernels,     AnalysisPart::kCopies};

TEST(ReportByBlock, HasTheTablesOfTheTraceInMemory) {
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(seed);
    test::TempFile file;
    Trace made = test::randomWork({.seed = seed, .is_shuffled = seed % 4 == 0});
    // Durations that do not fit into 32 bits, and copies between devices.
    made.kernel.duration_ns[7] = int64_t{1} << 33;
    for (size_t i = 0; i < made.device.size(); ++i) made.device.kind[i] = DeviceKind::kGpu;
    for (size_t i = 0; i < made.copy.size(); i += 3) {
      made.copy.kind[i] = CopyKind::kPeerToPeer;
      made.copy.source_device_id[i] = DeviceId{1};
      made.copy.destination_device_id[i] = DeviceId{2};
    }
    writeFile(made, file.path());
    auto scan = TraceScan::open(file.path(), static_cast<unsigned>(1 + seed % 3));
    ASSERT_TRUE(scan);
    const Trace whole = *scan->reader().read();
    for (const bool short_names : {false, true}) {
      ReportOptions options{.limit = seed % 2 == 0 ? size_t{0} : size_t{2},
                            .short_names = short_names};
      options.parts.assign(std::begin(kByBlock), std::end(kByBlock));
      ASSERT_TRUE(canAnalyzeByBlock(options));
      const auto by_block = analyzeByBlock(*scan, options);
      ASSERT_TRUE(by_block) << by_block.error().toString();
      ASSERT_TRUE(*by_block);
      expectEqual(**by_block, analyze(whole, options));
    }
  }
}

TEST(ReportByBlock, OthersNeedTheWholeTrace) {
  EXPECT_FALSE(canAnalyzeByBlock({}));
  EXPECT_FALSE(canAnalyzeByBlock({.parts = {AnalysisPart::kKernels, AnalysisPart::kCriticalPath}}));
  EXPECT_FALSE(
      canAnalyzeByBlock({.analysis = {.as_hta = true}, .parts = {AnalysisPart::kKernels}}));
  test::TempFile file;
  writeFile(test::randomWork({.repeats_ids = true}), file.path());
  auto scan = TraceScan::open(file.path());
  const auto by_block = analyzeByBlock(*scan, {.parts = {AnalysisPart::kIdle}});
  ASSERT_TRUE(by_block);
  EXPECT_FALSE(*by_block);
}

}  // namespace
}  // namespace tracesmith
