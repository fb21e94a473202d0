// SPDX-License-Identifier: Apache-2.0
// Traces larger than 32 bits can count. Usage:
//   torture_large_files grow PATH GIGABYTES   one process writes, two read along
//   torture_large_files rows PATH MILLIONS    so many rows of one table
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <string>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

namespace {

constexpr uint64_t kBlockRows = 131072;

[[noreturn]] void wrong(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(1);
}

template <class T>
T orWrong(Result<T> result) {
  if (!result) wrong(result.error().toString());
  return std::move(*result);
}

double peakMib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Progress {
  std::atomic<uint64_t> blocks{0};  // whose write() has returned
  std::atomic<bool> finished{false};
};

/// A row's time is its number; what it has besides cannot be compressed.
void follow(const std::string& path, const Progress& progress, int reader_number) {
  Result<TraceReader> opened = TraceReader::open(path);
  for (int i = 0; !opened && i < 1000; ++i) {
    usleep(1000);
    opened = TraceReader::open(path);
  }
  TraceReader reader = orWrong(std::move(opened));
  std::mt19937_64 random(static_cast<uint64_t>(reader_number));
  uint64_t looks = 0;
  uint64_t before = 0;
  int64_t slowest = 0;
  for (bool last = false;;) {
    const bool finished = progress.finished;
    const uint64_t promised = progress.blocks;
    const int64_t begin = monotonicNs();
    if (auto n = reader.refresh(); !n) wrong(n.error().toString());
    const uint64_t rows = reader.rows(TableId::kKernel);
    if (rows < before) wrong("rows went away while the file grew");
    if (rows < promised * kBlockRows) wrong("rows that were written are not seen");
    if (!reader.losses().empty()) wrong("damage: " + reader.losses()[0].reason);
    before = rows;
    if (rows > 0) {
      // 1000 rows somewhere.
      const auto from = static_cast<int64_t>(random() % rows);
      const Trace part = orWrong(reader.read({.convert_clocks = false,
                                              .tables = {TableId::kKernel},
                                              .from_ns = from,
                                              .to_ns = from + 1000}));
      uint64_t seen = 0;
      for (const int64_t t : part.kernel.start_ns) seen += t >= from && t < from + 1000 ? 1 : 0;
      if (seen != std::min<uint64_t>(1000, rows - static_cast<uint64_t>(from))) {
        wrong("a window has not the rows that it should have");
      }
      ++looks;
    }
    slowest = std::max(slowest, monotonicNs() - begin);
    if (last) break;
    last = finished;
    usleep(5'000);
  }
  if (!reader.complete()) wrong("the end was not seen");
  std::printf(
      "  reader %d: %llu windows of 1000 rows; the slowest look took %.0f ms; peak memory "
      "%.0f MiB\n",
      reader_number, static_cast<unsigned long long>(looks), static_cast<double>(slowest) / 1e6,
      peakMib());
  std::fflush(stdout);
}

void grow(const std::string& path, double gigabytes) {
  void* shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Progress& progress = *new (shared) Progress;
  unlink(path.c_str());
  std::vector<pid_t> readers;
  for (int i = 1; i <= 2; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      follow(path, progress, i);
      _exit(0);
    }
    readers.push_back(pid);
  }
  const int64_t begin = monotonicNs();
  TraceWriter writer = orWrong(TraceWriter::create(path));
  std::mt19937_64 random(1);
  Trace delta;
  for (uint64_t i = 0; i < kBlockRows; ++i) {
    delta.kernel.push({.duration_ns = static_cast<int64_t>(random() % 50),
                       .correlation_id = random(),
                       .queued_before_ns = static_cast<int64_t>(random() >> 1),
                       .submitted_before_ns = static_cast<int64_t>(random() >> 1),
                       .status = static_cast<int64_t>(random() >> 1)});
  }
  uint64_t rows = 0;
  while (static_cast<double>(writer.bytesWritten()) < gigabytes * 1e9) {
    for (int64_t& start : delta.kernel.start_ns) start = static_cast<int64_t>(rows++);
    if (Status ok = writer.write(delta); !ok) wrong(ok.error().toString());
    ++progress.blocks;
  }
  const uint64_t bytes = writer.bytesWritten();
  if (Status ok = writer.finish(); !ok) wrong(ok.error().toString());
  const double seconds = static_cast<double>(monotonicNs() - begin) / 1e9;
  progress.finished = true;
  for (const pid_t pid : readers) {
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0) wrong("a reader failed");
  }
  const TraceReader reader = orWrong(TraceReader::open(path));
  if (!reader.complete() || reader.rows(TableId::kKernel) != rows)
    wrong("the file is not complete");
  std::printf(
      "growing file   %.1f GB, %llu rows, in %.0f s; two processes read along; the writer's "
      "peak memory %.0f MiB\n",
      static_cast<double>(bytes) / 1e9, static_cast<unsigned long long>(rows), seconds, peakMib());
}

