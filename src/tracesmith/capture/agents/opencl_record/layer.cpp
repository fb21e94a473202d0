// SPDX-License-Identifier: Apache-2.0
// How the recording agent enters a program: as a layer of each loader, or of the preloaded tracing
// agent.
#include <stdlib.h>
#include <string.h>

#include <type_traits>

#include "tracesmith/base/linux/loaded_modules.hpp"
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

extern "C" {
#define TS_X(function) \
  extern std::remove_pointer_t<decltype(cl_icd_dispatch::function)> TS_WRAP(function);
TS_RECORDED_OPENCL(TS_X)
#undef TS_X
}

namespace tracesmith::record {

constinit State g_objects;

namespace {

using agent::kMostLoaders;

cl_icd_dispatch g_shown[kMostLoaders];

/// May be called repeatedly; it arms once.
bool enter() {
  static bool entered = false;
  if (!entered) entered = arm() && readRange();
  return entered;
}

template <uint32_t kLoader>
void wrapAll() {
  cl_icd_dispatch& shown = g_shown[kLoader];
  shown = agent::g_below[kLoader];
#define TS_X(function) \
  agent::wrapEntry<kLoader, &cl_icd_dispatch::function, TS_WRAP(function)>(shown);
  TS_RECORDED_OPENCL(TS_X)
#undef TS_X
#define TS_X(function) agent::callEntry<kLoader, &cl_icd_dispatch::function>();
  TS_CALLED_OPENCL(TS_X)
#undef TS_X
}
constexpr void (*kWrapAll[])() = {wrapAll<0>, wrapAll<1>, wrapAll<2>, wrapAll<3>};
static_assert(sizeof kWrapAll / sizeof kWrapAll[0] == kMostLoaders);

/// The table of wrappers above a loader; nullptr: the loader's calls are not recorded.
const cl_icd_dispatch* addRecordedLoader(const void* caller, const cl_icd_dispatch* below,
                                         size_t count) {
  tracesmith::LoadedModule loader;
  tracesmith::findModule(caller, loader);
  const agent::LoaderLock one_at_a_time;
  if (!enter()) return nullptr;
  const uint32_t number =
      agent::addLoader(reinterpret_cast<const void*>(loader.begin), below, count);
  if (number == agent::kNoLoader) return nullptr;
  kWrapAll[number]();
  findTracingAgent(number);
  return &g_shown[number];
}

}  // namespace
}  // namespace tracesmith::record

using namespace tracesmith::record;  // NOLINT: the functions below are C functions

extern "C" {

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what,
                                                                         size_t size, void* value,
                                                                         size_t* size_ret) {
  static const char kName[] = "TraceSmith recorder";
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
  const cl_icd_dispatch* const table =
      addRecordedLoader(__builtin_return_address(0), target, count);
  *entries_ret = static_cast<cl_uint>(count);
  *layer_ret = table != nullptr ? table : target;
  return CL_SUCCESS;
}

}  // extern "C"
