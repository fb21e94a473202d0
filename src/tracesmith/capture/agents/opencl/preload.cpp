// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl/preload.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "tracesmith/capture/agents/opencl/agent_loaders.hpp"
#include "tracesmith/capture/agents/opencl/opencl_libraries.hpp"
#include "tracesmith/capture/agents/opencl/unwrapped_loaders.hpp"

extern "C" __attribute__((weak)) void* dlvsym(void* handle, const char* name,
                                              const char* version) noexcept;

namespace {

/// Symbol version of glibc's oldest functions on this architecture.
#if defined(__x86_64__)
constexpr char kFirstVersion[] = "GLIBC_2.2.5";
#else
constexpr char kFirstVersion[] = "GLIBC_2.17";
#endif

constexpr tracesmith::agent::CallerRange kNobody{0, 0, nullptr};

void* findsNothing(void*, const char*) { return nullptr; }

}  // namespace

const tracesmith::agent::CallerRange* tracesmith_first_caller = &kNobody;
RealDlsym tracesmith_real_dlsym = nullptr;

using namespace tracesmith::agent;  // NOLINT: the functions below are C functions
using tracesmith::anyModule;
using tracesmith::findExport;
using tracesmith::findExportAfter;
using tracesmith::findModule;
using tracesmith::LoadedModule;
using tracesmith::modulesInScopeOf;

namespace {

using RealDlclose = int (*)(void*);
std::atomic<RealDlclose> g_real_dlclose{nullptr};

/// An address in this library.
const void* us() { return reinterpret_cast<const void*>(&tracesmith_find_dlsym); }
bool isOurs(const void* address) {
  LoadedModule module;
  return findModule(address, module) && module.holds(reinterpret_cast<uintptr_t>(us()));
}

/// True for the program and for libraries preloaded before this one.
bool comesBeforeUs(const LoadedModule& module) {
  bool before = false;
  anyModule([&](const LoadedModule& each) {
    before = before || each.begin == module.begin;
    return each.holds(reinterpret_cast<uintptr_t>(us()));
  });
  return before;
}

void* realDlsym(void* handle, const char* name) {
  if (tracesmith_real_dlsym == nullptr) tracesmith_find_dlsym();
  return tracesmith_real_dlsym(handle, name);
}

/// The next definition after this library in the global scope. Waits for threads in dlopen().
void* nextInGlobalScope(const char* name) { return realDlsym(RTLD_NEXT, name); }

/// A module's own scope: itself and its dependencies. Waits for threads in dlopen().
class ModuleScope {
 public:
  explicit ModuleScope(const LoadedModule& module)
      : handle_(dlopen(*module.path != 0 ? module.path : nullptr, RTLD_LAZY | RTLD_NOLOAD)) {}
  ~ModuleScope() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;
  void* find(const char* name) const {
    void* const found = handle_ == nullptr ? nullptr : realDlsym(handle_, name);
    return found != nullptr && isOurs(found) ? nullptr : found;
  }

 private:
  void* handle_;
};

constexpr char kEveryLibraryHas[] = "clEnqueueNDRangeKernel";

// --- the library that a call by name reaches ----------------------------------------------------
//
// The program may call OpenCL while another thread is in dlopen() and waits for that call. So
// nothing here calls the dynamic loader while there is only one possible answer.

/// Number of modules loaded when the program started: the global scope, in its order. Modules
/// loaded later may or may not be in it (RTLD_GLOBAL).
std::atomic<uint32_t> g_first_modules{UINT32_MAX};

void* nextOfFirstModules(const char* name) {
  void* found = nullptr;
  bool behind = false;
  uint32_t left = g_first_modules.load(std::memory_order_relaxed);
  anyModule([&](const LoadedModule& module) {
    if (left-- == 0) return true;
    if (behind) found = findExport(module, name);
    behind = behind || module.holds(reinterpret_cast<uintptr_t>(us()));
    return found != nullptr;
  });
  return found;
}

/// A module and its linked dependencies.
class LinkedScope {
 public:
  explicit LinkedScope(const LoadedModule& module)
      : count_(modulesInScopeOf(module, modules_, kMost)) {}
  bool has(const LoadedModule& module) const {
    for (size_t i = 0; i < count_; ++i) {
      if (modules_[i].begin == module.begin) return true;
    }
    return false;
  }
  /// There may be more modules than fit.
  bool isFull() const { return count_ == kMost; }
  void* find(const char* name) const {
    void* found = nullptr;
    for (size_t i = 0; i < count_ && found == nullptr; ++i) {
      if (!modules_[i].holds(reinterpret_cast<uintptr_t>(us())))
        found = findExport(modules_[i], name);
    }
    return found;
  }

