// SPDX-License-Identifier: Apache-2.0
// The program and the libraries that are loaded, and what they export, read from their own dynamic
// sections: dlsym() would leave its mark in what dlerror() tells the program next, and wait for the
// lock of dlopen(), whose holder may be waiting for the thread that asks: the constructor of a
// library that is being opened may wait for any thread.
//
// Here nothing waits for that lock. dl_iterate_phdr() takes another one, which the loader holds
// only while it changes its list.
//
// Part of what enters other people's programs: libc alone, no allocation.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

namespace tracesmith {

struct LoadedModule {
  const char* path = "";  // "" for the program; the dynamic linker's own text
  uintptr_t bias = 0;
  uintptr_t begin = 0;  // addresses [begin, end)
  uintptr_t end = 0;
  const void* dynamic = nullptr;  // its dynamic section
  bool holds(uintptr_t address) const { return address - begin < end - begin; }
};

/// The module in which `address` lies; false when there is none.
bool findModule(const void* address, LoadedModule& out);
/// The module's definition of a function; nullptr when it has none of its own. Of versions the
/// default one.
void* findExport(const LoadedModule& module, const char* name);
/// A definition of a function or of a variable.
struct Definition {
  void* address = nullptr;
  size_t bytes = 0;
};
/// The module's own one, as findExport() finds it. False: it has none.
bool findDefinition(const LoadedModule& module, const char* name, Definition& out);
/// The first definition of a function in the order of loading; nullptr when there is none.
void* findExportAnywhere(const char* name);
/// The module and what it is linked to, directly or not, in the order in which dlsym() searches a
/// handle of it. Returns how many there are, at most `most`.
size_t modulesInScopeOf(const LoadedModule& module, LoadedModule* out, size_t most);
/// The first definition of a function in the modules that were loaded after the one in which
/// `after` lies.
void* findExportBehind(const void* after, const char* name);

/// True when the module's read-only memory holds these bytes.
bool holdsText(const LoadedModule& module, const char* text, size_t bytes);

/// How many modules were ever loaded, and ever unloaded, by this process.
struct LoadCounts {
  uint64_t loaded = 0;
  uint64_t unloaded = 0;
};
LoadCounts loadCounts();

/// Calls `visit(module)` for each module in the order of loading, until it says true.
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
