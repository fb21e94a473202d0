// SPDX-License-Identifier: Apache-2.0
// Summaries: time, memory and size of those of large traces; adding up 10,000 of them.
//   fleet_bench [KERNELS...] [DIRECTORY]    (default 500000 5000000 50000000 /dev/shm)
// Events are kernels and as many launches. Each measurement runs in a process of its own.
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/fleet/fleet_run.hpp"
#include "tracesmith/fleet/summarize.hpp"
#include "tracesmith/fleet/summary_bytes.hpp"
#include "tracesmith/format/bench_process_test_util.hpp"

namespace {

using namespace tracesmith;         // NOLINT: a program of few functions
using namespace tracesmith::bench;  // NOLINT

constexpr size_t kSummaries = 10'000;

int summarize(const std::string& path, size_t kernels) {
  const int64_t begin = monotonicNs();
  TraceScan scan = valueOr(TraceScan::open(path));
  FleetSummary summary = valueOr(summarizeScan(scan));
  const Bytes bytes = encodeSummary(summary, kLargestSummary);
  const auto ns = static_cast<double>(monotonicNs() - begin);
  std::printf(
      "summarize %11zu events  %7.2f s  %6.2f M/s  %6.0f MiB   %zu bytes, %zu kernel names\n",
      2 * kernels, ns / 1e9, 2e3 * static_cast<double>(kernels) / ns, peakMib(), bytes.size(),
      summary.kernels.size());
  return summary.kernels.empty() ? 1 : 0;
}

/// Summaries of `path`'s size, each with durations of its own, as files.
void writeSummaries(const std::string& path, const std::string& folder) {
  TraceScan scan = valueOr(TraceScan::open(path));
  const FleetSummary one = valueOr(summarizeScan(scan));
  std::filesystem::create_directories(folder);
  std::mt19937_64 random(1);
  for (size_t i = 0; i < kSummaries; ++i) {
    SummaryFile file{.summary = one};
    file.trace.bytes = 1;
    file.trace.trace_id[0] = static_cast<uint8_t>(i);
    file.trace.trace_id[1] = static_cast<uint8_t>(i >> 8);
    for (auto& [name, sums] : file.summary.kernels) {
      for (auto& [index, n] : sums.buckets) {
        const uint64_t more = random() % 8;
        n += more;
        sums.count += more;
      }
    }
    check(writeSummaryFile(folder + "/" + std::to_string(i) + kSummaryEnding, file));
  }
}

int addUp(const std::string& folder) {
  const int64_t begin = monotonicNs();
  const FleetRun run = runFleet(findFleetFiles({folder}));
  const auto ns = static_cast<double>(monotonicNs() - begin);
  std::printf(
      "add up    %11zu files   %7.2f s  %6.0f MiB   %zu kernel names, %llu bytes each\n",
      run.files.size(), ns / 1e9, peakMib(), run.sum.kernels.size(),
      static_cast<unsigned long long>(std::filesystem::file_size(folder + "/0" + kSummaryEnding)));
  return run.count(FleetFile::State::kStored) == kSummaries ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--summarize") {
    return summarize(argv[2], std::strtoull(argv[3], nullptr, 10));
  }
  if (argc == 3 && std::string(argv[1]) == "--add") return addUp(argv[2]);
  const SizesAndFolder wanted(argc, argv, {500'000, 5'000'000, 50'000'000});
  const std::string path = wanted.folder + "/fleet_bench." + std::to_string(getpid());
  const std::string trace = path + ".sbt";
  bool has_summaries = false;
  for (const size_t kernels : wanted.sizes) {
    writeLaunchedKernels(trace, kernels);
    runApart({"--summarize", trace, std::to_string(kernels)});
    if (!has_summaries) writeSummaries(trace, path);
    has_summaries = true;
  }
  runApart({"--add", path});
  std::filesystem::remove_all(path);
  unlink(trace.c_str());
  return 0;
}
