// SPDX-License-Identifier: Apache-2.0
// How the agent enters a program that uses CUDA: the driver loads the library that
// CUDA_INJECTION64_PATH names within cuInit() and calls InitializeInjection(). From then on CUPTI
// calls back at each launch, copy, allocation and wait, and delivers what the device did.
//
// The driver is built without exceptions, and so is this.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tracesmith/capture/agents/cuda/activity.hpp"
#include "tracesmith/capture/agents/cuda/calls.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"
#include "tracesmith/capture/agents/cuda/sharing.hpp"
#include "tracesmith/capture/agents/cuda/told.hpp"

namespace tracesmith::agent {
namespace {

constexpr int64_t kFlushIntervalNs = 200'000'000;
constexpr int64_t kFirstFlushesNs = 2'000'000'000;
constexpr int64_t kExitGraceNs = 200'000'000;
constexpr uint32_t kFirstWithClock = 17;  // CUPTI's API version of CUDA 11.6

constinit void* g_subscriber = nullptr;
constinit std::atomic<bool> g_entered{false};
constinit std::atomic<bool> g_leaving{false};
constinit pid_t g_pid = 0;  // that entered
constinit void* g_library = nullptr;

uint64_t timestamp() { return static_cast<uint64_t>(stamp()); }

/// Toolkits have it beside what the loader is told of.
void* fromToolkit() {
  const char* const named = getenv("CUDA_HOME");
  for (const char* const home : {named, "/usr/local/cuda"}) {
    if (home == nullptr) continue;
    for (const char* const below : {"extras/CUPTI/lib64", "lib64"}) {
      char path[512];
      snprintf(path, sizeof path, "%.400s/%s/libcupti.so", home, below);
      if (void* const library = dlopen(path, RTLD_NOW)) return library;
    }
  }
  return nullptr;
}

bool findCupti() {
  // One that the program has loaded is the one that it uses.
  static const char* const kNames[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                       "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                       "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                       "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};
  void* library = nullptr;
  if (const char* const named = getenv("TRACESMITH_CUPTI")) {
    library = dlopen(named, RTLD_NOW);
    if (library == nullptr) {
      char text[400];
      snprintf(text, sizeof text, "TRACESMITH_CUPTI names %.300s, which can not be loaded", named);
      tellProblem(true, text);
      return false;
    }
  }
  for (const char* const name : kNames) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  }
  for (const char* const name : kNames) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW);
  }
  if (library == nullptr) library = fromToolkit();
  if (library == nullptr) {
    tellProblem(true,
                "libcupti was not found; it comes with the CUDA toolkit and with PyTorch "
                "(TRACESMITH_CUPTI names its file)");
    return false;
  }
  const char* missing = nullptr;
#define TS_X(name, optional, parameters)                                          \
  g_cupti.name = reinterpret_cast<decltype(g_cupti.name)>(dlsym(library, #name)); \
  if (g_cupti.name == nullptr && !(optional)) missing = #name;
  TS_CUPTI_FUNCTIONS(TS_X)
#undef TS_X
  if (missing != nullptr) {
    char text[160];
    snprintf(text, sizeof text, "this libcupti is too old or too new: it has no %s", missing);
    tellProblem(true, text);
    return false;
  }
  g_library = library;
  return true;
}

bool subscribeAlone() {
  const auto subscribe2 =
      reinterpret_cast<cupti::Subscribe2>(dlsym(g_library, "cuptiSubscribe_v2"));
  char other[cupti::kOtherNameBytes] = {};
  int code = 0;
  if (subscribe2 != nullptr) {
    cupti::SubscriberParams params{
        cupti::kSubscriberParamsAlone, "TraceSmith", other, sizeof other, 0, {}};
    code = subscribe2(&g_subscriber, onCall, nullptr, &params);
  } else {
    code = g_cupti.cuptiSubscribe(&g_subscriber, onCall, nullptr);
  }
  if (code == cupti::kSuccess) return true;
  char text[400];
  if (code == cupti::kMultipleSubscribers) {
    snprintf(text, sizeof text,
             "another tool uses CUPTI in this process%s%s, which lets in one at a time: run the "
             "program without it",
             other[0] != 0 ? ": " : "", other);
  } else {
    char why[320];
    describeCode(code, why, sizeof why);
    snprintf(text, sizeof text, "CUPTI can not be used %s", why);
  }
  tellProblem(true, text);
  return false;
}

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
    if (!g_leaving.load(std::memory_order_relaxed)) flushActivities(false);
  }
  return nullptr;
}

void startFlushThread() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The program's signals are not for us.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, flushAlways, nullptr) != 0) {
    tellProblem(false, "no thread to flush with: what the device did comes when the program ends");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

/// What is under way comes within a moment, if the program has waited for it; what does not is
/// asked for as it is, without times.
void atExit() {
  // A child of the bare system call was told nothing, and CUPTI would wait in it for ever.
  if (getpid() != g_pid) return;
  if (isDead() || g_leaving.exchange(true)) return;
  const int64_t began = nowNs();
  flushActivities(false);
  while (buffersAreOut() && nowNs() - began < kExitGraceNs) {
    const timespec pause{0, 5'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    flushActivities(false);
  }
  flushActivities(true);
  countDropped();
}

/// Before CUDA 11.6 CUPTI takes no clock of ours, and its times are CLOCK_REALTIME's.
bool hasClock(uint32_t version) {
  if (version >= kFirstWithClock && g_cupti.cuptiActivityRegisterTimestampCallback != nullptr) {
    return true;
  }
  tellProblem(true, "this CUPTI has a clock of its own (it is older than CUDA 11.6)");
  return false;
}

bool enterAlone() {
  if (!subscribeAlone()) return false;
  // Once, and before anything is enabled.
  if (g_cupti.cuptiActivityRegisterTimestampCallback(timestamp) != cupti::kSuccess) {
    if (g_cupti.cuptiUnsubscribe != nullptr) (void)g_cupti.cuptiUnsubscribe(g_subscriber);
    tellProblem(true, "this CUPTI takes no clock but its own");
    return false;
  }
  enableActivities();
  return true;
}

bool enter() {
  if (!armOnce() || !ready() || !findCupti()) return false;
  g_cupti_epoch = *g_epoch;
  uint32_t version = 0;
  (void)g_cupti.cuptiGetVersion(&version);
  if (!hasClock(version)) return false;
  if (!openSharedFile()) {
    char text[160];
    snprintf(text, sizeof text, "no room beside the trace for CUPTI's buffers (%s)",
             strerror(errno));
    tellProblem(true, text);
    return false;
  }
  sharedHeader().cupti_version = version;
  beginCorrelations();
  if (!enterSharing(g_library, version, onCall, timestamp, &g_subscriber) && !enterAlone()) {
    return false;
  }
  enableCallbacks(g_subscriber);
  pthread_atfork(nullptr, nullptr, [] { g_dead.store(true, std::memory_order_relaxed); });
  g_pid = getpid();
  atexit(atExit);  // after the driver's own was registered, so it runs before that
  startFlushThread();
  return true;
}

}  // namespace
}  // namespace tracesmith::agent

/// What the driver calls. 1: all is well; a program that can not be captured runs on as ever.
// NOLINTNEXTLINE(readability-identifier-naming): the driver's name for it
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  using namespace tracesmith::agent;  // NOLINT: a C function
  if (g_entered.exchange(true)) return 1;
  const int before = errno;
  enter();
  errno = before;
  return 1;
}
