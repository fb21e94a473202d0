// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/activity.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utility>

#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/cuda/call_window.hpp"
#include "tracesmith/capture/agents/cuda/cupti_clock.hpp"
#include "tracesmith/capture/agents/cuda/record_writer.hpp"
#include "tracesmith/capture/agents/cuda/sharing.hpp"
#include "tracesmith/capture/agents/cuda/transcribe.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith::agent {

cupti::Functions g_cupti;
std::atomic<bool> g_dead{false};
std::atomic<uint64_t> g_cupti_epoch{0};

namespace {

bool g_has_latency = false;
bool g_has_whole_graphs = false;

/// Frees what CUPTI allocated for the receiver of a record. This is documented only since these
/// versions.
void freeOwned(const cupti::Activity& a, size_t bytes) {
  const uint32_t version = sharedHeader().cupti_version;
  if (a.kind == cupti::kOverhead && version >= cupti::kFirstWithOverheadData &&
      bytes >= sizeof(cupti::Overhead)) {
    free(cupti::as<cupti::Overhead>(a).data);
  } else if (a.kind == cupti::kDevice && version >= cupti::kFirstWithOwnedNames &&
             bytes >= sizeof(cupti::Device)) {
    free(const_cast<char*>(cupti::as<cupti::Device>(a).name));
  }
}

void noteRecordBytes(int32_t kind, size_t bytes) {
  if (kind <= 0 || kind >= static_cast<int32_t>(cuda_file::kKinds)) return;
  sharedHeader().record_bytes[kind].store(static_cast<uint32_t>(bytes), std::memory_order_relaxed);
}

void measureRecordBytes() {
  for (const CapturedKind& k : kCapturedKinds) {
    const size_t bytes = recordBytes(k.kind, g_cupti.cuptiActivityGetNextRecord);
    if (bytes != 0) noteRecordBytes(k.kind, bytes);
  }
  for (const cupti::Kind kind : {cupti::kUnifiedMemory, cupti::kGraphTrace}) {
    const size_t bytes = recordBytes(kind, g_cupti.cuptiActivityGetNextRecord);
    if (bytes != 0) noteRecordBytes(kind, bytes);
  }
}

void bufferDone(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  if (isDead() || buffer == nullptr) return;
  readBuffer(
      buffer, valid,
      [=](cupti::Activity** record) {
        return g_cupti.cuptiActivityGetNextRecord(buffer, valid, record);
      },
      [](const cupti::Activity& record, size_t bytes) {
        noteRecordBytes(record.kind, bytes);
        writeActivity(record, bytes);
        freeOwned(record, bytes);
      });
}

}  // namespace

void reportKindProblem(const char* name, int code) {
  char why[320];
  describeCode(code, why, sizeof why);
  char text[400];
  snprintf(text, sizeof text, "CUPTI does not deliver %s %s", name, why);
  reportProblem(false, text);
}

void describeCode(int code, char* out, size_t bytes) {
  const char* name = "unknown error";
  if (g_cupti.cuptiGetResultString != nullptr) (void)g_cupti.cuptiGetResultString(code, &name);
  const char* advice = "";
  static std::atomic<int> advised{cupti::kSuccess};  // once, if all kinds are refused
  switch (advised.exchange(code) != code ? code : cupti::kSuccess) {
    case cupti::kNotCompatible:
    case cupti::kNotInitialized:
    case cupti::kUnknownError:
      advice =
          ": there is no driver, or one that is older than this libcupti (nvidia-smi shows its "
          "version; set TRACESMITH_CUPTI to the path of another libcupti)";
      break;
    case cupti::kInsufficientPrivileges:
      advice =
          ": this user may not profile. Run it as root (in a container with CAP_SYS_ADMIN), or set "
          "NVreg_RestrictProfilingToAdminUsers=0, an option of the kernel module nvidia";
      break;
    default:
      break;
  }
  snprintf(out, bytes, "(%d, %.80s)%s", code, name, advice);
}

void requestBuffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *most_records = 0;
  *buffer = isDead() ? nullptr : takeBuffer();
  *size = *buffer == nullptr ? 0 : cuda_file::kBufferBytes;
}

void writeActivity(const cupti::Activity& a, size_t bytes) {
  const bool kernel = a.kind == cupti::kConcurrentKernel;
  if (a.kind == cupti::kDevice) {
    const auto& device = cupti::as<cupti::Device>(a);
    if (device.name != nullptr) writeText(arena::CudaText::kDevice, device.id, device.name);
  }
  cupti::transcribe(
      a, bytes, kernel ? nameNumber(cupti::as<cupti::Kernel>(a).name) : 0,
      sharedHeader().first_correlation, wideCorrelation,
      [](const auto& record, bool counts) {
        if constexpr (requires { record.correlation; }) {
          if (record.correlation != 0 && !isWanted(record.correlation)) return;
        }
        putRecord(&record, sizeof record, counts);
      },
      [](const auto& record) { writeDefinition(&record, sizeof record); });
}

