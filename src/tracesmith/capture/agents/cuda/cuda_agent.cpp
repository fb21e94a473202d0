// SPDX-License-Identifier: Apache-2.0
// How the agent enters a program that uses CUDA: the driver loads the library that
// CUDA_INJECTION64_PATH names within cuInit() and calls InitializeInjection(). From then on CUPTI
// calls back at each launch, copy, allocation and wait, and delivers what the device did.
//
// A callback runs on the program's thread within its call: two stamps, a stack if wanted, and one
// record. The driver is built without exceptions, and so is this.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tracesmith/capture/agents/core/call_stack.hpp"
#include "tracesmith/capture/agents/cuda/activity.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith::agent {
namespace {

using arena::CudaText;

constexpr int64_t kFlushIntervalNs = 200'000'000;
constexpr int64_t kExitGraceNs = 200'000'000;
constexpr uint32_t kMostFunctions = 4096;  // of a domain

constinit void* g_subscriber = nullptr;
constinit std::atomic<bool> g_entered{false};
constinit std::atomic<bool> g_leaving{false};

/// Within a call of the runtime the driver's are its own; they have the same correlation id.
constinit thread_local uint32_t t_runtime_depth __attribute__((tls_model("initial-exec"))) = 0;

/// What a function is about, by its name: the numbers differ between versions, the names do not.
CallKind kindOf(const char* name) {
  const auto has = [name](const char* part) { return strstr(name, part) != nullptr; };
  const bool runtime = strncmp(name, "cuda", 4) == 0;
  if (!runtime && strncmp(name, "cu", 2) != 0) return CallKind::kOther;
  if (has("LaunchHostFunc") || has("LaunchAttribute") || has("Memset3DParms"))
    return CallKind::kOther;
  if (has("GraphLaunch") || has("LaunchKernel") || has("LaunchCooperative") || has("LaunchGrid") ||
      strncmp(name, "cuLaunch", 8) == 0 || strncmp(name, "cudaLaunch", 10) == 0) {
    return CallKind::kLaunch;
  }
  if (has("GraphAdd") || has("GraphExec") || has("GraphMem")) return CallKind::kOther;
  if (has("Memcpy")) return CallKind::kCopy;
  if (has("Memset")) return CallKind::kFill;
  if (has("Synchronize") || has("StreamWaitEvent") || has("EventRecord")) return CallKind::kSync;
  if (has("MemAlloc") || has("Malloc") || has("MemFree") || has("cudaFree") ||
      has("MemHostAlloc") || has("HostAlloc")) {
    return CallKind::kMemory;
  }
  return CallKind::kOther;
}

uint64_t timestamp() { return static_cast<uint64_t>(stamp()); }

void onCall(void*, int domain, uint32_t number, const void* data) {
  if (g_dead.load(std::memory_order_relaxed)) return;
  const auto& call = *static_cast<const cupti::CallbackData*>(data);
  const bool runtime = domain == cupti::kRuntimeApi;
  if (!runtime && (domain != cupti::kDriverApi || t_runtime_depth > 0)) return;
  if (call.site == cupti::kEnter) {
    if (runtime) ++t_runtime_depth;
    *call.scratch = timestamp();
    return;
  }
  if (runtime && t_runtime_depth > 0) --t_runtime_depth;
  const int before = errno;
  if (ready() && capturing()) {
    const uint32_t stack = callStack();
    arena::CallRecord r{};
    r.header = {arena::RecordKind::kCudaCall, 0, sizeof r / 8,
                arena::cudaFunction(static_cast<uint32_t>(domain), number)};
    r.start = static_cast<int64_t>(*call.scratch);
    r.end = stamp();
    r.correlation = wideCorrelation(call.correlation);
    if (call.result != nullptr) memcpy(&r.result, call.result, sizeof r.result);
    r.stack = stack;
    putRecord(&r, sizeof r, true);
  }
  errno = before;
}

void say(bool nothing, const char* text) { putText(CudaText::kProblem, nothing ? 0 : 1, text); }

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
      say(true, text);
      return false;
    }
  }
  for (const char* const name : kNames) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  }
  for (const char* const name : kNames) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW);
  }
  if (library == nullptr) {
    say(true,
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
    say(true, text);
    return false;
  }
  g_subscriber = library;  // for subscribe()
  return true;
}

