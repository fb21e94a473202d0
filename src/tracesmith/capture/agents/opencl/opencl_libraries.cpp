// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl/opencl_libraries.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <atomic>

#include "tracesmith/capture/agents/core/no_cancel.hpp"
#include "tracesmith/capture/agents/opencl/agent_loaders.hpp"
#include "tracesmith/capture/agents/opencl/layer_variable.hpp"
#include "tracesmith/capture/agents/opencl/unwrapped_loaders.hpp"
#include "tracesmith/capture/protocol/channel_layout.hpp"

namespace tracesmith::agent {
namespace {

// Constant-initialised: linked libraries may call OpenCL before any constructor of this one runs.
constinit OpenClLibrary g_libraries[kMostLibraries]{};
enum class Stage : uint32_t { kFree, kUndecided, kDeciding, kDecided };
std::atomic<Stage> g_stages[kMostLibraries];
std::atomic<bool> g_kept[kMostLibraries];  // kept loaded, whatever the program closes
std::atomic<OpenClLibrary*> g_passed_through{nullptr};
pthread_mutex_t g_adding = PTHREAD_MUTEX_INITIALIZER;
constinit thread_local bool t_deciding __attribute__((tls_model("initial-exec"))) = false;
bool g_is_layer_too = false;
pfn_clInitLayer g_recorder = nullptr;  // the recorder's layer, above the agent

void decide(uint32_t number);

template <auto kEntry, class Function = EntryFunction<kEntry>>
struct Call;

template <auto kEntry, class R, class... A>
struct Call<kEntry, R (*)(A...)> {
  static R refuse(A... arguments) { return refuseCall<R>(arguments...); }
  template <uint32_t kLibrary>
  static R jump(A... arguments) {
    return (g_libraries[kLibrary].entries.*kEntry)(arguments...);
  }
  template <uint32_t kLibrary>
  static R first(A... arguments) {
    decide(kLibrary);
    const OpenClLibrary& its = g_libraries[kLibrary];
    const auto entry = its.entries.*kEntry;
    return (entry == first<kLibrary> ? its.own.*kEntry : entry)(arguments...);
  }
};

constexpr cl_icd_dispatch makeRefusals() {
  cl_icd_dispatch all{};
#define TS_X(function, ...) all.function = Call<&cl_icd_dispatch::function>::refuse;
  TS_OPENCL_PRELOADED(TS_X)
#undef TS_X
  return all;
}

template <uint32_t kLibrary>
void resetEntries() {
  OpenClLibrary& its = g_libraries[kLibrary];
  its.entries = its.own;
  its.symbols = its.own;
#define TS_X(function, ...)                                                          \
  its.entries.function = Call<&cl_icd_dispatch::function>::template first<kLibrary>; \
  its.symbols.function = Call<&cl_icd_dispatch::function>::template jump<kLibrary>;
  TS_OPENCL_PRELOADED(TS_X)
#undef TS_X
}
constexpr void (*kBeUndecided[])() = {resetEntries<0>, resetEntries<1>, resetEntries<2>,
                                      resetEntries<3>, resetEntries<4>, resetEntries<5>};
static_assert(sizeof kBeUndecided / sizeof kBeUndecided[0] == kMostLibraries);

/// Replaces the entries by a table that may lack functions, while other threads call through them.
void setEntries(OpenClLibrary& its, const cl_icd_dispatch& table) {
#define TS_X(function, ...)                                                       \
  __atomic_store_n(&its.entries.function,                                         \
                   table.function != nullptr ? table.function : its.own.function, \
                   __ATOMIC_RELEASE);
  TS_OPENCL_PRELOADED(TS_X)
#undef TS_X
}

/// At the first call: the program uses the library, so the agent may now call the loader.
void chooseEntries(OpenClLibrary& its, NoHandlers& uninterrupted) {
  prepareLibraries();
  // It may have been closed and loaded again at the same place: then its path is another string.
  LoadedModule now;
  if (findModule(reinterpret_cast<const void*>(its.module.begin), now)) its.module.path = now.path;
  if (g_is_layer_too) {
    // Loads the layers, if the program has not caused that yet.
    cl_uint count = 0;
    uninterrupted.lift([&] {
      if (its.own.clGetPlatformIDs != nullptr) its.own.clGetPlatformIDs(0, nullptr, &count);
    });
    if (isLayerOf(its.module)) return setEntries(its, its.own);
  }
  constexpr cl_uint kAll = sizeof its.own / sizeof(void*);
  cl_icd_dispatch below = its.own;
  // A wrapper must see null for a missing function.
#define TS_X(function, ...) \
  if (below.function == kRefusals.function) below.function = nullptr;
  TS_OPENCL_PRELOADED(TS_X)
#undef TS_X
  const cl_icd_dispatch* table = addTracedLoader(its.module, &below, kAll);
  if (g_recorder != nullptr) {
    const cl_icd_dispatch* above = nullptr;
    cl_uint entries = kAll;
    const cl_icd_dispatch* const target = table != nullptr ? table : &below;
    if (g_recorder(kAll, target, &entries, &above) == CL_SUCCESS && above != nullptr) table = above;
  }
  setEntries(its, table != nullptr ? *table : its.own);
}

void decide(uint32_t number) {
  std::atomic<Stage>& stage = g_stages[number];
  Stage expected = Stage::kUndecided;
  {
    // A call from a signal handler would pass by the agent, or wait for the call it interrupted.
    NoHandlers uninterrupted;
    if (stage.compare_exchange_strong(expected, Stage::kDeciding)) {
      t_deciding = true;
      chooseEntries(g_libraries[number], uninterrupted);
      t_deciding = false;
      stage.store(Stage::kDecided);
      return;
    }
  }
  // Calls that the loader itself makes meanwhile must not wait here. A thread that the loader waits
  // for, or a forked child, must not wait for ever.
  constexpr timespec kPause{0, 1'000'000};
  for (int i = 0; i < 2000 && !t_deciding && stage.load() == Stage::kDeciding; ++i) {
    clock_nanosleep(CLOCK_MONOTONIC, 0, &kPause, nullptr);
  }
  // A signal handler may have left the decision by siglongjmp(). Then wait for it once, and give
  // the program the library's own functions.
  expected = Stage::kDeciding;
  if (!t_deciding && stage.compare_exchange_strong(expected, Stage::kDecided)) {
    setEntries(g_libraries[number], g_libraries[number].own);
  }
}

bool isSame(const OpenClLibrary& its, const LoadedModule& module) {
  return its.module.begin == module.begin && its.module.end == module.end &&
         its.module.dynamic == module.dynamic;
}

bool isThere(const OpenClLibrary& its) {
  LoadedModule found;
  return findModule(reinterpret_cast<const void*>(its.module.begin), found) && isSame(its, found);
}

}  // namespace

constinit const cl_icd_dispatch kRefusals = makeRefusals();

void keepCalledLibraries() {
  for (uint32_t i = 0; i < kMostLibraries; ++i) {
    const Stage stage = g_stages[i].load();
    if (stage != Stage::kDeciding && stage != Stage::kDecided) continue;
    const char* const path = g_libraries[i].module.path;
    if (*path != 0 && !g_kept[i].exchange(true)) (void)dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  }
}

bool isLayerToo() { return g_is_layer_too; }

OpenClLibrary* knownLibrary(const LoadedModule& module) {
  for (uint32_t i = 0; i < kMostLibraries; ++i) {
    if (g_stages[i].load() != Stage::kFree && isSame(g_libraries[i], module))
      return &g_libraries[i];
  }
  OpenClLibrary* one = g_passed_through.load();
  while (one != nullptr && !isSame(*one, module)) one = one->next;
  return one;
}

namespace {

/// For a library beyond the list's maximum: the program gets the library's own functions.
OpenClLibrary* passThrough(const LoadedModule& module, const cl_icd_dispatch& own) {
  auto* const one = static_cast<OpenClLibrary*>(calloc(1, sizeof(OpenClLibrary)));
  if (one == nullptr) return nullptr;
  *one = {module, own, own, own, g_passed_through.load()};
  g_passed_through.store(one);
  return one;
}

}  // namespace

OpenClLibrary* addLibrary(const LoadedModule& module, const cl_icd_dispatch& own) {
  const NoHandlers uninterrupted;  // a handler may call OpenCL and need the mutex
  pthread_mutex_lock(&g_adding);
  if (OpenClLibrary* const known = knownLibrary(module)) {
    pthread_mutex_unlock(&g_adding);
    return known;
  }
  uint32_t number = kMostLibraries;
  // A library that was called stays loaded. One that was never called and is gone cannot be called.
  for (uint32_t i = 0; i < kMostLibraries && number == kMostLibraries; ++i) {
    const Stage stage = g_stages[i].load();
    const bool gone = stage == Stage::kUndecided && !isThere(g_libraries[i]);
    if (stage == Stage::kFree || gone) number = i;
  }
  if (number < kMostLibraries) {
    g_libraries[number].module = module;
    g_libraries[number].own = own;
    kBeUndecided[number]();
    g_stages[number].store(Stage::kUndecided);
  }
  OpenClLibrary* const added =
      number < kMostLibraries ? &g_libraries[number] : passThrough(module, own);
  pthread_mutex_unlock(&g_adding);
  if (number < kMostLibraries) return added;
  reportUnwrappedLoader(module, arena::UnwrappedLoader::kTooMany);
  return added;
}

/// Whether one of the colon-separated paths leads to the file at `path`. LD_PRELOAD and
/// OPENCL_LAYERS may name one file by two paths.
static bool namesFile(const char* paths, const char* path) {
  struct stat ours;
  if (stat(path, &ours) != 0) return false;
  for (const char* at = paths; *at != 0;) {
    const size_t bytes = strcspn(at, ":");
    char one[4096];
    struct stat its;
    if (bytes < sizeof one) {
      memcpy(one, at, bytes);
      one[bytes] = 0;
      if (stat(one, &its) == 0 && its.st_dev == ours.st_dev && its.st_ino == ours.st_ino) {
        return true;
      }
    }
    at += bytes + (at[bytes] == ':' ? 1 : 0);
  }
  return false;
}

static void readEnvironment() {
  LoadedModule us;
  const bool known = findModule(reinterpret_cast<const void*>(&prepareLibraries), us);
  const char* const layers = getenv("OPENCL_LAYERS");
  g_is_layer_too = known && layers != nullptr && namesFile(layers, us.path);
  const char* const recorder = getenv(channel::kEnvLibrary);
  if (recorder == nullptr) return;
  void* const library = dlopen(recorder, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  g_recorder = reinterpret_cast<pfn_clInitLayer>(dlsym(library, "clInitLayer"));
}

void prepareLibraries() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, readEnvironment);
}

}  // namespace tracesmith::agent
