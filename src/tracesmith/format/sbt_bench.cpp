// SPDX-License-Identifier: Apache-2.0
// Size and speed of SBT: a synthetic trace of kernels and their launches, the same in each run,
// compared with `zstd -1` over the same columns as in memory.
//   sbt_bench [KERNELS] [DIRECTORY]     (default 1000000 /dev/shm)
// Wall time of one thread, median of five; a kernel with its launch counts as one event.
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/bench_trace_test_util.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace {

using namespace tracesmith;  // NOLINT: a program of few functions

constexpr int kRuns = 5;

void check(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().toString().c_str());
  std::exit(1);
}

double median(const std::function<void()>& run) {
  std::array<double, kRuns> seconds;
  for (double& s : seconds) {
    const int64_t begin = monotonicNs();
    run();
    s = static_cast<double>(monotonicNs() - begin) * 1e-9;
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[kRuns / 2];
}

void print(const char* what, size_t bytes, size_t events, double write_s, double read_s) {
  const auto n = static_cast<double>(events);
  std::printf("  %-32s %7.2f bytes/event   write %7.2f M/s   read %7.2f M/s\n", what,
              static_cast<double>(bytes) / n, n / write_s * 1e-6, n / read_s * 1e-6);
}

void measureSbt(const char* what, const Trace& trace, const std::string& path) {
  const double write_s = median([&] {
    auto writer = TraceWriter::create(path);
    if (!writer) check(tl::unexpected<Error>(writer.error()));
    check(writer->write(trace));
    check(writer->finish());
  });
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) std::exit(1);
  size_t rows = 0;
  const double read_s = median([&] {
    auto reader = TraceReader::open(path);
    if (!reader) check(tl::unexpected<Error>(reader.error()));
    auto read = reader->read();
    if (!read) check(tl::unexpected<Error>(read.error()));
    rows = read->kernel.size();
  });
  unlink(path.c_str());
  if (rows != trace.kernel.size()) std::exit(1);
  print(what, static_cast<size_t>(info.st_size), trace.kernel.size(), write_s, read_s);
}

/// The columns that are not all zero, each compressed as a whole, as in memory.
void measureZstd(const char* what, const Trace& trace) {
  std::vector<Bytes> columns;
  const auto add = [&](const auto& table) {
    std::decay_t<decltype(table)>::visitColumns(table, [&](const ColumnInfo&, const auto& c) {
      Bytes bytes(c.size() * sizeof(c[0]));
      std::memcpy(bytes.data(), c.data(), bytes.size());
      if (std::any_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b != 0; })) {
        columns.push_back(std::move(bytes));
      }
    });
  };
  add(trace.kernel);
  add(trace.host_call);
  std::vector<Bytes> packed(columns.size());
  size_t total = 0;
  const double write_s = median([&] {
    total = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      packed[i].resize(ZSTD_compressBound(columns[i].size()));
      packed[i].resize(ZSTD_compress(packed[i].data(), packed[i].size(), columns[i].data(),
                                     columns[i].size(), 1));
      total += packed[i].size();
    }
  });
  const double read_s = median([&] {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (ZSTD_decompress(columns[i].data(), columns[i].size(), packed[i].data(),
                          packed[i].size()) != columns[i].size()) {
        std::exit(1);
      }
    }
  });
  print(what, total, trace.kernel.size(), write_s, read_s);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t kernels = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  if (kernels == 0) {
    std::fprintf(stderr, "usage: sbt_bench [KERNELS] [DIRECTORY]\n");
    return 2;
  }
  const std::string path = (argc > 2 ? std::string(argv[2]) : "/dev/shm") + "/sbt_bench." +
                           std::to_string(getpid()) + ".sbt";
  for (const auto& [model, name] : {std::pair(bench::TraceModel::kIndependent, "independent names"),
                                    std::pair(bench::TraceModel::kTrainingLoop, "training loop")}) {
    bench::TraceGenerator generator(model);
    generator.add(kernels);
    const bench::ColumnEntropy e = generator.entropy();
    std::printf(
        "%s: bits for each kernel at least: duration %.2f, gap %.2f, shape and name %.2f, "
        "correlation %.2f; launch: lead %.2f, duration %.2f\n",
        name, e.duration, e.gap, e.shape_and_name, e.correlation, e.launch_lead, e.launch_duration);
    Trace trace = std::move(generator.trace());
    measureSbt("kernels with launches, SBT", trace, path);
    measureZstd("kernels with launches, zstd -1", trace);
    std::printf("  %-32s %7.2f bytes/event\n", "kernels with launches, entropy", e.bothBytes());
    trace.host_call.clear();
    measureSbt("kernels alone, SBT", trace, path);
    measureZstd("kernels alone, zstd -1", trace);
    std::printf("  %-32s %7.2f bytes/event\n", "kernels alone, entropy", e.kernelBytes());
  }
  return 0;
}