 private:
  static constexpr size_t kMost = 128;
  LoadedModule modules_[kMost];
  size_t count_;
};

/// The number of modules that the program started with: itself, preloaded libraries, and what these
/// are linked to. Constructors that ran earlier may have opened more modules, which come after
/// these.
uint32_t modulesOfStart() {
  LoadedModule program;
  anyModule([&](const LoadedModule& module) {
    program = module;
    return true;
  });
  const LinkedScope programs(program);
  if (programs.isFull()) return UINT32_MAX;
  uint32_t count = 0;
  uint32_t preloaded = 0;  // up to these: they precede the program's dependencies
  uint32_t last = 0;
  anyModule([&](const LoadedModule& module) {
    ++count;
    if (programs.has(module)) {
      last = count;
    } else if (last <= 1 || last == preloaded) {
      last = preloaded = count;
    }
    return false;
  });
  count = 0;
  anyModule([&](const LoadedModule& preload) {
    if (++count > preloaded) return true;
    if (count == 1) return false;
    const LinkedScope own(preload);
    uint32_t at = 0;
    anyModule([&](const LoadedModule& module) {
      ++at;
      if (own.has(module) && at > last) last = at;
      return false;
    });
    return false;
  });
  return last;
}

/// The number of modules that define OpenCL, except this one; `out` is the first.
uint32_t countOpenCl(LoadedModule& out) {
  uint32_t count = 0;
  anyModule([&](const LoadedModule& module) {
    if (module.holds(reinterpret_cast<uintptr_t>(us())) || !definesOpenCl(module)) return false;
    if (count++ == 0) out = module;
    return false;
  });
  return count;
}

/// The only OpenCL library: whatever the caller's scope is, it contains this library or none.
OpenClLibrary* onlyLibrary(const LoadedModule& caller, const LoadedModule& only) {
  const LinkedScope callers(caller);
  if (callers.has(only)) {
    return openClLibrary(only, [&](const char* name) { return callers.find(name); });
  }
  const LinkedScope own(only);
  return openClLibrary(only, [&](const char* name) { return own.find(name); });
}

/// One of several libraries: searches like the dynamic loader.
OpenClLibrary* libraryAsLoaderFinds(const LoadedModule& caller, const LoadedModule& first) {
  LoadedModule module;
  if (void* const f = nextInGlobalScope(kEveryLibraryHas); f != nullptr && findModule(f, module)) {
    return openClLibrary(module, nextInGlobalScope);
  }
  const ModuleScope scope(caller);
  if (void* const f = scope.find(kEveryLibraryHas); f != nullptr && findModule(f, module)) {
    return openClLibrary(module, [&](const char* name) { return scope.find(name); });
  }
  // A dependency of a module that was loaded together with the caller.
  return openClLibrary(first, [&](const char* name) { return findExport(first, name); });
}

/// A library that defines only part of the API: found by the first function that the caller would
/// find by name. Drivers define only the two extension functions; those do not make a library.
template <class Find>
OpenClLibrary* partialLibrary(const Find& find) {
  static const char* const kNames[] = {
#define TS_X(function, ...) #function,
      TS_OPENCL_API(TS_X) TS_OPENCL_RECORDER_ONLY(TS_X)
#undef TS_X
  };
  for (const char* const name : kNames) {
    LoadedModule module;
    if (void* const f = find(name); f != nullptr && findModule(f, module)) {
      return openClLibrary(module, find);
    }
  }
  return nullptr;
}

/// nullptr if there is none (yet).
OpenClLibrary* libraryOfCaller(const LoadedModule& caller) {
  LoadedModule module;
  if (void* const f = nextOfFirstModules(kEveryLibraryHas); f != nullptr && findModule(f, module)) {
    return openClLibrary(module, nextOfFirstModules);
  }
  if (OpenClLibrary* const partial = partialLibrary(nextOfFirstModules)) return partial;
  const uint32_t count = countOpenCl(module);
  if (count == 0) {
    const LinkedScope scope(caller);
    return partialLibrary([&](const char* name) { return scope.find(name); });
  }
  if (count == 1) return onlyLibrary(caller, module);
  OpenClLibrary* const found = libraryAsLoaderFinds(caller, module);
  (void)dlerror();  // the program must not see errors of these lookups
  return found;
}

// --- who calls, and where its calls go --------------------------------------------------------

/// Never changed or freed, because a thread may still read a Caller that is not in any list any
/// more.
struct Caller {
  CallerRange range;    // must be first: see isGone()
  const void* dynamic;  // of the module, to distinguish it from a later one at its place
};
constexpr uint32_t kMostCallers = 256;
std::atomic<const CallerRange*> g_callers[kMostCallers];
Caller g_first_callers[kMostCallers];
std::atomic<uint32_t> g_callers_made{0};
// A limit, so that a program that keeps loading modules does not grow for ever. Later callers are
// looked up at each call.
constexpr uint32_t kMostCallersEver = 65536;

/// nullptr: the limit is reached.
Caller* newCaller() {
  const uint32_t number = g_callers_made.load();
  if (number >= kMostCallersEver) return nullptr;
  const uint32_t mine = g_callers_made.fetch_add(1);
  if (mine < kMostCallers) return &g_first_callers[mine];
  return static_cast<Caller*>(calloc(1, sizeof(Caller)));
}

const CallerRange* findRange(uintptr_t caller) {
  for (const auto& place : g_callers) {
    const CallerRange* const range = place.load(std::memory_order_acquire);
    if (range != nullptr && caller - range->begin < range->size) return range;
  }
  return nullptr;
}

void setFirstCaller(const CallerRange* range) {
  __atomic_store_n(&tracesmith_first_caller, range, __ATOMIC_RELEASE);
}

void keepRange(const LoadedModule& caller, const cl_icd_dispatch* entries) {
  Caller* const kept = newCaller();
  if (kept == nullptr) return;
  *kept = {{caller.begin, caller.end - caller.begin, entries}, caller.dynamic};
  if (__atomic_load_n(&tracesmith_first_caller, __ATOMIC_ACQUIRE) == &kNobody) {
    setFirstCaller(&kept->range);
  }
  for (auto& place : g_callers) {
    const CallerRange* expected = nullptr;
    if (place.compare_exchange_strong(expected, &kept->range)) return;
  }
  g_callers[caller.begin / 4096 % kMostCallers].store(&kept->range);
}

bool isGone(const CallerRange& range) {
  LoadedModule module;
  return !findModule(reinterpret_cast<const void*>(range.begin), module) ||
         module.begin != range.begin ||
         module.dynamic != reinterpret_cast<const Caller*>(&range)->dynamic;
}

/// After dlclose(): code of another module may be loaded at the address of a former caller.
void forgetUnloadedCallers() {
  const CallerRange* const first = __atomic_load_n(&tracesmith_first_caller, __ATOMIC_ACQUIRE);
  if (first != &kNobody && isGone(*first)) setFirstCaller(&kNobody);
  for (auto& place : g_callers) {
    const CallerRange* range = place.load(std::memory_order_acquire);
    if (range != nullptr && isGone(*range)) place.compare_exchange_strong(range, nullptr);
  }
}

uintptr_t entryOffset(const char* name) {
  static const struct {
    const char* name;
    uint16_t offset;
  } kEntries[] = {
#define TS_X(function, ...) {#function, offsetof(cl_icd_dispatch, function)},
      TS_OPENCL_PRELOADED(TS_X)
#undef TS_X
  };
  for (const auto& entry : kEntries) {
    if (strcmp(entry.name, name) == 0) return entry.offset;
  }
  return UINTPTR_MAX;
}

/// The symbol that the program gets for `found`, the result of the real dlsym() in some library.
void* shownFor(void* found, uintptr_t offset) {
  LoadedModule module;
  if (!findModule(found, module) || !definesOpenCl(module)) return found;
  OpenClLibrary* const library =
      openClLibrary(module, [&](const char* n) { return findExport(module, n); });
  if (library == nullptr) return found;
  void* own = nullptr;
  memcpy(&own, reinterpret_cast<const char*>(&library->own) + offset, sizeof own);
  if (own != found) return found;  // another version of the function than the default
  void* shown = nullptr;
  memcpy(&shown, reinterpret_cast<const char*>(&library->symbols) + offset, sizeof shown);
  return shown;
}

__attribute__((constructor)) void enterByPreload() {
  tracesmith_find_dlsym();
  prepareLibraries();
  g_first_modules.store(modulesOfStart());
  // If this library was loaded only as a layer, nothing but the loader precedes it.
  if (findExportAfter(us(), "dlsym") == nullptr) return;
  noteCallsByName();
  // A driver in front makes no calls to this library; other modules there may pass calls on to it.
  LoadedModule in_front;
  if (findOpenClInFront(in_front) && isOpenClDriver(in_front) && enter()) {
    reportUnwrappedLoader(in_front, tracesmith::arena::UnwrappedLoader::kInFront);
  }
  if (!isLayerToo() && nextInGlobalScope(kEveryLibraryHas) != nullptr) enter();
  (void)dlerror();  // the program starts without an error
}

__attribute__((destructor)) void leaveByPreload() {
  LoadedModule in_front;
  if (!findOpenClInFront(in_front) || findRange(in_front.begin) != nullptr) return;
  reportUnwrappedLoader(in_front, tracesmith::arena::UnwrappedLoader::kInFront);
}

}  // namespace

