// SPDX-License-Identifier: Apache-2.0
// The agent as a preloaded library. A program may reach OpenCL through any library that defines its
// functions, and through several: the system's loader, one bundled with a module, one that it opens
// with dlopen() and queries with dlsym(). Each is a library here, and a call goes to the library
// that the caller would reach without the agent:
//
//   by name    the function of that name after the agent in the global scope; otherwise in the
//              scope of the calling module (its own dependencies)
//   dlsym()    the library in which the real dlsym() finds it
//
// A library that already uses the agent as a layer is not wrapped.
#pragma once

#include "tracesmith/capture/agents/opencl/preloaded_functions.hpp"

namespace tracesmith::agent {

/// Where calls from a range of code addresses go. preload_entries.cpp depends on the layout.
struct CallerRange {
  uintptr_t begin;
  uintptr_t size;
  const cl_icd_dispatch* entries;
};

/// The answer to dlsym(); `done` is 0 if the real dlsym() must be called.
struct SymbolAnswer {
  void* symbol;
  uint64_t done;
};

}  // namespace tracesmith::agent

extern "C" {
/// The first caller; most programs have no other.
extern const tracesmith::agent::CallerRange* tracesmith_first_caller
    __attribute__((visibility("hidden")));
/// The functions for code at `caller`; the entry of every function that the library has is set.
const cl_icd_dispatch* tracesmith_entries_for(const void* caller)
    __attribute__((visibility("hidden")));
/// dlsym() for a name that starts with "cl", called by code at `caller`.
tracesmith::agent::SymbolAnswer tracesmith_opencl_symbol(void* handle, const char* name,
                                                         const void* caller)
    __attribute__((visibility("hidden")));
using RealDlsym = void* (*)(void*, const char*);
/// The C library's dlsym(), or that of a library after the agent; tracesmith_find_dlsym() sets it.
extern RealDlsym tracesmith_real_dlsym __attribute__((visibility("hidden")));
void tracesmith_find_dlsym() __attribute__((visibility("hidden")));
}
