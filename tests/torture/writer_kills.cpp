// SPDX-License-Identifier: Apache-2.0
// Kills writers at random moments and looks at what they leave. Usage:
//   torture_writer_kills writer COUNT [SEED]   every row whose write() had returned is in the file
//   torture_writer_kills session COUNT [SEED]  of a session no more is lost than a flush interval
#include <signal.h>
#include <sys/mman.h>
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

#include "tracesmith/api/tracing_session.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/trace_check.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/format/trace_writer.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

namespace {

/// What the child tells before it dies.
struct Progress {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> rows{0};    // in writes that have returned
  std::atomic<int64_t> last_ns{0};  // of the newest event that was emitted
};

uint64_t g_number = 0;

[[noreturn]] void wrong(const std::string& why) {
  std::fprintf(stderr, "kill %llu: %s\n", static_cast<unsigned long long>(g_number), why.c_str());
  std::exit(1);
}

int64_t durationOf(uint64_t row) { return static_cast<int64_t>(row * 7 % 10'007); }

[[noreturn]] void writeForEver(const std::string& path, uint64_t seed, Progress& progress) {
  std::mt19937_64 random(seed);
  auto writer = TraceWriter::create(path);
  if (!writer) _exit(1);
  progress.begun = 1;
  Trace delta;
  const StringId name = delta.strings.intern("kernel");
  for (uint64_t row = 0;;) {
    for (uint64_t n = 1 + random() % 3000; n > 0; --n, ++row) {
      delta.kernel.push(
          {.start_ns = static_cast<int64_t>(row), .duration_ns = durationOf(row), .name = name});
    }
    if (!writer->write(delta)) _exit(2);
    progress.rows = row;
    delta.kernel.clear();
  }
}

/// Rows that were there.
uint64_t checkWriter(const std::string& path, const Progress& progress, bool& cut) {
  const uint64_t promised = progress.rows;
  uint64_t keep = 0;
  uint32_t strings = 0;
  uint64_t rows = 0;
  {
    auto reader = TraceReader::open(path);
    if (!reader) {
      if (promised > 0) wrong("rows were written, but: " + reader.error().toString());
      return 0;
    }
    const auto trace = reader->read();
    if (!trace) wrong(trace.error().toString());
    if (!reader->losses().empty()) wrong("damage: " + reader->losses()[0].reason);
    rows = trace->kernel.size();
    if (rows < promised) {
      wrong(std::to_string(promised) + " rows were written, " + std::to_string(rows) +
            " are there");
    }
    for (uint64_t i = 0; i < rows; ++i) {
      if (trace->kernel.start_ns[i] != static_cast<int64_t>(i) ||
          trace->kernel.duration_ns[i] != durationOf(i) ||
          trace->text(trace->kernel.name[i]) != "kernel") {
        wrong("row " + std::to_string(i) + " is not what was written");
      }
    }
    cut = reader->cutBytes() > 0;
    keep = reader->endOfBlocks();
    strings = static_cast<uint32_t>(trace->strings.size());
  }
  auto writer = TraceWriter::resume(path, keep, strings);
  if (!writer) wrong("cannot be continued: " + writer.error().toString());
  if (!writer->finish()) wrong("cannot be finished");
  const auto check = checkTrace(path);
  if (!check || !check->intact()) wrong("is not intact when it has been continued and finished");
  return rows;
}

[[noreturn]] void emitForEver(const std::string& path, Progress& progress) {
  TracingSession session;
  if (!session.start({.output_file = path})) _exit(1);
  const SpanName name = session.spanName("event");
  progress.begun = 1;
  for (;;) {
    for (int i = 0; i < 100; ++i) {
      session.marker(name);
      progress.last_ns.store(monotonicNs(), std::memory_order_relaxed);
    }
    usleep(50);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool session = argc > 1 && std::strcmp(argv[1], "session") == 0;
  const uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100;
  std::mt19937_64 random(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  const uint32_t flush_ms = TracingConfig{}.flush_interval_ms;
  const test::TempFile file;
  void* shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  uint64_t rows = 0;
  uint64_t cuts = 0;
  int64_t most_lost_ns = 0;
  for (g_number = 1; g_number <= count; ++g_number) {
    Progress& progress = *new (shared) Progress;
    unlink(file.path().c_str());
    const uint64_t seed = random();
    const pid_t pid = fork();
    if (pid == 0) {
      if (session) emitForEver(file.path(), progress);
      writeForEver(file.path(), seed, progress);
    }
    while (progress.begun == 0) {
      usleep(50);
      if (waitpid(pid, nullptr, WNOHANG) == pid) wrong("the writer ended by itself");
    }
    const int64_t begun_ns = monotonicNs();
    usleep(static_cast<useconds_t>(session ? 300'000 + random() % 200'000 : random() % 12'000));
    const int64_t killed_ns = monotonicNs();
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    if (!session) {
      bool cut = false;
      rows += checkWriter(file.path(), progress, cut);
      cuts += cut ? 1 : 0;
      continue;
    }
    auto reader = TraceReader::open(file.path());
    if (!reader) wrong(reader.error().toString());
    const auto trace = reader->read();
    if (!trace) wrong(trace.error().toString());
    if (!reader->losses().empty()) wrong("damage: " + reader->losses()[0].reason);
    int64_t newest = begun_ns;  // if nothing was written yet
    for (const int64_t t : trace->range.start_ns) newest = std::max(newest, t);
    rows += trace->range.size();
    const int64_t lost = std::min<int64_t>(progress.last_ns, killed_ns) - newest;
    most_lost_ns = std::max(most_lost_ns, lost);
    // The drainer itself may have to wait for a processor.
    if (lost > int64_t{flush_ms} * 1'000'000 + 1'000'000'000) {
      wrong("the last " + std::to_string(lost / 1'000'000) + " ms are lost");
    }
  }
  if (session) {
    std::printf(
        "session kills  %9llu: %llu events read, the newest was lost for %.0f ms at most "
        "(flush interval %u ms)\n",
        static_cast<unsigned long long>(count), static_cast<unsigned long long>(rows),
        static_cast<double>(most_lost_ns) / 1e6, flush_ms);
  } else {
    std::printf(
        "writer kills   %9llu: %llu rows read, all that were written; %llu files ended "
        "within a block; all could be continued\n",
        static_cast<unsigned long long>(count), static_cast<unsigned long long>(rows),
        static_cast<unsigned long long>(cuts));
  }
  return 0;
}
