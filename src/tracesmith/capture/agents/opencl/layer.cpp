// SPDX-License-Identifier: Apache-2.0
// The agent as a layer. Each ICD loader of the process that supports OPENCL_LAYERS asks it for its
// table.
#include <dlfcn.h>
#include <string.h>

#include "tracesmith/base/linux/loaded_modules.hpp"
#include "tracesmith/capture/agents/opencl/agent_loaders.hpp"
#include "tracesmith/capture/agents/opencl/unwrapped_loaders.hpp"
#include "tracesmith/capture/protocol/opencl_attempt_layout.hpp"

using namespace tracesmith::agent;  // NOLINT: the functions below are C functions
using tracesmith::findModule;
using tracesmith::LoadedModule;

namespace {

/// True if another, preloaded copy of this library is in the process; that copy records the calls
/// of all loaders. A package that cannot hold links contains several copies
/// (capture/launch/preload_path.cpp).
bool isPreloadedElsewhere() {
  const void* const its = dlsym(RTLD_DEFAULT, tracesmith::opencl_attempt::kFunctionName);
  // In a copy, the address of an exported function is that of the preloaded copy's function.
  LoadedModule own;
  return its != nullptr && findModule(reinterpret_cast<const void*>(&isPreloadedElsewhere), own) &&
         !own.holds(reinterpret_cast<uintptr_t>(its));
}

/// Keeps the loader in memory. The driver calls the agent when commands end, and the agent calls
/// the loader's functions, even if the program closes the loader while commands are running.
void keepLoaded(const LoadedModule& loader) {
  (void)dlopen(loader.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

__attribute__((destructor)) void leaveLayer() { reportLoadersWithoutLayers(); }

}  // namespace

extern "C" {

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what,
                                                                         size_t size, void* value,
                                                                         size_t* size_ret) {
  static const char kName[] = "TraceSmith";
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  const void* from = nullptr;
  size_t bytes = 0;
  switch (what) {
    case CL_LAYER_API_VERSION:
      from = &version;
      bytes = sizeof version;
      break;
    case CL_LAYER_NAME:
      from = kName;
      bytes = sizeof kName;
      break;
    default:
      return CL_INVALID_VALUE;
  }
  if (value != nullptr) {
    if (size < bytes) return CL_INVALID_VALUE;
    memcpy(value, from, bytes);
  }
  if (size_ret != nullptr) *size_ret = bytes;
  return CL_SUCCESS;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL
clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_ret,
            const cl_icd_dispatch** layer_ret) {
  if (target == nullptr || entries_ret == nullptr || layer_ret == nullptr) return CL_INVALID_VALUE;
  constexpr size_t kKnown = sizeof *target / sizeof(void*);
  const size_t count = entries < kKnown ? entries : kKnown;
  *entries_ret = static_cast<cl_uint>(count);
  *layer_ret = target;
  if (isPreloadedElsewhere()) return CL_SUCCESS;
  LoadedModule loader;
  const bool known = findModule(__builtin_return_address(0), loader);
  if (known) noteLayerOf(loader);
  const cl_icd_dispatch* const table = addTracedLoader(loader, target, count);
  if (table != nullptr && known) keepLoaded(loader);
  if (table != nullptr) *layer_ret = table;
  return CL_SUCCESS;
}

}  // extern "C"
