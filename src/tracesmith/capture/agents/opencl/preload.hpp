// SPDX-License-Identifier: Apache-2.0
// The agent as a preloaded library. A program may reach OpenCL through any library that defines its
// functions, and through several: the system's loader, one that a module brings, one that it opens
// with dlopen() and asks with dlsym(). Each of them is a library here, and a call goes to the one
// that the caller would reach without us:
//
//   by name    the function of that name in the global scope behind us; else in the scope of the
//              module that calls (its own dependencies)
//   dlsym()    the library in which the real dlsym() finds it
//
// A library that the agent is a layer of already is passed through.
#pragma once

#include "tracesmith/capture/agents/opencl/preloaded_functions.hpp"

namespace tracesmith::agent {

/// Where calls from a stretch of code go. preload_entries.cpp knows the layout.
struct CallerRange {
  uintptr_t begin;
  uintptr_t size;
  const cl_icd_dispatch* entries;
};

/// What dlsym() answers; `done`: false when the real one is to be asked.
struct SymbolAnswer {
  void* symbol;
  uint64_t done;
};

}  // namespace tracesmith::agent

extern "C" {
/// The caller that came first; most programs have no other.
extern const tracesmith::agent::CallerRange* tracesmith_first_caller
    __attribute__((visibility("hidden")));
/// The functions that code at `caller` calls; none of those that the library has is empty.
const cl_icd_dispatch* tracesmith_entries_for(const void* caller)
    __attribute__((visibility("hidden")));
/// dlsym() for a name that begins with "cl", asked by code at `caller`.
tracesmith::agent::SymbolAnswer tracesmith_opencl_symbol(void* handle, const char* name,
                                                         const void* caller)
    __attribute__((visibility("hidden")));
using RealDlsym = void* (*)(void*, const char*);
/// The C library's dlsym(), or that of a library behind us; tracesmith_find_dlsym() finds it.
extern RealDlsym tracesmith_real_dlsym __attribute__((visibility("hidden")));
void tracesmith_find_dlsym() __attribute__((visibility("hidden")));
}
