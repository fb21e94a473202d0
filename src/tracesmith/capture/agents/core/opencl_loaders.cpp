// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/opencl_loaders.hpp"

#include <pthread.h>
#include <string.h>

#include "tracesmith/base/linux/loaded_modules.hpp"

namespace tracesmith::agent {

NextFunctions g_next[kMostLoaders]{};
cl_icd_dispatch g_below[kMostLoaders]{};
constinit thread_local const NextFunctions* t_next __attribute__((tls_model("initial-exec"))) =
    &g_next[0];

namespace {

pthread_mutex_t g_adding = PTHREAD_MUTEX_INITIALIZER;

struct LoaderSlot {
  bool used = false;
  const void* module = nullptr;
};
LoaderSlot g_loader_slots[kMostLoaders];

/// False if the loader's module has been unloaded, and its functions with it.
bool isThere(const void* module) {
  LoadedModule found;
  return module == nullptr || findModule(module, found);
}

}  // namespace

LoaderLock::LoaderLock() { pthread_mutex_lock(&g_adding); }
LoaderLock::~LoaderLock() { pthread_mutex_unlock(&g_adding); }

uint32_t addLoader(const void* module, const cl_icd_dispatch* below, size_t count) {
  cl_icd_dispatch its{};
  if (count > sizeof its / sizeof(void*)) count = sizeof its / sizeof(void*);
  memcpy(static_cast<void*>(&its), below, count * sizeof(void*));
  uint32_t number = kNoLoader;
  for (uint32_t i = 0; i < kMostLoaders && number == kNoLoader; ++i) {
    const bool same =
        g_loader_slots[i].module == module && memcmp(&g_below[i], &its, sizeof its) == 0;
    if (g_loader_slots[i].used && same) number = i;
  }
  // Prefer an unloaded loader's place to an unused one: the unloaded loader's commands in progress
  // then find functions that exist.
  for (uint32_t i = 0; i < kMostLoaders && number == kNoLoader; ++i) {
    if (g_loader_slots[i].used && !isThere(g_loader_slots[i].module)) number = i;
  }
  for (uint32_t i = 0; i < kMostLoaders && number == kNoLoader; ++i) {
    if (!g_loader_slots[i].used) number = i;
  }
  if (number == kNoLoader) return kNoLoader;
  g_below[number] = its;
  static_cast<cl_icd_dispatch&>(g_next[number]) = its;
  g_loader_slots[number] = {true, module};
  return number;
}

}  // namespace tracesmith::agent
