// SPDX-License-Identifier: Apache-2.0
// Races of a million launches with four ranges each: in eight streams, in ten thousand, and in one
// out-of-order stream. Each also runs with half as many launches, because time must be linear. For
// comparison, on fewer launches: each launch against all earlier ones, the method without clocks.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "tracesmith/analysis/races/races.hpp"
#include "tracesmith/base/clock.hpp"

using namespace tracesmith;         // NOLINT: a program of few functions
using namespace tracesmith::races;  // NOLINT

namespace {

struct Shape {
  const char* name;
  uint32_t streams = 8;
  bool out_of_order = false;
  bool parts = false;       // ranges are parts of buffers, not whole ones
  bool host_syncs = true;   // the host occasionally waits for all
  bool neighbours = false;  // launches go round-robin; each waits for one of the previous stream
};

/// Each launch writes one range and reads three of 4096 buffers of 1 MiB; every third waits for an
/// event of another stream; every 200 launches the host waits for everything.
Program programOf(uint32_t launches, const Shape& shape) {
  Program program;
  for (uint32_t s = 0; s < shape.streams; ++s) program.addStream(shape.out_of_order);
  std::mt19937_64 random(1);
  std::vector<StepId> recent(64, kNone);
  for (uint32_t i = 0; i < launches; ++i) {
    Access accesses[4];
    for (uint32_t k = 0; k < 4; ++k) {
      const uint64_t from = shape.parts ? random() % 64 << 14 : 0;
      const uint64_t bytes = shape.parts ? (1 + random() % 8) << 14 : 1 << 20;
      accesses[k] = {.begin = from,
                     .end = std::min<uint64_t>(from + bytes, 1 << 20),
                     .allocation = static_cast<uint32_t>(random() % 4096),
                     .is_write = k == 0,
                     .grade = Grade::kLikely};
    }
    StepId wait = i % 3 == 0 ? recent[random() % recent.size()] : kNone;
    Step step{.stream = static_cast<uint32_t>(random() % shape.streams),
              .label = static_cast<uint32_t>(random() % 100)};
    if (shape.neighbours) {
      step.stream = i % shape.streams;
      wait = i == 0 ? kNone : recent[(i - 1) % recent.size()];
    }
    recent[i % recent.size()] = program.add(step, {&wait, wait == kNone ? 0u : 1u}, accesses);
    if (shape.host_syncs && i % std::max(200u, 2 * shape.streams) == 199) {
      for (uint32_t s = 0; s < shape.streams; ++s) {
        program.add({.kind = StepKind::kHostWait, .stream = s});
      }
    }
  }
  return program;
}

double secondsOf(const Program& program, uint64_t& races) {
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
    races = findRaces(program, Grade::kLikely).races;
    best = std::min(best, static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - from) / 1e9);
  }
  return best;
}

double launchesPerSecond(const Shape& shape, uint32_t launches) {
  uint64_t races = 0, half_races = 0;
  const double half = secondsOf(programOf(launches / 2, shape), half_races);
  const double whole = secondsOf(programOf(launches, shape), races);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "%-28s %8u launches %7.3f s  %5.2f M/s  twice as many: %.2f times  "
      "%llu races  peak %ld MiB\n",
      shape.name, launches, whole, launches / whole / 1e6, whole / half,
      static_cast<unsigned long long>(races), usage.ru_maxrss / 1024);
  return launches / whole;
}

/// Computes each step's set of predecessors, and checks each pair of steps that share bytes.
void pairwise(uint32_t launches) {
  const Program program = programOf(launches, {"", 8});
  const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
  const StepId n = program.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
  std::vector<StepId> last(8, kNone);
  std::vector<bool> host(n, false);
  uint64_t races = 0;
  const auto include = [](std::vector<bool>& into, const std::vector<bool>& from_set) {
    for (size_t i = 0; i < into.size(); ++i) into[i] = into[i] || from_set[i];
  };
  for (StepId id = 0; id < n; ++id) {
    const Step& step = program.step(id);
    const StepId previous = last[step.stream];
    if (step.kind == StepKind::kHostWait) {
      if (previous != kNone) include(host, before[previous]), host[previous] = true;
      continue;
    }
    std::vector<bool>& set = before[id] = host;
    if (previous != kNone) include(set, before[previous]), set[previous] = true;
    for (const StepId wait : program.waits(id)) include(set, before[wait]), set[wait] = true;
    last[step.stream] = id;
    for (StepId e = 0; e < id; ++e) {
      if (set[e]) continue;
      bool races_with = false;
      for (const Access& a : program.accesses(id)) {
        for (const Access& b : program.accesses(e)) {
          races_with |= a.allocation == b.allocation && (a.is_write || b.is_write) &&
                        a.begin < b.end && b.begin < a.end;
        }
      }
      races += races_with ? 1 : 0;
    }
  }
  const double seconds = static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - from) / 1e9;
  std::printf("%-28s %8u launches %7.3f s  %5.4f M/s  %llu races, implied ones included\n",
              "pair by pair (peer)", launches, seconds, launches / seconds / 1e6,
              static_cast<unsigned long long>(races));
}

}  // namespace

int main(int argc, char** argv) {
  const uint32_t launches = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 1'000'000;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  pairwise(4000);
  const double plain = launchesPerSecond({"8 streams"}, launches);
  launchesPerSecond({"8 streams, parts of buffers", 8, false, true}, launches / 4);
  launchesPerSecond({"1 out-of-order stream", 1, true}, launches);
  launchesPerSecond({"10000 streams", 10'000}, launches / 4);
  launchesPerSecond({"10000 in a ring, no host wait", 10'000, false, false, false, true}, launches);
  // Worst case for clocks: every clock differs from every other.
  launchesPerSecond({"10000, random, no host wait", 10'000, false, false, false}, launches / 10);
  launchesPerSecond({"8 out-of-order, no host wait", 8, true, false, false}, launches / 10);
  if (plain < 1e6) std::printf("8 streams: less than a million launches a second\n");
  return 0;
}
