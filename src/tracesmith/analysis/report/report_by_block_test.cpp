// SPDX-License-Identifier: Apache-2.0
// Reports of files that are read block by block, against those of the trace in memory.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tracesmith/analysis/communication/comm_trace_test_util.hpp"
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

/// Gives calls names, threads, kinds and stacks, adds waits of the host, and times of other tables.
void addHostSide(Trace& trace, std::mt19937_64& random) {
  for (uint32_t i = 0; i < 4; ++i) {
    trace.frame.push({.address = 4096 * (i + 1)});
    trace.call_path.push({.parent = static_cast<CallPathId>(i), .frame = idAt<FrameId>(i)});
  }
  const StringId launch = trace.strings.intern("cudaLaunchKernel");
  const StringId wait = trace.strings.intern("cudaStreamSynchronize");
  HostCallTable& calls = trace.host_call;
  for (size_t i = 0; i < calls.size(); ++i) {
    const bool waits = random() % 6 == 0;
    calls.name[i] = waits ? wait : launch;
    calls.kind[i] = waits ? CallKind::kSync : CallKind::kLaunch;
    calls.thread_id[i] = ThreadId{static_cast<uint32_t>(1 + random() % 3)};
    calls.call_path_id[i] = CallPathId{static_cast<uint32_t>(random() % 5)};
    if (!waits || random() % 2 == 0) continue;
    calls.stream_id[i] = StreamId{1};
    trace.sync.push({.start_ns = calls.start_ns[i],
                     .duration_ns = calls.duration_ns[i],
                     .kind = random() % 2 == 0 ? SyncKind::kStreamWait : SyncKind::kDeviceWait,
                     .process_id = calls.process_id[i],
                     .stream_id = StreamId{static_cast<uint32_t>(1 + random() % 2)},
                     .correlation_id = calls.correlation_id[i],
                     .flags = op_flags::kHostSide});
  }
  for (size_t i = 0; i < trace.kernel.size(); i += 3) {
    trace.kernel.call_path_id[i] = CallPathId{static_cast<uint32_t>(1 + random() % 4)};
  }
  trace.counter.push({.time_ns = 900, .value = 1});
  trace.program_build.push({.start_ns = 50'000, .duration_ns = int64_t{1} << 34});
}

/// Makes steps that are found by their kernels.
void repeatKernels(Trace& trace) {
  KernelTable& kernels = trace.kernel;
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels.name[i] = trace.strings.intern("kernel " + std::to_string(i % 11 < 8 ? i % 11 : 0));
    kernels.stream_id[i] = StreamId{1};
    kernels.process_id[i] = ProcessId{1};
  }
}

/// Adds what random work does not have: shapes, allocations, steps of one or two processes.
void addOtherParts(Trace& trace, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < trace.device.size(); ++i) {
    trace.device.kind[i] = DeviceKind::kGpu;
    trace.device.warp_size[i] = 32;
    trace.device.max_threads_per_unit[i] = 2048;
    trace.device.compute_units[i] = 10;
  }
  for (const uint32_t threads : {64u, 256u, 1024u}) {
    trace.launch_shape.push(
        {.global_x = 5000, .local_x = threads, .registers_per_thread = threads / 8});
  }
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    trace.kernel.shape_id[i] = ShapeId{static_cast<uint32_t>(random() % 4)};
  }
  for (size_t i = 0; i < trace.host_call.size(); ++i) {
    trace.host_call.duration_ns[i] = static_cast<int64_t>(random() % 4000);
  }
  for (uint64_t i = 0; i < 600; ++i) {
    trace.memory_event.push({.time_ns = static_cast<int64_t>(2000 * i),
                             .kind = i % 3 == 2 ? MemoryKind::kFree : MemoryKind::kAlloc,
                             .process_id = ProcessId{1},
                             .device_id = DeviceId{1},
                             .address = 4096 * (i / 3),
                             .bytes = 100 + i});
  }
  // A trace starts with its first call or work, and not with this.
  trace.comm.push({.start_ns = 5,
                   .duration_ns = 1,
                   .function = trace.strings.intern("MPI_Barrier"),
                   .process_id = ProcessId{1}});
  addHostSide(trace, random);
  trace.range = {};
  if (seed % 3 == 0) return repeatKernels(trace);
  for (uint32_t process = 1; process <= 1 + seed % 2; ++process) {
    for (int64_t i = 0; i < 40; ++i) {
      trace.range.push({.start_ns = 3000 + 20'000 * i,
                        .duration_ns = 19'000,
                        .name = trace.strings.intern("train step " + std::to_string(i)),
                        .process_id = ProcessId{process},
                        .thread_id = ThreadId{process}});
      trace.range.push({.start_ns = 3000 + 20'000 * i,
                        .duration_ns = 500,
                        .name = trace.strings.intern("load"),
                        .process_id = ProcessId{process},
                        .thread_id = ThreadId{process}});
    }
  }
}

