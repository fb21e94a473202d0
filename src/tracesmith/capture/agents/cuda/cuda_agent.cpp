// SPDX-License-Identifier: Apache-2.0
// How the agent enters a program that uses CUDA: the driver loads the library that
// CUDA_INJECTION64_PATH names within cuInit() and calls InitializeInjection(). From then on CUPTI
// calls back at each launch, copy, allocation and wait, and delivers what the device did. In an
// armed process (`tracesmith arm`) all that begins when somebody wants to capture it, and ends when
// they do not want to any more.
//
// The driver is built without exceptions, and so is this.
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
constinit bool g_may_pause = false;  // not an armed process
/// Of an armed process: its driver has let us in.
constinit std::atomic<bool> g_driver_is_here{false};
// Where the loader's or the driver's lock is held meanwhile, which who has ours may wait for.
constexpr int64_t kLockInDriverNs = 50'000'000;
constexpr int64_t kLockAtExitNs = 2'000'000'000;
constinit int64_t g_began = 0;
constinit std::atomic<bool> g_leaving{false};
constinit pid_t g_pid = 0;  // that entered

/// How records lie is told with the first buffer: it should come before there is work to be lost.
int64_t flushPause(int64_t since_start) {
  const bool waits = isSharing() && since_start < kFirstFlushesNs && !layoutsAreTold();
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
  tellProblem(false, "no thread to flush with: what the device did comes when the program ends");
}

void atExit() {
  // A child of the bare system call was told nothing, and CUPTI would wait in it for ever.
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

/// Of a process that is captured from its first call on.
bool enter() {
  const ControlLock alone;
  if (!ready()) return false;
  if (!openSharedFile()) {
    char text[160];
    snprintf(text, sizeof text, "no room beside the trace for CUPTI's buffers (%s)",
             strerror(errno));
    tellProblem(true, text);
    return false;
  }
  g_capturing = beginCupti(false);
  if (!g_capturing) return false;
  noteForks();
  atexit(atExit);  // after the driver's own was registered, so it runs before that
  startFlushThread();
  g_may_pause = true;
  if (!capturing()) {  // a program that captures itself says when
    endCupti(0);
    g_capturing = false;
  }
  return true;
}

/// Of a program that captures itself.
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

// --- Of an armed process, with the control lock ------------------------------------------------

/// The driver may have been in use for long.
void beginCuptiLate() {
  tellDevices();  // before calls are told, for these are ours
  g_capturing = beginCupti(true);
}

bool beginCapture() {
  errno = ESHUTDOWN;
  if (g_leaving.load()) return false;
  // Of a forked child whose parent was captured when it was forked.
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
  wantEvents(true);  // when all of CUPTI's callbacks come, and not one after the other
  return true;
}

int64_t lookAround() {
  static uint64_t tried = 0;  // in which life it was found too late for enterArmed()
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
  g_leaving.store(true);  // and the process ends before anybody ends the capture
  if (!alone.taken() || !g_capturing) return;
  flushForAWhile(kExitGraceNs);
  flushAll();
  g_capturing = false;
}

/// The driver is there; if the process is being captured, so is what it does from now on.
void enterArmed() {
  noteForks();
  atexit(atExitOfArmed);
  // If it cannot be had, who has it looks again.
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
  return startControl({beginCapture, lookAround, endCapture});
}
}  // namespace tracesmith::agent

/// What the driver calls. 1: all is well; a program that cannot be captured runs on as ever.
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

/// For a program that captures itself, once the agent is in it: begins and ends what CUPTI costs.
/// 1: CUPTI tells.
// NOLINTNEXTLINE(readability-identifier-naming): a C function
extern "C" __attribute__((visibility("default"))) int TraceSmithSetActive(int active) {
  const int before = errno;
  const bool is_active = tracesmith::agent::setActive(active != 0);
  errno = before;
  return is_active ? 1 : 0;
}
