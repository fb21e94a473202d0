// SPDX-License-Identifier: Apache-2.0
// Size and speed of SBT: a made-up trace of kernels and their launches, the same in each run,
// beside `zstd -1` over the same columns as they lie in memory.
//   sbt_bench [KERNELS] [DIRECTORY]     (default 1000000 /dev/shm)
// Wall time of one thread, median of five; a kernel with its launch counts as one event.
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"

namespace {

using namespace tracesmith;  // NOLINT: a program of few functions

constexpr size_t kNames = 200;
constexpr size_t kStreams = 8;
constexpr int kRuns = 5;

class Dice {
 public:
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0; }
  uint64_t below(uint64_t n) { return random_() % n; }
  /// exp of a normal variable (Box and Muller) with this median and spread.
  double logNormal(double median, double sigma) {
    constexpr double kTwoPi = 6.283185307179586;
    const double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(kTwoPi * uniform());
    return median * std::exp(sigma * normal);
  }

 private:
  std::mt19937_64 random_{20261121};
};

/// 200 names of 25 to 120 characters by Zipf's law, 8 streams, log-normal durations and gaps, the
/// launch 5 to 50 us ahead of its kernel, 1 to 3 launch shapes for each name.
Trace makeTrace(size_t kernels) {
  Dice dice;
  Trace t;
  std::vector<double> shares(kNames);
  std::vector<StringId> names;
  std::vector<std::vector<ShapeId>> shapes(kNames);
  double sum = 0;
  for (size_t n = 0; n < kNames; ++n) {
    std::string name = "kernel_" + std::to_string(n) + "_";
    for (const size_t length = 25 + dice.below(96); name.size() < length;) {
      name += static_cast<char>('a' + dice.below(26));
    }
    names.push_back(t.strings.intern(name));
    shares[n] = sum += 1.0 / static_cast<double>(n + 1);
    for (uint64_t s = 1 + dice.below(3); s > 0; --s) {
      shapes[n].push_back(idAt<ShapeId>(t.launch_shape.size()));
      t.launch_shape.push({.dimensions = 1,
                           .global_x = 256 * (1 + dice.below(4096)),
                           .local_x = uint32_t{64} << dice.below(4)});
    }
  }
  const StringId api = t.strings.intern("clEnqueueNDRangeKernel");
  t.process.push({.id = ProcessId{1}, .pid = 4711});
  t.thread.push({.id = ThreadId{1}, .process_id = ProcessId{1}, .tid = 4711});
  t.device.push({.id = DeviceId{1}, .name = t.strings.intern("made up")});
  t.context.push({.id = ContextId{1}, .process_id = ProcessId{1}, .device_id = DeviceId{1}});
  std::array<int64_t, kStreams> free_ns;
  for (size_t s = 0; s < kStreams; ++s) {
    free_ns[s] = 1'000'000'000;
    t.stream.push({.id = idAt<StreamId>(s),
                   .process_id = ProcessId{1},
                   .context_id = ContextId{1},
                   .device_id = DeviceId{1},
                   .ordinal = static_cast<uint32_t>(s)});
  }

  std::vector<KernelRow> rows(kernels);
  std::vector<HostCallRow> launches(kernels);
  for (size_t i = 0; i < kernels; ++i) {
    const size_t s = dice.below(kStreams);
    const auto n = static_cast<size_t>(
        std::lower_bound(shares.begin(), shares.end(), dice.uniform() * sum) - shares.begin());
    KernelRow& k = rows[i];
    k.start_ns = free_ns[s] + static_cast<int64_t>(dice.logNormal(2'000, 1.0));
    k.duration_ns = 1 + static_cast<int64_t>(dice.logNormal(20'000, 1.2));
    free_ns[s] = k.start_ns + k.duration_ns;
    k.name = names[n];
    k.shape_id = shapes[n][dice.below(shapes[n].size())];
    k.stream_id = idAt<StreamId>(s);
    HostCallRow& h = launches[i];
    h.start_ns = k.start_ns - 5'000 - static_cast<int64_t>(dice.below(45'001));
    h.duration_ns = 1 + static_cast<int64_t>(dice.logNormal(3'000, 0.5));
    h.name = api;
    h.kind = CallKind::kLaunch;
    h.stream_id = k.stream_id;
    k.process_id = h.process_id = ProcessId{1};
    k.thread_id = h.thread_id = ThreadId{1};
  }
  // Correlation ids count launches; kernels come in the order in which they ended.
  std::vector<size_t> order(kernels);
  for (size_t i = 0; i < kernels; ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return launches[a].start_ns < launches[b].start_ns; });
  uint64_t correlation = 0;
  for (size_t i : order) {
    rows[i].correlation_id = launches[i].correlation_id = ++correlation;
    t.host_call.push(launches[i]);
  }
  std::sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) {
    return a.start_ns + a.duration_ns < b.start_ns + b.duration_ns;
  });
  for (const KernelRow& row : rows) t.kernel.push(row);
  return t;
}

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
  std::printf("%-32s %7.2f bytes/event   write %7.2f M/s   read %7.2f M/s\n", what,
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

/// The columns that are not all zero, each compressed as a whole as it lies in memory.
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
  Trace trace = makeTrace(kernels);
  measureSbt("kernels with launches, SBT", trace, path);
  measureZstd("kernels with launches, zstd -1", trace);
  trace.host_call.clear();
  measureSbt("kernels alone, SBT", trace, path);
  measureZstd("kernels alone, zstd -1", trace);
  return 0;
}
