// SPDX-License-Identifier: Apache-2.0
// The OpenCL loaders in a process that an agent wraps, each with its own functions. Most processes
// have one loader. A second one comes with a module that bundles its own (pyopencl).
//
// One wrapper serves all loaders. It calls the functions below it as next().clFinish(queue). next()
// is the table of the loader through which the thread entered the agent:
//
//   all        the program calls Through::enter, which sets next() for the call
//   loader 0   the wrapper calls the loader's function
//   others     the wrapper calls Through::leave, which resets next() while the loader runs
//
// For the first loader next() is already right, so its calls pay for one comparison. A callback of
// the program that runs within a call and calls OpenCL itself sees the same next() as any other
// caller. A signal handler may leave a call of another loader by siglongjmp(), or call the first
// loader during such a call. Then next() is another loader's table, which the comparison detects.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stddef.h>
#include <stdint.h>

#include <tuple>
#include <type_traits>

namespace tracesmith::agent {

constexpr uint32_t kMostLoaders = 4;
constexpr uint32_t kNoLoader = kMostLoaders;

struct NextFunctions : cl_icd_dispatch {
  /// The callback that an agent passes to clSetEventCallback(). It differs per loader, because the
  /// driver calls it on threads that did not enter through any loader.
  void(CL_CALLBACK* on_complete)(cl_event, cl_int, void*);
};

/// The functions that wrappers call, by loader.
extern NextFunctions g_next[kMostLoaders];
/// The loaders' own functions.
extern cl_icd_dispatch g_below[kMostLoaders];
extern constinit thread_local const NextFunctions* t_next
    __attribute__((tls_model("initial-exec")));

/// The functions of the loader through which this thread was entered; otherwise those of the first.
/// [hot]
inline const NextFunctions& next() { return *t_next; }

/// Selects `loader` for next() during its lifetime.
class LoaderScope {
 public:
  explicit LoaderScope(uint32_t loader) : before_(t_next) { t_next = &g_next[loader]; }
  ~LoaderScope() { t_next = before_; }
  LoaderScope(const LoaderScope&) = delete;
  LoaderScope& operator=(const LoaderScope&) = delete;

 private:
  const NextFunctions* before_;
};

/// The return value of a function that no library has: CL_INVALID_OPERATION, or null.
template <class R>
R refusal() {
  if constexpr (std::is_same_v<R, cl_int>) {
    return CL_INVALID_OPERATION;
  } else {
    return R();
  }
}

/// As refusal(), and also sets the error argument that object-creating functions have last.
template <class R, class... A>
R refuseCall(A... arguments) {
  if constexpr (std::is_pointer_v<R> && sizeof...(A) > 0) {
    const std::tuple<A...> all(arguments...);
    constexpr size_t kLast = sizeof...(A) - 1;
    if constexpr (std::is_same_v<std::tuple_element_t<kLast, std::tuple<A...>>, cl_int*>) {
      if (std::get<kLast>(all) != nullptr) *std::get<kLast>(all) = CL_INVALID_OPERATION;
    }
  }
  return refusal<R>();
}

template <auto kEntry>
using EntryFunction = std::remove_reference_t<decltype(g_below[0].*kEntry)>;

template <uint32_t kLoader, auto kEntry, class Function = EntryFunction<kEntry>>
struct Through;

template <uint32_t kLoader, auto kEntry, class R, class... A>
struct Through<kLoader, kEntry, R (*)(A...)> {
  template <auto kWrapper>
  static R enter(A... arguments) {  // [hot]
    if constexpr (kLoader == 0) {
      if (__builtin_expect(t_next == &g_next[0], 1)) return kWrapper(arguments...);
    }
    return enterFromAnother<kWrapper>(arguments...);
  }
  // Not inlined, so that both calls above become jumps.
  template <auto kWrapper>
  [[gnu::noinline]] static R enterFromAnother(A... arguments) {
    const LoaderScope its(kLoader);
    return kWrapper(arguments...);
  }
  static R leave(A... arguments) {
    const LoaderScope usual(0);
    return (g_below[kLoader].*kEntry)(arguments...);
  }
  static R refuse(A... arguments) { return refuseCall<R>(arguments...); }
};

/// Assigns a number to a loader with the functions `below` (`count` entries; further ones are
/// empty). `module` is the loader's address: a known module with the same functions keeps its
/// number, and one that the program has unloaded frees its number. kNoLoader: too many loaders.
/// Call on one thread at a time for the whole agent (see LoaderLock).
uint32_t addLoader(const void* module, const cl_icd_dispatch* below, size_t count);

/// Held while a loader is added and its tables are filled.
class LoaderLock {
 public:
  LoaderLock();
  ~LoaderLock();
  LoaderLock(const LoaderLock&) = delete;
  LoaderLock& operator=(const LoaderLock&) = delete;
};

/// Puts the wrapper of an entry into `shown`, the program's function table, and the function that
/// the wrapper calls into next(). An entry that the loader does not have stays empty.
template <uint32_t kLoader, auto kEntry, auto kWrapper>
void wrapEntry(cl_icd_dispatch& shown) {
  if (g_below[kLoader].*kEntry == nullptr) return;
  shown.*kEntry = Through<kLoader, kEntry>::template enter<kWrapper>;
  if constexpr (kLoader != 0) g_next[kLoader].*kEntry = Through<kLoader, kEntry>::leave;
}

/// For a function that wrappers call on their own account: if the loader does not have it, calls of
/// it are refused.
template <uint32_t kLoader, auto kEntry>
void callEntry() {
  if (g_below[kLoader].*kEntry == nullptr) {
    g_next[kLoader].*kEntry = Through<kLoader, kEntry>::refuse;
  } else if constexpr (kLoader != 0) {
    g_next[kLoader].*kEntry = Through<kLoader, kEntry>::leave;
  }
}

}  // namespace tracesmith::agent