// A sanitizer looks up functions before its interceptors can be called. It intercepts
// dl_iterate_phdr(), for example, but not dlvsym(). Other C libraries lack dlvsym().
void tracesmith_find_dlsym() {
  void* found = nullptr;
  if (dlvsym != nullptr) {
    for (const char* const version : {"GLIBC_2.34", kFirstVersion}) {
      if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", version);
    }
  }
  if (found == nullptr) found = findExportAfter(us(), "dlsym");
  if (found == nullptr) {
    anyModule([&](const LoadedModule& module) {
      if (!module.holds(reinterpret_cast<uintptr_t>(us()))) found = findExport(module, "dlsym");
      return found != nullptr;
    });
  }
  __atomic_store_n(&tracesmith_real_dlsym,
                   found == nullptr ? findsNothing : reinterpret_cast<RealDlsym>(found),
                   __ATOMIC_RELEASE);
}

const cl_icd_dispatch* tracesmith_entries_for(const void* caller) {
  if (const CallerRange* const range = findRange(reinterpret_cast<uintptr_t>(caller))) {
    return range->entries;
  }
  LoadedModule from;
  const bool known = findModule(caller, from);
  OpenClLibrary* const library = libraryOfCaller(from);
  if (library == nullptr) return &kRefusals;
  // Calls by name from an OpenCL library are its internal calls, unless it passes on calls of the
  // program.
  const bool inner = known && definesOpenCl(from) && !comesBeforeUs(from);
  const cl_icd_dispatch* const entries = inner ? &library->own : &library->entries;
  if (known) keepRange(from, entries);
  return entries;
}

