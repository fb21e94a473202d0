// SPDX-License-Identifier: Apache-2.0
// What another tool's trace draws as a process without it being one: PyTorch's "Spans" and
// "Traces", the tracks of each GPU, XLA's planes. They are rows of `process`, so that the trace can
// be given back as it was, with a bit of their own, so that nobody counts them.
#pragma once

#include <cstdint>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

namespace process_flags {
constexpr uint32_t kTrackGroup = 64;  ///< the next one after kRoot
}

/// `process` is the row's index.
inline bool isTrackGroup(const Trace& trace, size_t process) {
  return (trace.process.flags[process] & process_flags::kTrackGroup) != 0;
}

}  // namespace tracesmith