void manyRows(const std::string& path, uint64_t millions) {
  unlink(path.c_str());
  const int64_t begin = monotonicNs();
  TraceWriter writer = orWrong(TraceWriter::create(path));
  Trace delta;
  const StringId name = delta.strings.intern("tick");
  for (uint64_t i = 0; i < kBlockRows; ++i) delta.range.push({.name = name});
  uint64_t rows = 0;
  while (rows < millions * 1'000'000) {
    // A tick each 10 ns, so that the rows are all different and yet small.
    for (int64_t& start : delta.range.start_ns) start = static_cast<int64_t>(10 * rows++);
    if (Status ok = writer.write(delta); !ok) wrong(ok.error().toString());
  }
  if (Status ok = writer.finish(); !ok) wrong(ok.error().toString());
  const double seconds = static_cast<double>(monotonicNs() - begin) / 1e9;
  const double writer_mib = peakMib();

  TraceReader reader = orWrong(TraceReader::open(path));
  if (reader.rows(TableId::kRange) != rows) wrong("the number of rows is not what was written");
  // Beyond the row 2^32 as well as before it.
  for (const uint64_t row : {uint64_t{0}, rows / 2, rows - 1000}) {
    const auto from = static_cast<int64_t>(row * 10);
    const Trace part = orWrong(reader.read({.convert_clocks = false,
                                            .tables = {TableId::kRange},
                                            .from_ns = from,
                                            .to_ns = from + 10'000}));
    uint64_t seen = 0;
    for (const int64_t t : part.range.start_ns) seen += t >= from && t < from + 10'000 ? 1 : 0;
    if (seen != 1000) wrong("a window has " + std::to_string(seen) + " rows instead of 1000");
  }
  const auto all = reader.read({.max_memory_bytes = 1u << 30});
  if (all || all.error().code != ErrorCode::kNoSpace) {
    wrong("reading more than fits did not say so");
  }
  std::printf(
      "many rows      %llu (%.2f x 2^32) in %.0f s, %.1f MB; windows at the begin, in the "
      "middle and at the end are right;\n  all at once into 1 GiB: \"%s\"; peak memory %.0f "
      "MiB, the writer's %.0f MiB\n",
      static_cast<unsigned long long>(rows), static_cast<double>(rows) / 4294967296.0, seconds,
      static_cast<double>(reader.fileBytes()) / 1e6, all.error().message.c_str(), peakMib(),
      writer_mib);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "grow") == 0) {
    grow(argv[2], std::strtod(argv[3], nullptr));
  } else if (argc == 4 && std::strcmp(argv[1], "rows") == 0) {
    manyRows(argv[2], std::strtoull(argv[3], nullptr, 10));
  } else {
    wrong("usage: torture_large_files grow PATH GIGABYTES | rows PATH MILLIONS");
  }
  return 0;
}
