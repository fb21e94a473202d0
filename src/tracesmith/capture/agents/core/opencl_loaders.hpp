// SPDX-License-Identifier: Apache-2.0
// The OpenCL loaders of a process that an agent stands above, each with the functions that it gave
// us. Most processes have one. A second comes with a module that brings its own (pyopencl).
//
// A wrapper serves all loaders. It calls the functions below it as next().clFinish(queue), and
// next() is the table of the loader that the thread called us through:
//
//   all        the program calls Through::enter, which sets next() for the call
//   loader 0   the wrapper calls the loader's function
//   others     the wrapper calls Through::leave, which puts next() back while the loader runs
//
// For the first loader next() is right already, so its calls pay for one comparison. A callback of
// the program that runs within a call, and calls OpenCL itself, finds the thread as any other
// caller does. A signal handler may leave a call of another loader by siglongjmp(), or call the
// first loader itself: then next() is another's, which the comparison shows.
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
  /// What an agent gives to clSetEventCallback(): its own for each loader, for the driver calls it
  /// on threads that have come through none.
  void(CL_CALLBACK* on_complete)(cl_event, cl_int, void*);
};

/// What wrappers call, by loader.
extern NextFunctions g_next[kMostLoaders];
/// The loaders' own functions.
extern cl_icd_dispatch g_below[kMostLoaders];
extern constinit thread_local const NextFunctions* t_next
    __attribute__((tls_model("initial-exec")));

/// The functions of the loader that this thread was called through; else those of the first. [hot]
inline const NextFunctions& next() { return *t_next; }

/// next() is that of `loader` while this lives.
class UsingLoader {
 public:
  explicit UsingLoader(uint32_t loader) : before_(t_next) { t_next = &g_next[loader]; }
  ~UsingLoader() { t_next = before_; }
  UsingLoader(const UsingLoader&) = delete;
  UsingLoader& operator=(const UsingLoader&) = delete;

 private:
  const NextFunctions* before_;
};

/// What a function answers that is in no library: CL_INVALID_OPERATION, or nothing.
template <class R>
R refusal() {
  if constexpr (std::is_same_v<R, cl_int>) {
    return CL_INVALID_OPERATION;
  } else {
    return R();
  }
}

/// The same, said where the caller asks for it: the last argument of what makes something.
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
  // Not inlined: both calls above are jumps then.
  template <auto kWrapper>
  [[gnu::noinline]] static R enterFromAnother(A... arguments) {
    const UsingLoader its(kLoader);
    return kWrapper(arguments...);
  }
  static R leave(A... arguments) {
    const UsingLoader usual(0);
    return (g_below[kLoader].*kEntry)(arguments...);
  }
  static R refuse(A... arguments) { return refuseCall<R>(arguments...); }
};

/// Takes the place of a loader whose functions are `below` (`count` entries; the others are empty).
/// `module` is where the loader lies: one that is there already with the same functions keeps its
/// number, and one that the program has unloaded makes room. kNoLoader: there are too many.
/// On one thread at a time for the whole agent (see LoaderLock).
uint32_t addLoader(const void* module, const cl_icd_dispatch* below, size_t count);

/// Held while a loader is added and its tables are filled.
class LoaderLock {
 public:
  LoaderLock();
  ~LoaderLock();
  LoaderLock(const LoaderLock&) = delete;
  LoaderLock& operator=(const LoaderLock&) = delete;
};

/// Puts the wrapper of an entry into `shown`, the table that the program gets, and what the wrapper
/// calls into next(). An entry that the loader does not have stays empty.
template <uint32_t kLoader, auto kEntry, auto kWrapper>
void wrapEntry(cl_icd_dispatch& shown) {
  if (g_below[kLoader].*kEntry == nullptr) return;
  shown.*kEntry = Through<kLoader, kEntry>::template enter<kWrapper>;
  if constexpr (kLoader != 0) g_next[kLoader].*kEntry = Through<kLoader, kEntry>::leave;
}

/// Of a function that wrappers call on their own account: one that the loader does not have
/// refuses.
template <uint32_t kLoader, auto kEntry>
void callEntry() {
  if (g_below[kLoader].*kEntry == nullptr) {
    g_next[kLoader].*kEntry = Through<kLoader, kEntry>::refuse;
  } else if constexpr (kLoader != 0) {
    g_next[kLoader].*kEntry = Through<kLoader, kEntry>::leave;
  }
}

}  // namespace tracesmith::agent
