// SPDX-License-Identifier: Apache-2.0
// A flight recorder over days, with a clock that runs ahead: what is on disk and in memory.
//   flight_bench [DAYS]    (default 3)
// Each second has 20 launches with their kernels and a step; the window is 30 s long.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tracesmith/api/flight_follower.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/capture/flight/flight_window.hpp"
#include "tracesmith/fleet/summary_file.hpp"
#include "tracesmith/format/bench_process_test_util.hpp"

namespace {

using namespace tracesmith;         // NOLINT: a program of few functions
using namespace tracesmith::bench;  // NOLINT

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kWindowNs = 30 * kSecondNs;
constexpr uint64_t kLaunches = 20;  // a second

double memoryMib() {
  std::ifstream in("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  in >> all >> resident;
  return static_cast<double>(resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) / (1 << 20);
}

uint64_t bytesIn(const std::filesystem::path& folder) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

/// The rows of one second.
void addSecond(Trace& delta, int64_t second, uint64_t& correlation) {
  const int64_t begin = second * kSecondNs;
  for (uint64_t i = 0; i < kLaunches; ++i) {
    const int64_t at = begin + static_cast<int64_t>(i) * 40'000'000;
    ++correlation;
    delta.host_call.push({.start_ns = at,
                          .duration_ns = 5000,
                          .name = delta.strings.intern("clEnqueueNDRangeKernel"),
                          .process_id = idAt<ProcessId>(0),
                          .thread_id = idAt<ThreadId>(0),
                          .stream_id = idAt<StreamId>(0),
                          .correlation_id = correlation,
                          .kind = CallKind::kLaunch});
    delta.kernel.push(
        {.start_ns = at + 10'000,
         .duration_ns = static_cast<int64_t>(10'000'000 + correlation * 7919 % 1'000'000),
         .name = delta.strings.intern(fmt::format("kernel_{}", i)),
         .process_id = idAt<ProcessId>(0),
         .thread_id = idAt<ThreadId>(0),
         .stream_id = idAt<StreamId>(0),
         .correlation_id = correlation});
  }
  delta.range.push({.start_ns = begin,
                    .duration_ns = 900'000'000,
                    .name = delta.strings.intern("train step"),
                    .process_id = idAt<ProcessId>(0),
                    .thread_id = idAt<ThreadId>(0)});
}

int run(int64_t days) {
  const test::TempFolder folder;
  const std::string path = folder.path("job.sbt");
  FlightFollower follower(10);
  auto writer = std::make_unique<TraceWriter>(valueOr(TraceWriter::create(path)));
  FlightWindow window(path, folder.path("job"), {.window_ns = kWindowNs, .observer = &follower});
  Trace delta;
  delta.process.push({.id = idAt<ProcessId>(0), .pid = 1});
  delta.thread.push({.id = idAt<ThreadId>(0), .process_id = idAt<ProcessId>(0), .tid = 1});
  delta.device.push({.id = idAt<DeviceId>(0), .name = delta.strings.intern("a device")});
  delta.stream.push({.id = idAt<StreamId>(0), .device_id = idAt<DeviceId>(0)});
  const int64_t began = monotonicNs();
  uint64_t correlation = 0, most_bytes = 0, first_bytes = 0;
  double first_mib = 0;
  const int64_t seconds = days * 24 * 3600;
  for (int64_t second = 0; second < seconds; ++second) {
    addSecond(delta, second, correlation);
    check(writer->write(delta));
    window.note(delta);
    forEachTable(delta, [](auto& table) { table.clear(); });
    const int64_t now = began + second * kSecondNs;
    if (!window.isDue(now)) continue;
    check(window.rotate(writer, now));
    window.settle();  // this clock runs ahead of the other thread
    most_bytes = std::max(most_bytes, bytesIn(folder.folder()));
    if (second < 3600) {
      first_bytes = most_bytes;
      first_mib = memoryMib();
    }
  }
  check(window.finish(*writer));
  check(follower.writeSummary(path));
  const double took = static_cast<double>(monotonicNs() - began) / 1e9;
  const SummaryFile summary = valueOr(readSummaryFile(path + kSummaryEnding));
  std::printf("%lld days, a window of 30 s: %.0f s, %.1f million events\n",
              static_cast<long long>(days), took, static_cast<double>(2 * correlation) / 1e6);
  std::printf("disk at most: %.0f KiB in the first hour, %.0f KiB in all\n",
              static_cast<double>(first_bytes) / 1024, static_cast<double>(most_bytes) / 1024);
  std::printf("memory: %.1f MiB after the first hour, %.1f MiB at the end\n", first_mib,
              memoryMib());
  std::printf("summary: %llu kernels, %llu steps\n",
              static_cast<unsigned long long>(summary.summary.events.at("kernel")),
              static_cast<unsigned long long>(summary.summary.steps_ns.count));
  const bool is_whole = summary.summary.events.at("kernel") == correlation &&
                        summary.summary.steps_ns.count == static_cast<uint64_t>(seconds);
  return is_whole && most_bytes <= first_bytes + first_bytes / 4 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t days = argc > 1 ? std::atoll(argv[1]) : 3;
  return run(std::max<int64_t>(days, 1));
}
