// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl/agent_loaders.hpp"

#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/agents/opencl/recorder.hpp"
#include "tracesmith/capture/agents/opencl/unwrapped_loaders.hpp"
#include "tracesmith/capture/protocol/opencl_api.hpp"

extern "C" {
#define TS_X(function, ...) \
  extern std::remove_pointer_t<decltype(cl_icd_dispatch::function)> TS_WRAP(function);
TS_OPENCL_API(TS_X)
TS_OPENCL_MASKED(TS_X)
TS_X(clGetPlatformIDs)
#undef TS_X
}

namespace tracesmith::agent {
namespace {

// The driver calls the agent back on its own threads; these may be late when the program exits
// right after its last wait. There is no wait if no command is running.
constexpr int64_t kExitGraceNs = 200'000'000;

cl_icd_dispatch g_shown[kMostLoaders];

template <uint32_t kLoader>
void wrapAll() {
  cl_icd_dispatch& shown = g_shown[kLoader];
  shown = g_below[kLoader];
#define TS_X(function, ...) \
  wrapEntry<kLoader, &cl_icd_dispatch::function, TS_WRAP(function)>(shown);
  TS_OPENCL_API(TS_X)
  TS_OPENCL_MASKED(TS_X)
  TS_X(clGetPlatformIDs)
#undef TS_X
#define TS_X(function) callEntry<kLoader, &cl_icd_dispatch::function>();
  TS_OPENCL_CALLED(TS_X)
  TS_OPENCL_MASKED(TS_X)
#undef TS_X
}
constexpr void (*kWrapAll[])() = {wrapAll<0>, wrapAll<1>, wrapAll<2>, wrapAll<3>};
static_assert(sizeof kWrapAll / sizeof kWrapAll[0] == kMostLoaders);

/// Caller holds the lock.
bool armAgent() {
  if (armed()) return true;
  if (!arm("opencl")) return false;
  setCompletionCallbacks();
  waitAtExit(kExitGraceNs);
  return true;
}

}  // namespace

bool enter() {
  const LoaderLock one_at_a_time;
  return armAgent();
}

const cl_icd_dispatch* addTracedLoader(const LoadedModule& loader, const cl_icd_dispatch* below,
                                       size_t count) {
  uint32_t number = kNoLoader;
  {
    const LoaderLock one_at_a_time;
    if (!armAgent()) return nullptr;
    number = addLoader(reinterpret_cast<const void*>(loader.begin), below, count);
    if (number != kNoLoader) kWrapAll[number]();
  }
  if (number == kNoLoader) {
    reportUnwrappedLoader(loader, arena::UnwrappedLoader::kTooMany);
    return nullptr;
  }
  return &g_shown[number];
}

}  // namespace tracesmith::agent
