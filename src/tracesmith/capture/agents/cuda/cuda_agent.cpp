// SPDX-License-Identifier: Apache-2.0
// How the agent enters a program that uses CUDA. Within cuInit() the driver loads the library named
// by CUDA_INJECTION64_PATH and calls InitializeInjection(). From then on CUPTI calls back at each
// launch, copy, allocation and wait, and delivers records of the device work. In an armed process
// (`tracesmith arm`) that starts with a capture and ends with it.
//
// The driver is compiled without exceptions, and so is the agent.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tracesmith/capture/agents/core/control.hpp"
#include "tracesmith/capture/agents/core/own_thread.hpp"
#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/core/unarmed.hpp"
#include "tracesmith/capture/agents/cuda/activity.hpp"
#include "tracesmith/capture/agents/cuda/calls.hpp"
#include "tracesmith/capture/agents/cuda/controlled.hpp"
#include "tracesmith/capture/agents/cuda/cupti_clock.hpp"
#include "tracesmith/capture/agents/cuda/cupti_subscription.hpp"
#include "tracesmith/capture/agents/cuda/driver_devices.hpp"
#include "tracesmith/capture/agents/cuda/record_writer.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"
#include "tracesmith/capture/agents/cuda/sharing.hpp"

namespace tracesmith::agent {
namespace {

constexpr int64_t kFlushIntervalNs = 200'000'000;
constexpr int64_t kFirstFlushesNs = 2'000'000'000;
constexpr int64_t kExitGraceNs = 200'000'000;
constexpr int64_t kEndGraceNs = 1'000'000'000;

constinit std::atomic<bool> g_entered{false};
constinit bool g_capturing = false;  // CUPTI is in use; with the control lock
constinit bool g_may_pause = false;  // false in an armed process
/// In an armed process: the driver has called InitializeInjection().
constinit std::atomic<bool> g_driver_is_here{false};
// Time limits for callers that hold the dynamic loader's or the driver's lock, because the owner of
// the control lock may be waiting for that lock.
constexpr int64_t kLockInDriverNs = 50'000'000;
constexpr int64_t kLockAtExitNs = 2'000'000'000;
constinit int64_t g_began = 0;
constinit std::atomic<bool> g_leaving{false};
constinit pid_t g_pid = 0;  // process that entered

/// CUPTI reports the record layouts with the first buffer. Flush often until then, so that they are
/// known before there is work to lose.
int64_t flushPause(int64_t since_start) {
  const bool waits = isSharing() && since_start < kFirstFlushesNs && !areLayoutsReported();
  return waits ? kFlushIntervalNs / 10 : kFlushIntervalNs;
}

void* flushAlways(void*) {
  const int64_t began = nowNs();
  while (!g_leaving.load(std::memory_order_relaxed) && !isDead()) {
    const timespec pause{0, flushPause(nowNs() - began)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    const ControlLock alone;
    if (!g_capturing || g_leaving.load(std::memory_order_relaxed)) continue;
    flushActivities(false);
    sampleCuptiClock(false);
  }
  return nullptr;
}

void startFlushThread() {
  if (startOwnThread(flushAlways) == 0) return;
  reportProblem(false,
                "cannot start the flush thread: device work arrives only when the program ends");
}

void atExit() {
  // In a child of the bare system call no fork handler has run, and CUPTI would wait for ever.
  if (getpid() != g_pid) return;
  if (g_dead.load(std::memory_order_relaxed) || g_leaving.exchange(true)) return;
  const ControlLock alone(kLockAtExitNs);
  if (!alone.taken() || !g_capturing) return;
  flushForAWhile(kExitGraceNs);
  flushAll();
}

void noteForks() {
  pthread_atfork(nullptr, nullptr, [] { g_dead.store(true, std::memory_order_relaxed); });
  g_pid = getpid();
}

/// For a process that is captured from its first call on.
bool enter() {
  const ControlLock alone;
  if (!ready()) return false;
  if (!openSharedFile()) {
    char text[160];
    snprintf(text, sizeof text, "no room beside the trace for CUPTI's buffers (%s)",
             strerror(errno));
    reportProblem(true, text);
    return false;
  }
  g_capturing = beginCupti(false);
  if (!g_capturing) return false;
  noteForks();
  atexit(atExit);  // registered after the driver's handler, so it runs before that
  startFlushThread();
  g_may_pause = true;
  if (!capturing()) {  // a program that captures itself enables capture later
    endCupti(0);
    g_capturing = false;
  }
  return true;
}

/// For a program that captures itself.
bool setActive(bool active) {
  const ControlLock alone;
  if (!g_may_pause || g_dead.load() || getpid() != g_pid || g_leaving.load()) return false;
  if (active && !g_capturing) g_capturing = ready() && beginCupti(true);
  if (!active && g_capturing) {
    endCupti(0);
    g_capturing = false;
  }
  return g_capturing;
}

// --- Armed process, with the control lock -------------------------------------------------------

/// The driver may have been in use for a long time.
void beginCuptiLate() {
  defineDevices();  // before calls are recorded: these calls are the agent's
  g_capturing = beginCupti(true);
}

bool beginCapture() {
  errno = ESHUTDOWN;
  if (g_leaving.load()) return false;
  // In a forked child whose parent was being captured at the fork.
  if (g_epoch->load() != kIdleEpoch) {
    endLife();
    closeSharedFile();
  }
  if (!beginLife()) return false;
  if (!ready() || !openSharedFile()) {
    const int error = errno;
    endLife();
    closeSharedFile();
    errno = error;
    return false;
  }
  g_began = nowNs();
  if (g_driver_is_here.load() && !g_dead.load()) beginCuptiLate();
  wantEvents(true);  // all of CUPTI's callbacks start together, not one after the other
  return true;
}

int64_t doPeriodicWork() {
  static uint64_t tried = 0;  // the last life that was started here, too late for enterArmed()
  const bool is_late = g_driver_is_here.load() && !g_capturing && !g_dead.load();
  if (is_late && tried != g_epoch->load() && !g_leaving.load()) {
    tried = g_epoch->load();
    if (g_cupti_epoch.load() != tried) beginCuptiLate();
  }
  if (!g_capturing || g_leaving.load()) return kFlushIntervalNs;
  flushActivities(false);
  sampleCuptiClock(false);
  return flushPause(nowNs() - g_began);
}

void endCapture() {
  wantEvents(false);
  if (g_capturing && !g_leaving.load()) {
    endCupti(kEndGraceNs);
    g_capturing = false;
  }
  endLife();
  closeSharedFile();
}

void atExitOfArmed() {
  if (getpid() != g_pid || g_dead.load()) return;
  const ControlLock alone(kLockAtExitNs);
  g_leaving.store(true);  // the process ends before anybody ends the capture
  if (!alone.taken() || !g_capturing) return;
  flushForAWhile(kExitGraceNs);
  flushAll();
  g_capturing = false;
}

/// Called when the driver is loaded: if the process is being captured, starts capturing its calls.
void enterArmed() {
  noteForks();
  atexit(atExitOfArmed);
  // If the lock is not available, its owner will see g_driver_is_here.
  const ControlLock alone(kLockInDriverNs);
  g_driver_is_here.store(true);
  if (!alone.taken() || !isCaptured() || g_capturing || !ready()) return;
  g_capturing = beginCupti(false);
}

}  // namespace

bool startControlled() {
  if (!openSharedMemory()) {
    reportUnarmed(errno, arena::ArmStep::kWaitMemory);
    return false;
  }
  return startControl({beginCapture, doPeriodicWork, endCapture});
}
}  // namespace tracesmith::agent

/// Called by the driver. Returns 1 (success) always: a program that cannot be captured runs as
/// usual.
// NOLINTNEXTLINE(readability-identifier-naming): the driver's name for it
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  using namespace tracesmith::agent;  // NOLINT: a C function
  if (g_entered.exchange(true)) return 1;
  const int before = errno;
  const NoCancel whole;
  if (armOnce()) {
    if (!waitsForControl()) {
      enter();
    } else if (startControlled()) {
      enterArmed();
    }
  }
  errno = before;
  return 1;
}

/// For a program that captures itself, once the agent is in it: starts and ends CUPTI's callbacks
/// and so its cost. 1: CUPTI is active.
// NOLINTNEXTLINE(readability-identifier-naming): a C function
extern "C" __attribute__((visibility("default"))) int TraceSmithSetActive(int active) {
  const int before = errno;
  const bool is_active = tracesmith::agent::setActive(active != 0);
  errno = before;
  return is_active ? 1 : 0;
}
