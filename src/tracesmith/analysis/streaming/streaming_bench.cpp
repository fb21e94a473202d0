// SPDX-License-Identifier: Apache-2.0
// Utilization and idle times of a trace that is read block by block: their time and memory, beside
// the same analysis of the trace in memory; and reports of `analyze`: of utilization, idle times,
// kernels, copies and overlap, and of all parts.
//   streaming_bench [KERNELS...] [DIRECTORY]    (default 500000 5000000 50000000 /dev/shm)
//   streaming_bench --write FILE KERNELS        writes the trace, for other programs
// Events are kernels and as many launches. Each analysis runs in a process of its own.
#include <cstdio>
#include <string>
#include <vector>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/analysis/streaming/time_sweep.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/bench_process_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace {

using namespace tracesmith;         // NOLINT: a program of few functions
using namespace tracesmith::bench;  // NOLINT

constexpr size_t kMostInMemory = 5'000'000;

/// Prints one line; what it computed comes last, so that both ways can be compared.
int analyze(const std::string& path, bool streams, size_t kernels) {
  const int64_t begin = monotonicNs();
  TimeBreakdown all;
  int64_t idle = 0;
  if (streams) {
    TraceScan scan = valueOr(TraceScan::open(path));
    TimeSweep sweep(scan.tables());
    const LaunchTimes launches = valueOr(readLaunchTimes(scan));
    const StreamEnd end =
        valueOr(streamDeviceOps(scan, launches, nullptr, [&](const StreamedOp& op) {
          sweep.add(op, [](DeviceId, int64_t, IdleReason) {});
        }));
    if (end != StreamEnd::kComplete) return 1;
    all = sweep.all();
    for (const IdleTime& each : sweep.idle()) idle += each.host_wait_ns;
  } else {
    const Trace trace = valueOr(valueOr(TraceReader::open(path)).read());
    const DeviceOps ops = DeviceOps::of(trace);
    all = breakdownOf(ops);
    for (const IdleTime& each : idleTimes(ops)) idle += each.host_wait_ns;
  }
  const auto ns = static_cast<double>(monotonicNs() - begin);
  std::printf(
      "%-10s %11zu events  %7.2f s  %6.2f M/s  %6.0f MiB   busy %lld ns, host wait %lld ns\n",
      streams ? "by block" : "in memory", 2 * kernels, ns / 1e9,
      2e3 * static_cast<double>(kernels) / ns, peakMib(), static_cast<long long>(all.busy_ns),
      static_cast<long long>(idle));
  return 0;
}

/// Makes the tables of some parts of `tracesmith analyze`, or of all.
int report(const std::string& path, bool all, size_t kernels) {
  const int64_t begin = monotonicNs();
  TraceScan scan = valueOr(TraceScan::open(path));
  ReportOptions options;
  if (!all) {
    options.parts = {AnalysisPart::kUtilization, AnalysisPart::kIdle, AnalysisPart::kKernels,
                     AnalysisPart::kCopies, AnalysisPart::kOverlap};
  }
  if (!valueOr(analyzeByBlock(scan, options))) return 1;
  const auto ns = static_cast<double>(monotonicNs() - begin);
  std::printf("%-10s %11zu events  %7.2f s  %6.2f M/s  %6.0f MiB\n", all ? "all parts" : "5 parts",
              2 * kernels, ns / 1e9, 2e3 * static_cast<double>(kernels) / ns, peakMib());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--write") {
    writeLaunchedKernels(argv[2], std::strtoull(argv[3], nullptr, 10));
    return 0;
  }
  if (argc == 4 && (std::string(argv[1]) == "--5" || std::string(argv[1]) == "--all")) {
    return report(argv[2], std::string(argv[1]) == "--all", std::strtoull(argv[3], nullptr, 10));
  }
  if (argc == 4 && std::string(argv[1]).starts_with("--")) {
    return analyze(argv[2], std::string(argv[1]) == "--blocks",
                   std::strtoull(argv[3], nullptr, 10));
  }
  const SizesAndFolder wanted(argc, argv, {500'000, 5'000'000, 50'000'000});
  const std::string path = wanted.folder + "/streaming_bench." + std::to_string(getpid()) + ".sbt";
  for (const size_t kernels : wanted.sizes) {
    writeLaunchedKernels(path, kernels);
    runApart({"--blocks", path, std::to_string(kernels)});
    runApart({"--5", path, std::to_string(kernels)});
    runApart({"--all", path, std::to_string(kernels)});
    if (kernels <= kMostInMemory) runApart({"--memory", path, std::to_string(kernels)});
  }
  unlink(path.c_str());
  return 0;
}
