// SPDX-License-Identifier: Apache-2.0
// How the agent enters a program: as a layer that the ICD loader asks for its table, or preloaded.
#include <stdlib.h>
#include <string.h>

#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/agents/opencl/intercept.hpp"
#include "tracesmith/capture/opencl_api.hpp"

#ifdef TRACESMITH_OPENCL_PRELOAD
#include <dlfcn.h>
#include <pthread.h>

#include "tracesmith/capture/agents/core/late_function.hpp"
#else
#include <CL/cl_layer.h>
#endif

namespace tracesmith::agent {

cl_icd_dispatch g_next{};

namespace {

// The driver calls us back on threads of its own, which may be late when the program exits just
// after its last wait. Nothing is waited for when nothing is under way.
constexpr int64_t kExitGraceNs = 200'000'000;

[[maybe_unused]] bool enter() {
  if (!arm("opencl")) return false;
  waitAtExit(kExitGraceNs);
  return true;
}

}  // namespace
}  // namespace tracesmith::agent

using namespace tracesmith::agent;  // NOLINT: the functions below are C functions

#ifdef TRACESMITH_OPENCL_PRELOAD

namespace {

void findFunctions();

template <auto kEntry>
using Late = LateFunction<g_next, kEntry, findFunctions>;

/// Entries of which nothing is known yet. Without a lock, since the loader has one of its own: who
/// comes here at the same time finds the same.
void findFunctions() {
  // Loaded by a module of the program, it need not be among what RTLD_NEXT searches. It stays.
  void* const library = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD);
#define TS_X(function, ...)                                                                      \
  if (g_next.function == nullptr || g_next.function == Late<&cl_icd_dispatch::function>::call) { \
    void* found = dlsym(RTLD_NEXT, #function);                                                   \
    if (found == nullptr && library != nullptr) found = dlsym(library, #function);               \
    g_next.function = found == nullptr ? Late<&cl_icd_dispatch::function>::call                  \
                                       : reinterpret_cast<decltype(g_next.function)>(found);     \
  }
  TS_OPENCL_API(TS_X)
  TS_OPENCL_MASKED(TS_X)
  // What the wrappers themselves call.
  TS_X(clGetPlatformInfo)
  TS_X(clGetDeviceIDs)
  TS_X(clGetDeviceInfo)
  TS_X(clGetContextInfo)
  TS_X(clGetMemObjectInfo)
  TS_X(clGetImageInfo)
  TS_X(clGetKernelInfo)
  TS_X(clGetProgramInfo)
  TS_X(clGetProgramBuildInfo)
  TS_X(clSetMemObjectDestructorCallback)
  TS_X(clSetEventCallback)
  TS_X(clRetainEvent)
  TS_X(clReleaseEvent)
#undef TS_X
  // A program that does not link OpenCL has nothing to record here.
  if (g_next.clEnqueueNDRangeKernel == Late<&cl_icd_dispatch::clEnqueueNDRangeKernel>::call) return;
  static pthread_mutex_t entering = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&entering);
  if (!armed()) enter();
  pthread_mutex_unlock(&entering);
}

__attribute__((constructor)) void enterByPreload() { findFunctions(); }

}  // namespace

#else

extern "C" {
#define TS_X(function, ...) \
  extern std::remove_pointer_t<decltype(cl_icd_dispatch::function)> TS_WRAPPER_NAME(function);
TS_OPENCL_API(TS_X)
TS_OPENCL_MASKED(TS_X)
#undef TS_X

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
  static cl_icd_dispatch table;
  if (target == nullptr || entries_ret == nullptr || layer_ret == nullptr) return CL_INVALID_VALUE;
  const size_t known = sizeof table / sizeof(void*);
  const size_t count = entries < known ? entries : known;
  memcpy(&g_next, target, count * sizeof(void*));
  table = g_next;
  if (enter()) {
    // Entries that the loader does not have stay empty.
#define TS_X(function, ...) \
  if (g_next.function != nullptr) table.function = TS_WRAPPER_NAME(function);
    TS_OPENCL_API(TS_X)
    TS_OPENCL_MASKED(TS_X)
#undef TS_X
  }
  *entries_ret = static_cast<cl_uint>(count);
  *layer_ret = &table;
  return CL_SUCCESS;
}

}  // extern "C"

#endif
