// SPDX-License-Identifier: Apache-2.0
// A preloaded agent may be there before the library that it stands in front of: the program loads
// that later, with a module that is linked to it, and the module's calls come to the agent. Entries
// of the agent's table that could not be found hold a LateFunction, which looks again when it is
// called.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tracesmith::agent {

/// What a function of OpenCL answers that is in no library: CL_INVALID_OPERATION, or nothing.
template <class R>
R refusal() {
  if constexpr (std::is_same_v<R, int32_t>) {
    return -59;
  } else {
    return R();
  }
}

/// `kFind` puts what it finds into `kTable`, in place of this. May be called by any thread.
template <auto& kTable, auto kEntry, auto kFind,
          class Function = std::remove_reference_t<decltype(kTable.*kEntry)>>
struct LateFunction;

template <auto& kTable, auto kEntry, auto kFind, class R, class... A>
struct LateFunction<kTable, kEntry, kFind, R (*)(A...)> {
  static R call(A... arguments) {
    kFind();
    const auto found = kTable.*kEntry;
    return found == call ? refusal<R>() : found(arguments...);
  }
};

}  // namespace tracesmith::agent
