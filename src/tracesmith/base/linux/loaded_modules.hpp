// SPDX-License-Identifier: Apache-2.0
// Finds loaded modules (the program and its libraries) and their exports by reading their dynamic
// sections. dlsym() is unsuitable: it changes what dlerror() next tells the program, and it waits
// for the lock of dlopen(). The holder of that lock may be waiting for the calling thread, since
// the constructor of a library that is being opened may wait for any thread.
//
// Nothing here waits for that lock. dl_iterate_phdr() takes another lock, which the loader holds
// only while it changes its list.
//
// This code runs inside other people's programs: it uses only libc and allocates nothing.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

namespace tracesmith {

struct LoadedModule {
  const char* path = "";  // "" for the program; owned by the dynamic linker
  uintptr_t bias = 0;
  uintptr_t begin = 0;  // addresses [begin, end)
  uintptr_t end = 0;
  const void* dynamic = nullptr;  // its dynamic section
  bool holds(uintptr_t address) const { return address - begin < end - begin; }
};

/// The module that contains `address`; false if there is none.
bool findModule(const void* address, LoadedModule& out);
/// The module's own definition of a function, in its default version; nullptr if it has none.
void* findExport(const LoadedModule& module, const char* name);
/// The definition of a function or variable.
struct Definition {
  void* address = nullptr;
  size_t bytes = 0;
};
/// The module's own definition, as found by findExport(). False if it has none.
bool findDefinition(const LoadedModule& module, const char* name, Definition& out);
/// The first definition of a function in load order; nullptr if there is none.
void* findExportAnywhere(const char* name);
/// The module and everything it is linked to, directly or not, in the order in which dlsym()
/// searches a handle of it. Returns their number, at most `most`.
size_t modulesInScopeOf(const LoadedModule& module, LoadedModule* out, size_t most);
/// The first definition of a function in the modules that were loaded after the module containing
/// `after`.
void* findExportAfter(const void* after, const char* name);

/// Whether the module's read-only memory contains these bytes.
bool holdsText(const LoadedModule& module, const char* text, size_t bytes);

/// How many modules this process has ever loaded and unloaded.
struct LoadCounts {
  uint64_t loaded = 0;
  uint64_t unloaded = 0;
};
LoadCounts loadCounts();

/// Calls `visit(module)` for each module in load order, until it returns true.
template <class Visit>
bool anyModule(Visit&& visit);

bool anyModule(bool (*visit)(const LoadedModule&, void*), void* state);

template <class Visit>
bool anyModule(Visit&& visit) {
  using Its = std::remove_reference_t<Visit>;
  return anyModule(
      [](const LoadedModule& module, void* state) { return (*static_cast<Its*>(state))(module); },
      &visit);
}

}  // namespace tracesmith
