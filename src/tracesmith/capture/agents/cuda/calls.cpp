// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/calls.hpp"

#include <errno.h>
#include <string.h>

#include <atomic>

#include "tracesmith/capture/agents/core/call_stack.hpp"
#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/cuda/activity.hpp"
#include "tracesmith/capture/agents/cuda/call_window.hpp"
#include "tracesmith/capture/agents/cuda/captured_calls.hpp"
#include "tracesmith/capture/agents/cuda/record_writer.hpp"
#include "tracesmith/capture/agents/cuda/shared_file.hpp"
#include "tracesmith/capture/agents/cuda/virtual_memory.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith::agent {
namespace {

bool g_named_functions[2][cupti::kMostFunctions];  // functions whose names are in the shared file
/// Virtual memory operations by the driver's function number. Filled in before the callbacks are
/// enabled; another capture stores the same values again.
std::atomic<arena::VirtualMemoryCall> g_virtual_memory[cupti::kMostFunctions];

/// The call that this thread is in, by CUPTI's correlation id (0: none). Calls of the driver by the
/// runtime have the runtime call's id and belong to it. A call left by longjmp is forgotten when
/// the next one is entered.
struct Entered {
  uint32_t correlation = 0;
  uint32_t life = 0;      // of the process
  bool captured = false;  // it created graph nodes
  int64_t start = 0;
};
constinit thread_local Entered t_runtime __attribute__((tls_model("initial-exec")));
constinit thread_local Entered t_driver __attribute__((tls_model("initial-exec")));
/// The one that was entered last. The call may have been left by longjmp: a runtime call left that
/// way is still stored while the program calls the driver directly.
constinit thread_local Entered* t_innermost __attribute__((tls_model("initial-exec"))) = nullptr;

/// Records the call's virtual memory operation, if any. It precedes the call's own record, so that
/// a reader who has the call's record also has this one.
[[gnu::noinline, gnu::cold]] void putVirtualMemory(const Entered& entered, uint32_t number,
                                                   const cupti::CallbackData& call) {
  const auto operation = number < cupti::kMostFunctions
                             ? g_virtual_memory[number].load(std::memory_order_relaxed)
                             : arena::VirtualMemoryCall::kNone;
  int32_t result = 0;
  if (call.result != nullptr) memcpy(&result, call.result, sizeof result);
  if (operation == arena::VirtualMemoryCall::kNone || result != 0 || call.parameters == nullptr) {
    return;
  }
  const bool gives_back = operation == arena::VirtualMemoryCall::kRelease ||
                          operation == arena::VirtualMemoryCall::kUnmap;
  arena::CudaVirtualMemoryRecord r{};
  r.header = {arena::RecordKind::kCudaVirtualMemory, static_cast<uint8_t>(operation), sizeof r / 8,
              callStack()};
  r.correlation = wideCorrelation(call.correlation);
  r.time = gives_back ? entered.start : stamp();
  cupti::readVirtualMemory(operation, call.parameters, r);
  putRecord(&r, sizeof r, true);
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
  putRecord(&r, sizeof r, true);
  noteCallIsRecorded();
}

void onApi(int domain, uint32_t number, const cupti::CallbackData& call) {
  const bool runtime = domain == cupti::kRuntimeApi;
  // Skip the runtime's own calls of the driver. The runtime allocates through functions that CUPTI
  // reports (cudaMalloc, pools), so the virtual memory beneath them would be counted twice.
  if (!runtime && t_runtime.correlation == call.correlation) return;
  Entered& entered = runtime ? t_runtime : t_driver;
  if (call.site == cupti::kEnter) {
    if (!noteCallBegins(call.correlation)) return;
    entered = {call.correlation, lifeOf(t_state), false, stamp()};
    t_innermost = &entered;
    return;
  }
  if (entered.correlation != call.correlation) return;  // started before the callbacks were enabled
  t_innermost = &t_runtime;  // set here, so that its address need not be kept in a register below
  const int before = errno;
  if (noteCallEnds(entered.life)) {
    // A launch has a symbol, and skips this.
    if (call.symbol == nullptr && !runtime) putVirtualMemory(entered, number, call);
    leave(entered, domain, number, call);
  }
  entered.correlation = 0;
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

/// The recorded call that this thread is in, if any: the one entered last, because the other one
/// may have been left by longjmp.
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
  if (number == cupti::kModuleUnloadStarting) clearNameSlots();
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
  cupti::forEachRecordedCall(
      g_cupti, all, [&](int domain, uint32_t number, const char* name, CallKind kind) {
        if (domain == cupti::kDriverApi) {
          g_virtual_memory[number].store(cupti::virtualMemoryOperation(name),
                                         std::memory_order_relaxed);
        }
        bool& named = g_named_functions[domain == cupti::kRuntimeApi][number];
        if (g_cupti.cuptiEnableCallback(1, subscriber, domain, number) != cupti::kSuccess ||
            named) {
          return;
        }
        named = writeText(arena::CudaText::kFunction,
                          arena::cudaFunction(static_cast<uint32_t>(domain), number), name,
                          static_cast<uint32_t>(kind));
      });
  for (const uint32_t number : {cupti::kModuleLoaded, cupti::kModuleUnloadStarting}) {
    const int code = g_cupti.cuptiEnableCallback(1, subscriber, cupti::kResource, number);
    if (code != cupti::kSuccess) reportKindProblem("loading and unloading of modules", code);
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
