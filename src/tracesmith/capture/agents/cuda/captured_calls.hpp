// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA runtime and driver that the agent records, and their call kinds. The
// comparison consumer of bench/gpu_check uses this list to enable the same callbacks.
//
// Callback numbers differ between CUDA versions, names do not: functions are classified by name.
#pragma once

#include <string.h>

#include <initializer_list>

#include "tracesmith/capture/agents/cuda/cupti.hpp"
#include "tracesmith/model/kinds.hpp"

namespace tracesmith::agent::cupti {

constexpr uint32_t kMostFunctions = 4096;  // of a domain

inline bool hasAny(const char* name, std::initializer_list<const char*> parts) {
  for (const char* const part : parts) {
    if (strstr(name, part) != nullptr) return true;
  }
  return false;
}

/// The kind of a call that is recorded by default; kOther: the call is not.
inline CallKind kindOfCall(const char* name) {
  if (strncmp(name, "__", 2) == 0) name += 2;  // entry points of CUDA 13's `<<<>>>`
  const bool is_runtime = strncmp(name, "cuda", 4) == 0;
  if (!is_runtime && strncmp(name, "cu", 2) != 0) return CallKind::kOther;
  if (hasAny(name, {"LaunchHostFunc", "LaunchAttribute", "Memset3DParms"})) return CallKind::kOther;
  if (hasAny(name, {"GraphLaunch", "LaunchKernel", "LaunchCooperative", "LaunchGrid"}) ||
      strncmp(name, "cuLaunch", 8) == 0 || strncmp(name, "cudaLaunch", 10) == 0) {
    return CallKind::kLaunch;
  }
  if (hasAny(name, {"GraphAdd", "GraphExec", "GraphMem", "GraphBatchMemOp"})) {
    return CallKind::kOther;
  }
  if (hasAny(name, {"Memcpy", "MemPrefetch", "AndPrefetch", "MemBatchDecompress"})) {
    return CallKind::kCopy;
  }
  if (strstr(name, "Memset") != nullptr) return CallKind::kFill;
  if (hasAny(name, {"Synchronize", "StreamWaitEvent", "EventRecord", "StreamWaitValue",
                    "StreamWriteValue", "StreamBatchMemOp"})) {
    return CallKind::kSync;
  }
  if (hasAny(name, {"MemAlloc", "Malloc", "MemFree", "cudaFree", "MemHostAlloc", "HostAlloc",
                    "MemPoolCreate", "MemPoolTrimTo", "MemPoolDestroy"}) ||
      // Virtual memory: PyTorch's expandable segments use only these calls.
      hasAny(name, {"cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuMemSetAccess",
                    "cuMemAddressReserve", "cuMemAddressFree", "cuMemRetainAllocationHandle",
                    "cuMemImportFromShareableHandle", "cuMulticastCreate"})) {
    return CallKind::kMemory;
  }
  if (hasAny(name, {"ModuleLoad", "ModuleUnload", "LibraryLoad", "LibraryUnload", "LinkAdd",
                    "LinkComplete"})) {
    return CallKind::kBuild;
  }
  return CallKind::kOther;
}

/// The kind of a call that is recorded only if all calls are requested.
inline CallKind kindOfOtherCall(const char* name) {
  return hasAny(name, {"CtxCreate", "CtxDestroy", "PrimaryCtx", "StreamCreate", "StreamDestroy",
                       "GetFunction", "DeviceReset", "cuInit"})
             ? CallKind::kSetup
             : CallKind::kOther;
}

/// Functions that do nothing on the device and may outnumber all others. They look up functions or
/// errors, or are the parts of a `<<<>>>` launch other than the launch itself.
inline bool isNoise(const char* name) {
  return hasAny(name, {"GetProcAddress", "GetExportTable", "GetDriverEntryPoint", "GetLastError",
                       "PeekAtLastError", "GetErrorName", "GetErrorString", "CallConfiguration"});
}

/// Calls `visit(domain, number, name, kind)` for each function that this CUPTI knows and that is
/// recorded. With `all`, these are all functions for which isNoise() is false.
template <class Visit>
void forEachRecordedCall(const Functions& functions, bool all, Visit&& visit) {
  constexpr uint32_t kMostUnknown = 64;  // in a row: the numbers have gaps
  for (const int domain : {kDriverApi, kRuntimeApi}) {
    uint32_t unknown = 0;
    for (uint32_t number = 1; number < kMostFunctions && unknown < kMostUnknown; ++number) {
      const char* name = nullptr;
      if (functions.cuptiGetCallbackName(domain, number, &name) != kSuccess || name == nullptr) {
        ++unknown;
        continue;
      }
      unknown = 0;
      CallKind kind = kindOfCall(name);
      if (kind == CallKind::kOther) {
        if (!all || isNoise(name)) continue;
        kind = kindOfOtherCall(name);
      }
      visit(domain, number, name, kind);
    }
  }
}

}  // namespace tracesmith::agent::cupti
