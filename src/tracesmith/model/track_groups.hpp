// SPDX-License-Identifier: Apache-2.0
// Groups of tracks that another tool's trace shows as a process although it is none: PyTorch's
// "Spans" and "Traces", the tracks of each GPU, XLA's planes. They are rows of `process`, so that
// the trace can be exported unchanged. A flag marks them, so that they are not counted as
// processes.
#pragma once

#include <cstdint>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

namespace process_flags {
constexpr uint32_t kTrackGroup = 64;  ///< the next bit after kRoot
}

/// `process` is the row's index.
inline bool isTrackGroup(const Trace& trace, size_t process) {
  return (trace.process.flags[process] & process_flags::kTrackGroup) != 0;
}

}  // namespace tracesmith
