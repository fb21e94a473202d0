// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/cupti_library.hpp"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/capture/agents/cuda/activity.hpp"
#include "tracesmith/capture/agents/cuda/told.hpp"

namespace tracesmith::agent {
namespace {

/// Toolkits have it beside what the loader is told of.
void* fromToolkit() {
  const char* const named = getenv("CUDA_HOME");
  for (const char* const home : {named, "/usr/local/cuda"}) {
    if (home == nullptr) continue;
    for (const char* const below : {"extras/CUPTI/lib64", "lib64"}) {
      char path[512];
      snprintf(path, sizeof path, "%.400s/%s/libcupti.so", home, below);
      if (void* const library = dlopen(path, RTLD_NOW)) return library;
    }
  }
  return nullptr;
}

/// Python's packages bring one, which `tracesmith` of such a Python names: files, with ':' between.
void* fromPackages() {
  const char* at = getenv("TRACESMITH_CUPTI_FALLBACK");
  while (at != nullptr && *at != '\0') {
    const char* const end = strchrnul(at, ':');
    char path[512];
    snprintf(path, sizeof path, "%.*s", static_cast<int>(end - at), at);
    void* const library = end == at ? nullptr : dlopen(path, RTLD_NOW);  // "" is the program
    if (library != nullptr) return library;
    at = *end == '\0' ? end : end + 1;
  }
  return nullptr;
}

}  // namespace

void* findCupti() {
  // One that the program has loaded is the one that it uses.
  static const char* const kNames[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                       "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                       "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                       "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};
  void* library = nullptr;
  if (const char* const named = getenv("TRACESMITH_CUPTI")) {
    library = dlopen(named, RTLD_NOW);
    if (library == nullptr) {
      char text[400];
      snprintf(text, sizeof text, "TRACESMITH_CUPTI names %.300s, which can not be loaded", named);
      tellProblem(true, text);
      return nullptr;
    }
  }
  for (const char* const name : kNames) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  }
  for (const char* const name : kNames) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW);
  }
  if (library == nullptr) library = fromToolkit();
  if (library == nullptr) library = fromPackages();
  if (library == nullptr) {
    tellProblem(true,
                "libcupti was not found; it comes with the CUDA toolkit and with PyTorch "
                "(TRACESMITH_CUPTI names its file)");
    return nullptr;
  }
  const char* missing = nullptr;
#define TS_X(name, optional, parameters)                                          \
  g_cupti.name = reinterpret_cast<decltype(g_cupti.name)>(dlsym(library, #name)); \
  if (g_cupti.name == nullptr && !(optional)) missing = #name;
  TS_CUPTI_FUNCTIONS(TS_X)
#undef TS_X
  if (missing != nullptr) {
    char text[160];
    snprintf(text, sizeof text, "this libcupti is too old or too new: it has no %s", missing);
    tellProblem(true, text);
    return nullptr;
  }
  return library;
}

}  // namespace tracesmith::agent
