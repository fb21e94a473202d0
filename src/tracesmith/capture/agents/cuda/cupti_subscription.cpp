// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/cupti_subscription.hpp"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tracesmith/capture/agents/core/agent_clock.hpp"
#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/cuda/activity.hpp"
#include "tracesmith/capture/agents/cuda/call_window.hpp"
#include "tracesmith/capture/agents/cuda/calls.hpp"
#include "tracesmith/capture/agents/cuda/cupti_clock.hpp"
#include "tracesmith/capture/agents/cuda/cupti_library.hpp"
#include "tracesmith/capture/agents/cuda/other_tools.hpp"
#include "tracesmith/capture/agents/cuda/record_writer.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"
#include "tracesmith/capture/agents/cuda/sharing.hpp"

namespace tracesmith::agent {
namespace {

constexpr uint32_t kFirstWithClock = 17;  // CUPTI's API version of CUDA 11.6
constexpr int64_t kSameClockNs = 1'000'000'000;

constinit void* g_subscriber = nullptr;
constinit void* g_library = nullptr;
constinit bool g_library_was_used = false;  // by the agent

/// In addition to CUPTI's codes: the library is too old for the agent.
constexpr int kTooOld = -1;

/// Returns CUPTI's code. The name of the current subscriber goes to `other`, if CUPTI reports it.
int subscribeAlone(char* other, size_t bytes) {
  const auto subscribe2 =
      reinterpret_cast<cupti::Subscribe2>(dlsym(g_library, "cuptiSubscribe_v2"));
  if (subscribe2 == nullptr) return g_cupti.cuptiSubscribe(&g_subscriber, onCall, nullptr);
  cupti::SubscriberParams params{cupti::kSubscriberParamsAlone, "TraceSmith", other, bytes, 0, {}};
  const int code = subscribe2(&g_subscriber, onCall, nullptr, &params);
  // This version expects another size of the parameters.
  return code == cupti::kInvalidParameter ? g_cupti.cuptiSubscribe(&g_subscriber, onCall, nullptr)
                                          : code;
}

/// Codes of a library that does not fit the driver; another library may fit.
bool isMismatch(int code) {
  return code == cupti::kNotCompatible || code == cupti::kNotInitialized ||
         code == cupti::kNotSupported || code == cupti::kUnknownError || code == kTooOld;
}

void reportNotSubscribed(int code, const char* other, const char* tried) {
  char text[700];
  if (code == cupti::kMultipleSubscribers) {
    char names[256];
    snprintf(names, sizeof names, "%s", other);
    if (names[0] == 0) describeOtherTools(names, sizeof names);
    snprintf(text, sizeof text,
             "another tool uses CUPTI in this process%s%s, which serves one tool at a time: run "
             "the program without it",
             names[0] != 0 ? ": " : "", names);
  } else if (code == kTooOld) {
    snprintf(text, sizeof text,
             "this CUPTI cannot use TraceSmith's clock: it is older than CUDA 11.6 (tried: %s)",
             tried);
  } else {
    char why[320];
    describeCode(code, why, sizeof why);
    snprintf(text, sizeof text, "CUPTI cannot be used %s%s%s%s", why,
             tried[0] != 0 ? " (tried: " : "", tried, tried[0] != 0 ? ")" : "");
  }
  reportProblem(true, text);
}

/// Success, or the reason not to use the library: it does not fit the driver and refuses even to
/// report its version, or it cannot use our clock, as before CUDA 11.6.
int findVersion(uint32_t* version) {
  const int code = g_cupti.cuptiGetVersion(version);
  if (code != cupti::kSuccess) return code;
  if (*version == 0) return cupti::kUnknownError;
  const bool has_clock =
      *version >= kFirstWithClock && g_cupti.cuptiActivityRegisterTimestampCallback != nullptr;
  return has_clock ? cupti::kSuccess : kTooOld;
}

bool isNear(uint64_t time, clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  const int64_t ahead =
      static_cast<int64_t>(time) - (int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
  return ahead > -kSameClockNs && ahead < kSameClockNs;
}

/// CUPTI does not reject us if another tool uses it without subscribing, and our callbacks replace
/// that tool's. Detects such a tool, present or past, by CUPTI's clock: its default is
/// CLOCK_REALTIME (on WSL CLOCK_MONOTONIC_RAW).
void reportEarlierTool() {
  if (!waitsForControl() || g_cupti.cuptiGetTimestamp == nullptr || g_library_was_used) return;
  g_library_was_used = true;
  uint64_t time = 0;
  if (g_cupti.cuptiGetTimestamp(&time) != cupti::kSuccess || time == 0) return;
  if (isNear(time, CLOCK_REALTIME) || isNear(time, CLOCK_MONOTONIC_RAW)) return;
  char names[256];
  describeOtherTools(names, sizeof names);
  char text[500];
  snprintf(text, sizeof text,
           "another tool of this process has used CUPTI before%s%s%s: if it is still recording, it "
           "misses device work from now on, until it is restarted",
           names[0] != 0 ? " (loaded: " : "", names, names[0] != 0 ? ")" : "");
  reportProblem(false, text);
}

/// Called after it has subscribed.
bool enterAlone(const CaptureOptions& options) {
  reportEarlierTool();
  // Must succeed once, before anything is enabled.
  static bool has_clock = false;
  // Each time, because another tool may have set its own meanwhile.
  has_clock =
      g_cupti.cuptiActivityRegisterTimestampCallback(cuptiClock) == cupti::kSuccess || has_clock;
  if (!has_clock) {
    if (g_cupti.cuptiUnsubscribe != nullptr) (void)g_cupti.cuptiUnsubscribe(g_subscriber);
    reportProblem(true, "this CUPTI does not accept TraceSmith's clock");
    return false;
  }
  size_t before = 0;  // drops while there was no capture are not a loss
  if (g_cupti.cuptiActivityGetNumDroppedRecords != nullptr) {
    (void)g_cupti.cuptiActivityGetNumDroppedRecords(nullptr, 0, &before);
  }
  enableActivities(options);
  return true;
}

enum class StartResult { kYes, kNo, kOtherLibrary };

/// Starts with the loaded library and reports failures, except a library that does not fit the
/// driver: then `code` is its code.
StartResult beginWithLibrary(bool is_late, int* code, char* other, size_t other_bytes) {
  uint32_t version = 0;
  *code = findVersion(&version);
  if (*code != cupti::kSuccess) return StartResult::kOtherLibrary;
  sharedHeader().cupti_version = version;
  chooseCuptiClock();
  const CaptureOptions options = wantedOptions(is_late);
  if (enterSharing(g_library, version, onCall, cuptiClock, options, &g_subscriber)) {
    return StartResult::kYes;
  }
  *code = subscribeAlone(other, other_bytes);
  if (isMismatch(*code)) return StartResult::kOtherLibrary;
  if (*code != cupti::kSuccess) {
    reportNotSubscribed(*code, other, "");
    return StartResult::kNo;
  }
  return enterAlone(options) ? StartResult::kYes : StartResult::kNo;
}

/// The first library that fits the driver is used from then on, for the life of the process.
StartResult findLibrary(bool is_late) {
  CuptiSearch search;
  char other[cupti::kOtherNameBytes] = {};
  char tried[400] = {};
  int first_code = cupti::kSuccess;
  while ((g_library = search.next()) != nullptr) {
    int code = cupti::kSuccess;
    const StartResult started = beginWithLibrary(is_late, &code, other, sizeof other);
    if (started != StartResult::kOtherLibrary) return started;
    if (first_code == cupti::kSuccess) first_code = code;
    const size_t length = strlen(tried);
    snprintf(tried + length, sizeof tried - length, "%s%.80s", length > 0 ? ", " : "",
             search.name());
    if (search.isChosen()) break;
  }
  g_library = nullptr;
  if (first_code != cupti::kSuccess) {
    reportNotSubscribed(first_code, other, tried);
  } else {
    char text[400];
    search.describeFailure(text, sizeof text);
    reportProblem(true, text);
  }
  return StartResult::kNo;
}

}  // namespace

bool beginCupti(bool is_late) {
  g_cupti_epoch.store(g_epoch->load(), std::memory_order_relaxed);
  beginCorrelations();
  openCallWindow(waitsForControl());
  StartResult started = StartResult::kNo;
  if (g_library == nullptr) {
    started = findLibrary(is_late);
  } else {
    char other[cupti::kOtherNameBytes] = {};
    int code = cupti::kSuccess;
    started = beginWithLibrary(is_late, &code, other, sizeof other);
    if (started == StartResult::kOtherLibrary)
      reportNotSubscribed(code, other, "the library used before");
  }
  if (started != StartResult::kYes) return false;
  enableCallbacks(g_subscriber);
  sampleCuptiClock(true);
  return true;
}

void endCupti(int64_t grace_ns) {
  closeCallWindow();
  flushForAWhile(grace_ns);
  // Before the last flush, so that no buffer stays behind with records in it.
  disableActivities();
  // After the activities, so that no device work is recorded whose call was not seen.
  disableCallbacks(g_subscriber);
  flushAll();
  restoreDefaults();
  if (isSharing()) {
    leaveSharing();
  } else if (g_cupti.cuptiUnsubscribe != nullptr) {
    (void)g_cupti.cuptiUnsubscribe(g_subscriber);
  }
}

void flushForAWhile(int64_t grace_ns) {
  const int64_t began = nowNs();
  flushActivities(false);
  // The calls of a capture that was turned off are still to be recorded.
  while ((hasLentBuffers() || (!capturing() && isAnyThreadInCall())) &&
         nowNs() - began < grace_ns) {
    const timespec pause{0, 5'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    flushActivities(false);
  }
}

void flushAll() {
  sampleCuptiClock(true);
  flushActivities(true);
  reportOtherTools();
  countDropped();
}

}  // namespace tracesmith::agent
