// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/cupti_clock.hpp"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <atomic>

#include "tracesmith/capture/agents/core/agent_clock.hpp"
#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/cuda/activity.hpp"
#include "tracesmith/capture/agents/cuda/other_tools.hpp"
#include "tracesmith/capture/agents/cuda/record_writer.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"
#include "tracesmith/capture/agents/cuda/sharing.hpp"

namespace tracesmith::agent {
namespace {

constexpr int64_t kLeastPauseNs = 100'000'000;
constexpr int kReadings = 3;  // the narrowest is kept

enum class Choice { kNone, kNanoseconds, kTicks };
constinit Choice g_choice = Choice::kNone;

/// More than the error of any reading.
constexpr uint64_t kOtherClock = 1'000'000;

/// Result of reading CUPTI's clock since our callback was registered. A CUPTI that does not return
/// our clock from the start does not indicate another tool; it is not read again.
enum class Readings { kNone, kOurs, kNotOurs };
constinit Readings g_readings = Readings::kNone;
constinit bool g_other_clock_reported = false;

/// Reports that another tool has replaced our clock: CUPTI has one clock per process.
void reportOtherClock() {
  if (g_other_clock_reported) return;
  g_other_clock_reported = true;
  char names[256];
  describeOtherTools(names, sizeof names);
  char text[500];
  snprintf(text, sizeof text,
           "another tool of this process has taken CUPTI over, which serves one tool at a "
           "time%s%s%s: device work from then on is missing in this trace. Record without that "
           "tool, or use that tool alone",
           names[0] != 0 ? " (loaded: " : "", names, names[0] != 0 ? ")" : "");
  reportProblem(false, text);
}

/// 0: this CUPTI does not report its time.
uint64_t readCupti() {
  uint64_t time = 0;
  if (isSharing()) return timestampOfSharing(&time) ? time : 0;
  if (g_cupti.cuptiGetTimestamp == nullptr) return 0;
  return g_cupti.cuptiGetTimestamp(&time) == cupti::kSuccess ? time : 0;
}

}  // namespace

uint64_t cuptiClock() {
  return static_cast<uint64_t>(g_choice == Choice::kTicks ? stamp() : nowNs());
}

void chooseCuptiClock() {
  if (g_choice == Choice::kNone) {
    const char* const wanted = setting(arena::kEnvCudaClock);
    const bool ticks = wanted != nullptr && strcmp(wanted, "ticks") == 0 && g_use_tsc;
    g_choice = ticks ? Choice::kTicks : Choice::kNanoseconds;
  }
  const auto kind = g_choice == Choice::kTicks ? arena::StampClockKind::kTimeStampCounter
                                               : arena::StampClockKind::kMonotonicNs;
  sharedHeader().clock.store(static_cast<uint32_t>(kind), std::memory_order_relaxed);
  g_readings = Readings::kNone;
  g_other_clock_reported = false;
}

uint64_t cuptiDefaultClock() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

void sampleCuptiClock(bool now) {
  static int64_t last = 0;
  if (g_readings == Readings::kNotOurs || (!now && nowNs() - last < kLeastPauseNs)) return;
  cuda_file::ClockSample best{0, 0, INT64_MAX};
  for (int i = 0; i < kReadings; ++i) {
    const uint64_t least = cuptiClock();
    const int64_t before = nowNs();
    const uint64_t time = readCupti();
    const int64_t after = nowNs();
    const uint64_t most = cuptiClock();
    if (time == 0) return;
    if (time + kOtherClock >= least && time <= most + kOtherClock) {
      g_readings = Readings::kOurs;
    } else if (g_readings == Readings::kOurs) {
      reportOtherClock();
    } else {
      g_readings = Readings::kNotOurs;
      return;
    }
    if (after - before < best.after_ns - best.before_ns) {
      best = {before, static_cast<int64_t>(time), after};
    }
  }
  last = best.after_ns;
  cuda_file::Header& h = sharedHeader();
  const uint64_t number = h.clock_samples_done.load(std::memory_order_relaxed);
  h.clock_samples_begun.store(number + 1, std::memory_order_relaxed);
  // Each field is a release store, so that no reader sees a new field with the old count of begun
  // samples. (ThreadSanitizer does not support fences.)
  cuda_file::ClockSample& sample = h.clock_samples[number % cuda_file::kClockSamples];
  std::atomic_ref(sample.before_ns).store(best.before_ns, std::memory_order_release);
  std::atomic_ref(sample.cupti).store(best.cupti, std::memory_order_release);
  std::atomic_ref(sample.after_ns).store(best.after_ns, std::memory_order_release);
  h.clock_samples_done.store(number + 1, std::memory_order_release);
}

}  // namespace tracesmith::agent
