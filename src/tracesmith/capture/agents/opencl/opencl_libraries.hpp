// SPDX-License-Identifier: Apache-2.0
// The OpenCL libraries that a preloaded agent has found, and where calls to them go.
#pragma once

#include "tracesmith/base/linux/loaded_modules.hpp"
#include "tracesmith/capture/agents/opencl/preloaded_functions.hpp"

namespace tracesmith::agent {

constexpr uint32_t kMostLibraries = 6;

struct OpenClLibrary {
  LoadedModule module;
  cl_icd_dispatch own;      // its functions; missing ones refuse
  cl_icd_dispatch entries;  // targets of the program's calls; at first, code that selects them
  cl_icd_dispatch symbols;  // results of dlsym() for the program: jumps to the entries
  OpenClLibrary* next;      // list of libraries beyond the maximum, which are not wrapped
};

/// The entry for the library, added if necessary; nullptr: there are too many. `lookUp(name)` finds
/// its functions. Does not call the library: a program may look up functions long before it needs a
/// driver. Any thread.
template <class LookUp>
OpenClLibrary* openClLibrary(const LoadedModule& module, LookUp&& lookUp);

/// Functions that refuse every call.
extern const cl_icd_dispatch kRefusals;

/// Reads the layer and recorder settings from the environment, once.
void prepareLibraries();
/// True if loaders that support layers have been told to use this agent.
bool isLayerToo();

/// Call before a dlclose(): keeps libraries loaded whose functions were called, because threads of
/// their drivers may call the agent. Takes the lock of dlopen(), which no OpenCL call may wait for.
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
