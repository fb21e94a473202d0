// SPDX-License-Identifier: Apache-2.0
// Profiles device memory: of a pool that the program manages itself, or, given a trace, of the
// program in the trace.
//   memory_profiler_example [TRACE.sbt]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tracesmith/format/trace_reader.hpp>
#include <tracesmith/tracesmith.hpp>
#include <vector>

namespace {

/// Hands out pieces of one block of device memory: the lowest range that fits.
class Pool {
 public:
  Pool(tracesmith::MemoryProfiler& profiler, uint64_t base, uint64_t bytes)
      : profiler_(profiler), free_{{base, bytes}} {}

  uint64_t take(uint64_t bytes, const char* what) {
    for (auto& [begin, room] : free_) {
      if (room < bytes) continue;
      const uint64_t at = begin;
      begin += bytes;
      room -= bytes;
      profiler_.recordAlloc(at, bytes, 0, "pool", what);
      return at;
    }
    std::fprintf(stderr, "no room for %s\n", what);
    std::exit(1);
  }
  void giveBack(uint64_t at, uint64_t bytes) {
    free_.emplace_back(at, bytes);
    profiler_.recordFree(at);
  }

 private:
  tracesmith::MemoryProfiler& profiler_;
  std::vector<std::pair<uint64_t, uint64_t>> free_;
};

void ofAPool() {
  constexpr uint64_t kMiB = 1 << 20;
  tracesmith::MemoryProfiler profiler({.leak_threshold_ns = 0});
  profiler.start();
  Pool pool(profiler, 0x7f00'0000'0000, 256 * kMiB);
  const uint64_t weights = pool.take(64 * kMiB, "weights");
  for (int step = 0; step < 4; ++step) {
    std::vector<uint64_t> activations;
    for (int layer = 0; layer < 8; ++layer) {
      activations.push_back(pool.take(2 * kMiB, "activation"));
    }
    const uint64_t gradient = pool.take(8 * kMiB, "gradient");
    for (const uint64_t at : activations) pool.giveBack(at, 2 * kMiB);
    if (step != 2) pool.giveBack(gradient, 8 * kMiB);  // forgotten once: a leak
  }
  pool.giveBack(weights, 64 * kMiB);
  profiler.recordFree(weights);  // a double free
  profiler.stop();
  std::fputs(profiler.generateReport().summary().c_str(), stdout);
}

int ofATrace(const char* path) {
  auto reader = tracesmith::TraceReader::open(path);
  if (!reader) {
    std::fprintf(stderr, "%s\n", reader.error().toString().c_str());
    return 1;
  }
  auto trace = reader->read();
  if (!trace) {
    std::fprintf(stderr, "%s\n", trace.error().toString().c_str());
    return 1;
  }
  const auto profiler = tracesmith::MemoryProfiler::of(*trace);
  std::fputs(profiler.generateReport().summary().c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return ofATrace(argv[1]);
  ofAPool();
  return 0;
}
