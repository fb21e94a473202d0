// SPDX-License-Identifier: Apache-2.0
// What the program's call stacks cost: host time, device time that was asked for there, memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Of the calls with one stack.
struct CallPathCost {
  CallPathId path{};
  uint64_t calls = 0;
  int64_t host_ns = 0;    ///< in the calls themselves
  int64_t device_ns = 0;  ///< kernels, copies and fills that they asked for, each for itself
  uint64_t bytes = 0;     ///< that they allocated
};

/// Of every path that has a call, by number. Device work without a stack of its own takes that of
/// its host call: the one of its process and correlation id.
std::vector<CallPathCost> callPathCosts(const Trace& trace);

/// The frames of a path, outermost first; a path of a damaged trace that leads into itself ends.
std::vector<FrameId> framesOf(const CallPathTable& paths, CallPathId path);
inline std::vector<FrameId> framesOf(const Trace& trace, CallPathId path) {
  return framesOf(trace.call_path, path);
}

/// Of a function, wherever it is on a stack, inlined or not; counted once for each call.
struct FunctionCost {
  std::string name;
  uint64_t calls = 0;
  int64_t host_ns = 0;
  int64_t device_ns = 0;
  uint64_t bytes = 0;
};
std::vector<FunctionCost> functionCosts(const CallPathTable& paths,
                                        const std::vector<CallPathCost>& of_paths,
                                        const FrameSymbols& symbols);

}  // namespace tracesmith
