// SPDX-License-Identifier: Apache-2.0
// The libraries that a preloaded agent has found to implement OpenCL, and where calls to them go.
#pragma once

#include "tracesmith/base/loaded_modules.hpp"
#include "tracesmith/capture/agents/opencl/preloaded_functions.hpp"

namespace tracesmith::agent {

constexpr uint32_t kMostLibraries = 6;

struct OpenClLibrary {
  LoadedModule module;
  cl_icd_dispatch own;      // its functions; of those that it has not, refusals
  cl_icd_dispatch entries;  // where the program's calls go; at first to what decides that
  cl_icd_dispatch symbols;  // what dlsym() gives the program: jumps to the entries
  OpenClLibrary* next;      // of those that are passed through, for there are too many
};

/// The library, which is taken into the list if need be; nullptr: there are too many.
/// `lookUp(name)` finds its functions. Nothing of it is called yet: a program may look for
/// functions long before it wants a driver. Any thread.
template <class LookUp>
OpenClLibrary* openClLibrary(const LoadedModule& module, LookUp&& lookUp);

/// Of each function, the one that refuses.
extern const cl_icd_dispatch kRefusals;

/// Reads, once, what the environment says of layers and of the recorder.
void prepareLibraries();
/// True when loaders that know layers have been told to use this agent.
bool isLayerToo();

/// Before a dlclose(): libraries of which functions were called stay loaded, for their drivers'
/// threads may call us. Takes the lock of dlopen(), which no call of OpenCL may wait for.
void keepCalledLibraries();

OpenClLibrary* knownLibrary(const LoadedModule& module);
OpenClLibrary* addLibrary(const LoadedModule& module, const cl_icd_dispatch& own);

template <class LookUp>
OpenClLibrary* openClLibrary(const LoadedModule& module, LookUp&& lookUp) {
  if (OpenClLibrary* const known = knownLibrary(module)) return known;
  cl_icd_dispatch own = kRefusals;
#define TS_X(function, ...)                                    \
  if (void* const found = lookUp(#function); found != nullptr) \
    own.function = reinterpret_cast<decltype(own.function)>(found);
  TS_OPENCL_PRELOADED(TS_X)
  TS_OPENCL_CALLED(TS_X)
  TS_X(clGetPlatformIDs)
#undef TS_X
  return addLibrary(module, own);
}

}  // namespace tracesmith::agent