bool subscribe(void* library) {
  const auto subscribe2 = reinterpret_cast<cupti::Subscribe2>(dlsym(library, "cuptiSubscribe_v2"));
  char other[cupti::kOtherNameBytes] = {};
  int code = 0;
  if (subscribe2 != nullptr) {
    cupti::SubscriberParams params{sizeof params, "TraceSmith", other, sizeof other};
    code = subscribe2(&g_subscriber, onCall, nullptr, &params);
  } else {
    code = g_cupti.cuptiSubscribe(&g_subscriber, onCall, nullptr);
  }
  if (code == cupti::kSuccess) return true;
  char text[320];
  const char* why = "unknown error";
  if (g_cupti.cuptiGetResultString != nullptr) (void)g_cupti.cuptiGetResultString(code, &why);
  if (code == cupti::kMultipleSubscribers) {
    snprintf(text, sizeof text,
             "another tool uses CUPTI in this process%s%s, which lets in one at a time: run the "
             "program without it",
             other[0] != 0 ? ": " : "", other);
  } else {
    snprintf(text, sizeof text, "CUPTI can not be used (%d, %s)", code, why);
  }
  say(true, text);
  return false;
}

/// Callbacks for what is about launches, copies, memory and waits, and their names for the trace.
void enableCallbacks() {
  for (const int domain : {cupti::kDriverApi, cupti::kRuntimeApi}) {
    uint32_t unknown = 0;
    for (uint32_t number = 1; number < kMostFunctions && unknown < 64; ++number) {
      const char* name = nullptr;
      if (g_cupti.cuptiGetCallbackName(domain, number, &name) != cupti::kSuccess ||
          name == nullptr) {
        ++unknown;
        continue;
      }
      unknown = 0;
      const CallKind kind = kindOf(name);
      if (kind == CallKind::kOther) continue;
      if (g_cupti.cuptiEnableCallback(1, g_subscriber, domain, number) == cupti::kSuccess) {
        putText(CudaText::kFunction, arena::cudaFunction(static_cast<uint32_t>(domain), number),
                name, static_cast<uint32_t>(kind));
      }
    }
  }
}

void* flushAlways(void*) {
  while (!g_leaving.load(std::memory_order_relaxed) && !g_dead.load(std::memory_order_relaxed)) {
    const timespec pause{0, kFlushIntervalNs};
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
    say(false, "no thread to flush with: what the device did comes when the program ends");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

/// What is under way comes within a moment, if the program has waited for it; what does not is
/// asked for as it is, without times.
void atExit() {
  if (g_leaving.exchange(true)) return;
  const int64_t began = nowNs();
  flushActivities(false);
  while (activitiesAreOut() && nowNs() - began < kExitGraceNs) {
    const timespec pause{0, 5'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    flushActivities(false);
  }
  flushActivities(true);
}

bool enter() {
  if (!arm("cuda") || !ready()) return false;
  if (!findCupti()) return false;
  void* const library = g_subscriber;
  g_subscriber = nullptr;
  if (!subscribe(library)) return false;
  // Times in our clock; once, and before anything is enabled. Before CUDA 11.6 there is no such
  // thing, and times are CLOCK_REALTIME's.
  if (g_cupti.cuptiActivityRegisterTimestampCallback == nullptr ||
      g_cupti.cuptiActivityRegisterTimestampCallback(timestamp) != cupti::kSuccess) {
    say(true, "this CUPTI has a clock of its own (it is older than CUDA 11.6)");
    return false;
  }
  enableActivities();
  enableCallbacks();
  pthread_atfork(nullptr, nullptr, [] { g_dead.store(true, std::memory_order_relaxed); });
  atexit(atExit);  // after the driver's own was registered, so it runs before that
  startFlushThread();
  return true;
}

}  // namespace
}  // namespace tracesmith::agent

/// What the driver calls. 1: all is well; a program that can not be captured runs on as ever.
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  using namespace tracesmith::agent;  // NOLINT: a C function
  if (g_entered.exchange(true)) return 1;
  const int before = errno;
  enter();
  errno = before;
  return 1;
}
