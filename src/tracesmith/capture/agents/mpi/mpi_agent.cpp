// SPDX-License-Identifier: Apache-2.0
// The preload library for MPI: it takes the place of the MPI_ functions, whose other name is PMPI_.
// In a program that calls no MPI it does nothing.
//
// Arguments are passed on as words: on x86-64 and AArch64 each has a register or 8 bytes of the
// stack, whatever its type.
#include <stddef.h>

#include <atomic>
#include <utility>

#include "tracesmith/capture/agents/mpi/mpi_call.hpp"

namespace tracesmith::agent::mpi {
namespace {

constexpr int kErrorOther = 16;  // MPI_ERR_OTHER, 15 in MPICH: only if there is no MPI library

/// Set while a Fortran function runs, which may call the C function.
constinit thread_local bool t_in_fortran __attribute__((tls_model("initial-exec"))) = false;

template <size_t N>
int call(void* function, const Word* a) {
  if constexpr (N == 0) {
    return reinterpret_cast<int (*)()>(function)();
  } else {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return reinterpret_cast<int (*)(decltype((void)I, Word{})...)>(function)(a[I]...);
    }
    (std::make_index_sequence<N>());
  }
}

/// The function that the program would have reached: another tool's that takes its place, or the
/// library's. `name` is the second one, "PMPI_X" or "pmpi_x_"; the first lacks the P.
void* resolve(std::atomic<void*>& place, const char* name) {
  void* function = place.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = findFunction(name + 1);
    if (function == nullptr) function = findFunction(name);
    place.store(function, std::memory_order_relaxed);
  }
  return function;
}

template <MpiApi kApi, size_t N>
int inC(std::atomic<void*>& place, const char* name, Word* arguments) {
  void* const function = resolve(place, name);
  if (function == nullptr) return kErrorOther;
  if (t_in_fortran || !isArmed()) return call<N>(function, arguments);
  Call recorded(kApi, Language::kC, arguments);
  const int result = call<N>(function, arguments);
  recorded.end(result);
  return result;
}

/// The last argument of a Fortran function is the error, which may be missing in the binding of
/// Fortran 2008. Lengths of texts follow it.
constexpr size_t kLengths = 3;

template <MpiApi kApi, size_t N>
void inFortran(std::atomic<void*>& place, const char* name, Word* arguments) {
  void* const function = resolve(place, name);
  if (function == nullptr) return;
  // MPICH's calls the C function, which records it.
  const bool records = !t_in_fortran && isArmed() && implementation() == Implementation::kOpenMpi;
  if (!records) {
    call<N + 1 + kLengths>(function, arguments);
    return;
  }
  Call recorded(kApi, Language::kFortran, arguments);
  int own_error = 0;
  if (arguments[N] == 0) arguments[N] = reinterpret_cast<Word>(&own_error);
  t_in_fortran = true;
  call<N + 1 + kLengths>(function, arguments);
  t_in_fortran = false;
  recorded.end(*reinterpret_cast<const int*>(arguments[N]));
}

}  // namespace
}  // namespace tracesmith::agent::mpi

// NOLINTBEGIN: names and forms are MPI's
#define TS_P0
#define TS_P1 Word a0
#define TS_P2 TS_P1, Word a1
#define TS_P3 TS_P2, Word a2
#define TS_P4 TS_P3, Word a3
#define TS_P5 TS_P4, Word a4
#define TS_P6 TS_P5, Word a5
#define TS_P7 TS_P6, Word a6
#define TS_P8 TS_P7, Word a7
#define TS_P9 TS_P8, Word a8
#define TS_P10 TS_P9, Word a9
#define TS_P11 TS_P10, Word a10
#define TS_P12 TS_P11, Word a11
#define TS_P13 TS_P12, Word a12
#define TS_P14 TS_P13, Word a13
#define TS_P15 TS_P14, Word a14
#define TS_P16 TS_P15, Word a15
#define TS_A0
#define TS_A1 a0
#define TS_A2 TS_A1, a1
#define TS_A3 TS_A2, a2
#define TS_A4 TS_A3, a3
#define TS_A5 TS_A4, a4
#define TS_A6 TS_A5, a5
#define TS_A7 TS_A6, a6
#define TS_A8 TS_A7, a7
#define TS_A9 TS_A8, a8
#define TS_A10 TS_A9, a9
#define TS_A11 TS_A10, a10
#define TS_A12 TS_A11, a11
#define TS_A13 TS_A12, a12
#define TS_A14 TS_A13, a13
#define TS_A15 TS_A14, a14
#define TS_A16 TS_A15, a15
// With the error and the lengths of texts.
#define TS_FORTRAN_0(f) f(4)
#define TS_FORTRAN_1(f) f(5)
#define TS_FORTRAN_2(f) f(6)
#define TS_FORTRAN_3(f) f(7)
#define TS_FORTRAN_4(f) f(8)
#define TS_FORTRAN_5(f) f(9)
#define TS_FORTRAN_6(f) f(10)
#define TS_FORTRAN_7(f) f(11)
#define TS_FORTRAN_8(f) f(12)
#define TS_FORTRAN_9(f) f(13)
#define TS_FORTRAN_10(f) f(14)
#define TS_FORTRAN_12(f) f(16)
#define TS_PARAMETERS(n) TS_P##n
#define TS_ARGUMENTS(n) TS_A##n

#define TS_EXPORT extern "C" __attribute__((visibility("default")))

using tracesmith::MpiApi;
using tracesmith::agent::mpi::Word;

#define TS_C(name, arguments)                                                                    \
  TS_EXPORT int MPI_##name(TS_P##arguments) {                                                    \
    static std::atomic<void*> place{nullptr};                                                    \
    Word words[arguments + 1] = {TS_A##arguments};                                               \
    return tracesmith::agent::mpi::inC<MpiApi::k##name, arguments>(place, "PMPI_" #name, words); \
  }
#define TS_FORTRAN(fortran, api, arguments, suffix)                                               \
  TS_EXPORT void mpi_##fortran##suffix(TS_FORTRAN_##arguments(TS_PARAMETERS)) {                   \
    static std::atomic<void*> place{nullptr};                                                     \
    Word words[] = {TS_FORTRAN_##arguments(TS_ARGUMENTS)};                                        \
    tracesmith::agent::mpi::inFortran<MpiApi::k##api, arguments>(place, "pmpi_" #fortran #suffix, \
                                                                 words);                          \
  }

#define TS_X(name, fortran, arguments, ...) \
  TS_C(name, arguments)                     \
  TS_FORTRAN(fortran, name, arguments, _)   \
  TS_FORTRAN(fortran, name, arguments, _f08_)
TS_MPI_MESSAGES(TS_X)
#undef TS_X
#define TS_X(name, fortran, arguments, ...) \
  TS_C(name, arguments)                     \
  TS_FORTRAN(fortran, name, arguments, _)   \
  TS_FORTRAN(fortran, name, arguments, _f08_)
TS_MPI_OTHERS(TS_X)
#undef TS_X

// Fortran has no argc and argv.
#define TS_X(name, fortran, arguments, ...) \
  TS_C(name, arguments)                     \
  TS_FORTRAN(fortran, name, 0, _)           \
  TS_FORTRAN(fortran, name, 0, _f08_)
TS_MPI_START(TS_X)
#undef TS_X
#define TS_X(name, fortran, arguments, ...) \
  TS_C(name, arguments)                     \
  TS_FORTRAN(fortran, name, 2, _)           \
  TS_FORTRAN(fortran, name, 2, _f08_)
TS_MPI_START_THREAD(TS_X)
#undef TS_X
// NOLINTEND