void countDropped() {
  size_t dropped = 0;
  if (isSharing()) {
    dropped = droppedOfSharing();
  } else if (g_cupti.cuptiActivityGetNumDroppedRecords != nullptr &&
             g_cupti.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) != cupti::kSuccess) {
    dropped = 0;
  }
  if (dropped == 0) return;
  const arena::CudaDroppedRecord r{cupti::headerOf(arena::RecordKind::kCudaDropped, sizeof r, 0),
                                   dropped};
  putRecord(&r, sizeof r, false);
}

CaptureOptions wantedOptions(bool is_late) {
  CaptureOptions options;
  options.latency = setting(arena::kEnvCudaLatency) != nullptr;
  if (options.latency && is_late) {
    options.latency = false;
    reportProblem(
        false,
        "queueing times are not recorded: CUPTI only takes them if they are requested before CUDA "
        "is initialised");
  }
  const char* const graphs = setting(arena::kEnvCudaGraphs);
  options.whole_graphs = graphs != nullptr && strcmp(graphs, "graph") == 0;
  return options;
}

// The attribute that buffers are zeroed holds for the process. A tool that takes CUPTI over would
// have it for buffers of its own, which are not, so it is set only where each tool has its own
// attributes (sharing.cpp).
void enableActivities(const CaptureOptions& options) {
  if (options.latency) {
    const int code = g_cupti.cuptiActivityEnableLatencyTimestamps != nullptr
                         ? g_cupti.cuptiActivityEnableLatencyTimestamps(1)
                         : cupti::kNotSupported;
    if (code != cupti::kSuccess) reportKindProblem("queueing times", code);
    g_has_latency = code == cupti::kSuccess;
  }
  measureRecordBytes();
  int code = g_cupti.cuptiActivityRegisterCallbacks(requestBuffer, bufferDone);
  for (const CapturedKind& k : kCapturedKinds) {
    if (code == cupti::kSuccess) code = g_cupti.cuptiActivityEnable(k.kind);
    if (code != cupti::kSuccess) reportKindProblem(k.name, code);
    code = cupti::kSuccess;
  }
  if (!options.whole_graphs) return;
  code = g_cupti.cuptiActivityEnable(cupti::kGraphTrace);
  if (code != cupti::kSuccess) reportKindProblem("graphs as wholes", code);
  g_has_whole_graphs = code == cupti::kSuccess;
}

void restoreDefaults() {
  if (isSharing()) return;
  // CUPTI has no call that removes a timestamp callback, and other tools expect CUPTI's own clock.
  (void)g_cupti.cuptiActivityRegisterTimestampCallback(cuptiDefaultClock);
  if (std::exchange(g_has_latency, false)) (void)g_cupti.cuptiActivityEnableLatencyTimestamps(0);
}

void disableActivities() {
  if (isSharing()) return disableSharing();
  if (g_cupti.cuptiActivityDisable == nullptr) return;
  for (const CapturedKind& k : kCapturedKinds) (void)g_cupti.cuptiActivityDisable(k.kind);
  if (wantsUnifiedMemory()) (void)g_cupti.cuptiActivityDisable(cupti::kUnifiedMemory);
  if (std::exchange(g_has_whole_graphs, false)) {
    (void)g_cupti.cuptiActivityDisable(cupti::kGraphTrace);
  }
}

bool wantsUnifiedMemory() { return setting(arena::kEnvUnifiedMemory) != nullptr; }

void enableUnifiedMemory() {
  constexpr int32_t kMostCounters = 8;  // all counters of CUPTI, numbered from 1
  int code = cupti::kNotSupported;
  bool any = false;
  // One at a time: a device may support some of them only.
  for (int32_t counter = 1; counter <= kMostCounters; ++counter) {
    if (g_cupti.cuptiActivityConfigureUnifiedMemoryCounter == nullptr) break;
    cupti::UnifiedMemoryConfig config{cupti::kAllDevices, counter, 0, 1};
    const int one = g_cupti.cuptiActivityConfigureUnifiedMemoryCounter(&config, 1);
    any = any || one == cupti::kSuccess;
    if (one != cupti::kSuccess) code = one;
  }
  if (any) {
    code = isSharing() ? enableSharing(cupti::kUnifiedMemory)
                       : g_cupti.cuptiActivityEnable(cupti::kUnifiedMemory);
  }
  if (code != cupti::kSuccess) reportKindProblem("unified memory", code);
}

void flushActivities(bool everything) {
  if (isDead()) return;
  constexpr uint32_t kForced = 1;
  (void)g_cupti.cuptiActivityFlushAll(everything ? kForced : 0);
}

}  // namespace tracesmith::agent
