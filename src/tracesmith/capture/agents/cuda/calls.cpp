// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/calls.hpp"

#include <errno.h>
#include <string.h>

#include "tracesmith/capture/agents/core/call_stack.hpp"
#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/cuda/activity.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"
#include "tracesmith/capture/agents/cuda/told.hpp"
#include "tracesmith/capture/cuda_records.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith::agent {
namespace {

constexpr uint32_t kMostFunctions = 4096;  // of a domain
bool g_told[2][kMostFunctions];            // how they are called

/// What this thread has entered and not left, by CUPTI's correlation id (0: nothing). Within a call
/// of the runtime the driver's have the same id, and are its own. A call that is left by longjmp is
/// forgotten when the next one is entered.
struct Entered {
  uint32_t correlation = 0;
  bool captured = false;  // it made nodes of a graph
  int64_t start = 0;
};
constinit thread_local Entered t_runtime __attribute__((tls_model("initial-exec")));
constinit thread_local Entered t_driver __attribute__((tls_model("initial-exec")));
/// The one of them that was entered last and may not be left: a call of the runtime that longjmp
/// left is still in its place while the driver is called without it.
constinit thread_local Entered* t_innermost __attribute__((tls_model("initial-exec"))) = nullptr;

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
      has("MemHostAlloc") || has("HostAlloc") || has("MemPoolCreate") || has("MemPoolTrimTo") ||
      has("MemPoolDestroy")) {
    return CallKind::kMemory;
  }
  if (has("ModuleLoad") || has("ModuleUnload") || has("LibraryLoad") || has("LibraryUnload") ||
      has("LinkAdd") || has("LinkComplete")) {
    return CallKind::kBuild;
  }
  return CallKind::kOther;
}

/// Of the others, which are recorded where all calls are wanted.
CallKind kindOfOther(const char* name) {
  for (const char* const part : {"CtxCreate", "CtxDestroy", "PrimaryCtx", "StreamCreate",
                                 "StreamDestroy", "GetFunction", "DeviceReset", "cuInit"}) {
    if (strstr(name, part) != nullptr) return CallKind::kSetup;
  }
  return CallKind::kOther;
}

/// What looks functions up, asks for the thread's last error, or is a half of the launch that
/// follows: they do nothing, and may be more than all others.
bool isNoise(const char* name) {
  for (const char* const part :
       {"GetProcAddress", "GetExportTable", "GetDriverEntryPoint", "GetLastError",
        "PeekAtLastError", "GetErrorName", "GetErrorString", "CallConfiguration"}) {
    if (strstr(name, part) != nullptr) return true;
  }
  return false;
}

void leave(const Entered& entered, int domain, uint32_t number, const cupti::CallbackData& call) {
  const uint32_t stack = callStack();
  arena::CallRecord r{};
  const int flags = (entered.captured ? arena::kFlagCaptured : 0) |
                    (call.symbol != nullptr ? arena::kFlagKernel : 0);
  r.header = {arena::RecordKind::kCudaCall, static_cast<uint8_t>(flags), sizeof r / 8,
              arena::cudaFunction(static_cast<uint32_t>(domain), number)};
  r.start = entered.start;
  r.end = stamp();
  r.correlation = wideCorrelation(call.correlation);
  if (call.result != nullptr) memcpy(&r.result, call.result, sizeof r.result);
  r.stack = stack;
  r.stream = nameNumberOfCall(call.symbol);
  if (putRecord(&r, sizeof r, true)) noteRecordedCall(r.correlation);
}

void onApi(int domain, uint32_t number, const cupti::CallbackData& call) {
  const bool runtime = domain == cupti::kRuntimeApi;
  if (!runtime && t_runtime.correlation == call.correlation) return;
  Entered& entered = runtime ? t_runtime : t_driver;
  if (call.site == cupti::kEnter) {
    if (!noteCallBegins(call.correlation)) return;
    entered = {call.correlation, false, stamp()};
    t_innermost = &entered;
    return;
  }
  if (entered.correlation != call.correlation) return;  // begun before we were here
  const int before = errno;
  if (ready() && capturing()) leave(entered, domain, number, call);
  entered.correlation = 0;
  t_innermost = &t_runtime;
  errno = before;
}

uint64_t nodeId(void* node) {
  uint64_t id = 0;
  if (node == nullptr || g_cupti.cuptiGetGraphNodeId(node, &id) != cupti::kSuccess) return 0;
  return id;
}

void onGraphNode(bool copied, const cupti::GraphData& graph) {
  if (t_innermost != nullptr) t_innermost->captured = true;
  arena::CudaGraphNodeRecord r{};
  r.node = nodeId(graph.node);
  if (r.node == 0 || !ready()) return;
  if (copied) r.original = nodeId(graph.original_node);
  r.header = {arena::RecordKind::kCudaGraphNode, 0, sizeof r / 8, copied ? 0 : callStack()};
  r.correlation = sharedHeader().first_correlation;
  putRecord(&r, sizeof r, false);
}