TEST(ReportByBlock, HasTheTablesOfTheTraceInMemory) {
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(seed);
    test::TempFile file;
    Trace made = test::randomWork({.seed = seed, .is_shuffled = seed % 4 == 0});
    // Durations that do not fit into 32 bits, and copies between devices.
    made.kernel.duration_ns[7] = int64_t{1} << 33;
    addOtherParts(made, seed);
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
      const auto by_block = analyzeByBlock(*scan, options);
      ASSERT_TRUE(by_block) << by_block.error().toString();
      ASSERT_TRUE(*by_block);
      expectEqual(**by_block, analyze(whole, options));
    }
  }
}

TEST(ReportByBlock, KnowsWhichRanksDidNotAnswer) {
  test::CommTrace made(3);
  const auto world = made.world("NCCL");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    CommRow& row = made.call(rank, world[rank], "ncclAllReduce", CommKind::kCollective, 0, 0);
    row.sequence = 10 - rank;
    row.state = rank == 0 ? CommState::kScheduled : CommState::kUnknown;
    made.add();
  }
  made.trace.attribute.push({.table = static_cast<uint32_t>(TableId::kCommunicator),
                             .row_number = 2,
                             .key = made.text("answered"),
                             .value = made.text("false")});
  test::TempFile file;
  writeFile(made.trace, file.path());
  auto scan = TraceScan::open(file.path());
  ASSERT_TRUE(scan);
  const ReportOptions options{.parts = {AnalysisPart::kCommunication}};
  const auto by_block = analyzeByBlock(*scan, options);
  ASSERT_TRUE(by_block && *by_block);
  expectEqual(**by_block, analyze(*scan->reader().read(), options));
}

TEST(ReportByBlock, SomeTracesMustBeReadAsAWhole) {
  test::TempFile file;
  writeFile(test::randomWork({.repeats_ids = true}), file.path());
  auto scan = TraceScan::open(file.path());
  const auto as_hta =
      analyzeByBlock(*scan, {.analysis = {.as_hta = true}, .parts = {AnalysisPart::kMemory}});
  ASSERT_TRUE(as_hta);
  EXPECT_FALSE(*as_hta);
  for (const AnalysisPart part : {AnalysisPart::kIdle, AnalysisPart::kCriticalPath}) {
    const auto by_block = analyzeByBlock(*scan, {.parts = {part}});
    ASSERT_TRUE(by_block);
    EXPECT_FALSE(*by_block);
  }
  // Waits for events: what came before what is found from all rows.
  test::TempFile with_waits;
  Trace waiting = test::randomWork({});
  waiting.flow.push({.kind = FlowKind::kWait});
  writeFile(waiting, with_waits.path());
  auto waits = TraceScan::open(with_waits.path());
  const auto path = analyzeByBlock(*waits, {.parts = {AnalysisPart::kCriticalPath}});
  ASSERT_TRUE(path);
  EXPECT_FALSE(*path);
}

}  // namespace
}  // namespace tracesmith
