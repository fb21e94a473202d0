// SPDX-License-Identifier: Apache-2.0
// Analyses that read a trace block by block: their time and memory, beside the same analysis of the
// trace in memory.
//   streaming_bench [KERNELS...] [DIRECTORY]    (default 500000 5000000 50000000 /dev/shm)
// Events are kernels and as many launches. Each analysis runs in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tracesmith/analysis/streaming/time_sweep.hpp"
#include "tracesmith/analysis/timing/time_breakdown.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/bench_trace_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace {

using namespace tracesmith;  // NOLINT: a program of few functions

constexpr size_t kBatch = 1 << 18;
constexpr size_t kMostInMemory = 5'000'000;

template <class T>
T valueOr(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().toString().c_str());
  std::exit(1);
}

double peakMib() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

void writeTrace(const std::string& path, size_t kernels) {
  bench::TraceGenerator generator(bench::TraceModel::kTrainingLoop);
  TraceWriter writer = valueOr(TraceWriter::create(path));
  for (size_t written = 0; written < kernels; written += kBatch) {
    generator.add(std::min(kBatch, kernels - written));
    if (const Status status = writer.write(generator.trace()); !status) std::exit(1);
    forEachTable(generator.trace(), [](auto& table) { table.clear(); });
  }
  if (!writer.finish()) std::exit(1);
}

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

bool analyzeApart(const std::string& path, bool streams, size_t kernels) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "streaming_bench", streams ? "--blocks" : "--memory", path.c_str(),
          std::to_string(kernels).c_str(), nullptr);
    _exit(1);
  }
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]).starts_with("--")) {
    return analyze(argv[2], std::string(argv[1]) == "--blocks",
                   std::strtoull(argv[3], nullptr, 10));
  }
  std::vector<size_t> sizes;
  std::string directory = "/dev/shm";
  for (int i = 1; i < argc; ++i) {
    const size_t kernels = std::strtoull(argv[i], nullptr, 10);
    kernels > 0 ? sizes.push_back(kernels) : void(directory = argv[i]);
  }
  if (sizes.empty()) sizes = {500'000, 5'000'000, 50'000'000};
  const std::string path = directory + "/streaming_bench." + std::to_string(getpid()) + ".sbt";
  bool is_right = true;
  for (const size_t kernels : sizes) {
    writeTrace(path, kernels);
    is_right = analyzeApart(path, true, kernels) && is_right;
    if (kernels <= kMostInMemory) is_right = analyzeApart(path, false, kernels) && is_right;
  }
  unlink(path.c_str());
  return is_right ? 0 : 1;
}