SymbolAnswer tracesmith_opencl_symbol(void* handle, const char* name, const void* caller) {
  constexpr SymbolAnswer kAskTheRealOne{nullptr, 0};
  const uintptr_t offset = entryOffset(name);
  if (offset == UINTPTR_MAX) return kAskTheRealOne;
  LoadedModule from;
  const bool known = findModule(caller, from);
  // Loaders look up functions of their drivers; the agent looks up functions of the library after
  // it.
  if (known && (definesOpenCl(from) || isOurs(caller))) return kAskTheRealOne;
  if (handle == RTLD_NEXT) {
    // Without the agent, modules before it would find nothing.
    if (known && comesBeforeUs(from) && nextInGlobalScope(name) == nullptr) return {nullptr, 1};
    return kAskTheRealOne;
  }
  void* found = realDlsym(handle, name);
  if (found == nullptr && handle != RTLD_DEFAULT) return {nullptr, 1};
  if (found != nullptr && isOurs(found)) {
    if (nextInGlobalScope(name) != nullptr) return {found, 1};
    found = nullptr;
  }
  if (found == nullptr && handle == RTLD_DEFAULT && known) {
    const ModuleScope scope(from);
    found = scope.find(name);
  }
  if (found == nullptr) {
    // Look it up again, so that dlerror() reports this lookup.
    (void)nextInGlobalScope(name);
    return {nullptr, 1};
  }
  return {shownFor(found, offset), 1};
}

extern "C" {

__attribute__((visibility("default"))) int dlclose(void* handle) {
  RealDlclose real = g_real_dlclose.load(std::memory_order_relaxed);
  if (real == nullptr) {
    real = reinterpret_cast<RealDlclose>(realDlsym(RTLD_NEXT, "dlclose"));
    g_real_dlclose.store(real, std::memory_order_relaxed);
  }
  if (real == nullptr) return -1;
  keepCalledLibraries();
  const int result = real(handle);
  forgetUnloadedCallers();
  return result;
}

}  // extern "C"