uint32_t contextId(void* context) {
  uint32_t id = 0;
  const bool known = context != nullptr && g_cupti.cuptiGetContextId != nullptr &&
                     g_cupti.cuptiGetContextId(context, &id) == cupti::kSuccess;
  return known ? id : ~0u;
}

/// The call that this thread is in, if it is one that is recorded: the last one that was entered,
/// for another may have been left by longjmp.
const Entered& currentCall() {
  if (t_runtime.correlation == 0) return t_driver;
  return t_driver.correlation != 0 && t_driver.start > t_runtime.start ? t_driver : t_runtime;
}

void onModule(bool unload, const cupti::ResourceData& resource) {
  if (!ready() || !capturing()) return;
  const auto& module = *static_cast<const cupti::ModuleData*>(resource.descriptor);
  const uint32_t call = currentCall().correlation;
  arena::CudaModuleRecord r{};
  const int flags = (unload ? arena::kFlagUnload : 0) | (call != 0 ? arena::kFlagInCall : 0);
  r.time = stamp();
  r.header = {arena::RecordKind::kCudaModule, static_cast<uint8_t>(flags), sizeof r / 8,
              callStack()};
  r.correlation = call != 0 ? wideCorrelation(call) : sharedHeader().first_correlation;
  r.bytes = module.bytes;
  r.module = module.id;
  r.context = contextId(resource.context);
  putRecord(&r, sizeof r, true);
}

void onResource(uint32_t number, const cupti::ResourceData& resource) {
  const int before = errno;
  if (number == cupti::kModuleUnloadStarting) forgetNamePlaces();
  if (number == cupti::kInitFinished) enableUnifiedMemory();
  if ((number == cupti::kModuleLoaded || number == cupti::kModuleUnloadStarting) &&
      resource.descriptor != nullptr) {
    onModule(number == cupti::kModuleUnloadStarting, resource);
  }
  if ((number == cupti::kGraphNodeCreated || number == cupti::kGraphNodeCloned) &&
      resource.descriptor != nullptr) {
    onGraphNode(number == cupti::kGraphNodeCloned,
                *static_cast<const cupti::GraphData*>(resource.descriptor));
  }
  errno = before;
}

}  // namespace

void onCall(void*, int domain, uint32_t number, const void* data) {
  if (isDead()) return;
  if (domain == cupti::kRuntimeApi || domain == cupti::kDriverApi) {
    onApi(domain, number, *static_cast<const cupti::CallbackData*>(data));
  } else if (domain == cupti::kResource) {
    onResource(number, *static_cast<const cupti::ResourceData*>(data));
  }
}

void disableCallbacks(void* subscriber) {
  if (g_cupti.cuptiEnableDomain == nullptr) return;
  for (const int domain : {cupti::kDriverApi, cupti::kRuntimeApi, cupti::kResource}) {
    (void)g_cupti.cuptiEnableDomain(0, subscriber, domain);
  }
}

void enableCallbacks(void* subscriber) {
  const bool all = setting(arena::kEnvCudaCalls) != nullptr;
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
      CallKind kind = kindOf(name);
      if (kind == CallKind::kOther) {
        if (!all || isNoise(name)) continue;
        kind = kindOfOther(name);
      }
      if (g_cupti.cuptiEnableCallback(1, subscriber, domain, number) == cupti::kSuccess &&
          !g_told[domain == cupti::kRuntimeApi][number]) {
        g_told[domain == cupti::kRuntimeApi][number] = tellText(
            arena::CudaText::kFunction, arena::cudaFunction(static_cast<uint32_t>(domain), number),
            name, static_cast<uint32_t>(kind));
      }
    }
  }
  for (const uint32_t number : {cupti::kModuleLoaded, cupti::kModuleUnloadStarting}) {
    const int code = g_cupti.cuptiEnableCallback(1, subscriber, cupti::kResource, number);
    if (code != cupti::kSuccess) tellKindProblem("loading and unloading of modules", code);
  }
  if (wantsUnifiedMemory()) {
    (void)g_cupti.cuptiEnableCallback(1, subscriber, cupti::kResource, cupti::kInitFinished);
  }
  if (g_cupti.cuptiGetGraphNodeId == nullptr) return;
  for (const uint32_t number : {cupti::kGraphNodeCreated, cupti::kGraphNodeCloned}) {
    (void)g_cupti.cuptiEnableCallback(1, subscriber, cupti::kResource, number);
  }
}

}  // namespace tracesmith::agent
