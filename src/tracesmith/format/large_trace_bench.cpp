// SPDX-License-Identifier: Apache-2.0
// A very large trace: how much memory writing takes, and how much time and memory it takes to read
// its first 10 kernels, and a millisecond from its middle.
//   large_trace_bench [KERNELS] [DIRECTORY]     (default 100000000 /dev/shm; 5 bytes per kernel)
//   large_trace_bench --write FILE [KERNELS]    writes a trace for other tools (default 10000000)
// Each read runs in a process of its own.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/bench_process_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace {

using namespace tracesmith;         // NOLINT: a program of few functions
using namespace tracesmith::bench;  // NOLINT

constexpr size_t kBatch = 1 << 18;

/// Writes the trace; returns the time of its middle.
int64_t writeTrace(const std::string& path, size_t kernels) {
  bench::TraceGenerator generator(bench::TraceModel::kIndependent);
  Trace& trace = generator.trace();
  TraceWriter writer = valueOr(TraceWriter::create(path));
  int64_t write_ns = 0, middle_ns = 0;
  double first_peak = 0;
  for (size_t written = 0; written < kernels; written += kBatch) {
    generator.add(std::min(kBatch, kernels - written));
    trace.host_call.clear();
    if (written <= kernels / 2) middle_ns = trace.kernel.start_ns[trace.kernel.size() / 2];
    const int64_t begin = monotonicNs();
    check(writer.write(trace));
    write_ns += monotonicNs() - begin;
    forEachTable(trace, [](auto& table) { table.clear(); });
    if (written == 0) first_peak = peakMib();
  }
  const int64_t begin = monotonicNs();
  check(writer.finish());
  write_ns += monotonicNs() - begin;
  std::printf(
      "write       %zu kernels, %.2f bytes each, %.2f M/s; peak memory %.0f MiB after the "
      "first batch, %.0f MiB at the end\n",
      kernels, static_cast<double>(writer.bytesWritten()) / static_cast<double>(kernels),
      static_cast<double>(kernels) * 1e3 / static_cast<double>(write_ns), first_peak, peakMib());
  return middle_ns;
}

void readSome(const std::string& path, const char* what, const ReadOptions& options) {
  runApart({"--read", path, what, options.from_ns ? std::to_string(*options.from_ns) : "-"});
}

int readInProcess(const std::string& path, const char* what, const std::string& from) {
  constexpr int64_t kMillisecond = 1'000'000;
  ReadOptions options;
  options.tables = {TableId::kKernel};
  if (from == "-") {
    options.first_events = 10;
  } else {
    options.from_ns = std::strtoll(from.c_str(), nullptr, 10);
    options.to_ns = *options.from_ns + kMillisecond;
  }
  const int64_t begin = monotonicNs();
  TraceReader reader = valueOr(TraceReader::open(path));
  const Trace trace = valueOr(reader.read(options));
  std::vector<int64_t> starts;
  for (size_t i = 0; i < trace.kernel.size(); ++i) {
    const int64_t start = trace.kernel.start_ns[i], end = start + trace.kernel.duration_ns[i];
    if (options.from_ns && (end < *options.from_ns || start >= *options.to_ns)) continue;
    starts.push_back(start);
  }
  if (from == "-") {
    std::partial_sort(starts.begin(), starts.begin() + 10, starts.end());
    starts.resize(10);
  }
  const int64_t end = monotonicNs();
  std::printf("%-11s %6.2f ms, peak memory %.0f MiB; %zu kernels of %llu\n", what,
              static_cast<double>(end - begin) / 1e6, peakMib(), starts.size(),
              static_cast<unsigned long long>(reader.rows(TableId::kKernel)));
  return starts.empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--read")
    return readInProcess(argv[2], argv[3], argv[4]);
  if (argc >= 3 && std::string(argv[1]) == "--write") {
    writeTrace(argv[2], argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 10'000'000);
    return 0;
  }
  const size_t kernels = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000'000;
  if (kernels < 100) {
    std::fprintf(stderr, "usage: large_trace_bench [KERNELS] [DIRECTORY]\n");
    return 2;
  }
  const std::string path = (argc > 2 ? std::string(argv[2]) : "/dev/shm") + "/large_trace_bench." +
                           std::to_string(getpid()) + ".sbt";
  const int64_t middle_ns = writeTrace(path, kernels);
  for (int run = 0; run < 3; ++run) {
    readSome(path, "first 10", {});
    ReadOptions window;
    window.from_ns = middle_ns;
    readSome(path, "1 ms window", window);
  }
  unlink(path.c_str());
  return 0;
}
