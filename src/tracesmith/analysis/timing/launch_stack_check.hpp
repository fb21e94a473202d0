// SPDX-License-Identifier: Apache-2.0
// Whether each launch of a trace has the host call stack that it was launched through: for programs
// that know it, such as examples/benchmark_10k_stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// The stacks that a program says it launched through.
struct ExpectedStacks {
  std::vector<std::vector<std::string>> paths;  ///< names of functions, innermost first
  std::vector<uint32_t> launches;               ///< the path of each launch, in their order
};

/// Lines "path NUMBER NAME..." and "launch NUMBER"; kInvalidArgument for anything else.
Result<ExpectedStacks> readExpectedStacks(const std::string& path);

struct LaunchStackCheck {
  uint64_t launches = 0;    ///< kernels of the trace that were expected
  uint64_t with_stack = 0;  ///< of those: have any
  uint64_t equal = 0;       ///< of those: are what was expected, all frames
  uint64_t frames = 0;      ///< of all of them together
  std::string first_wrong;  ///< what was found instead, of the first that is not; "" for none
};

/// Kernels in the order of their correlation ids, the last `launches.size()` of them. A stack is
/// equal when its functions from the innermost one of the program (libraries that it calls left
/// out) are the expected ones, it is whole, and what called the last of them is the same for all.
LaunchStackCheck checkLaunchStacks(const Trace& trace, const ExpectedStacks& expected);

}  // namespace tracesmith
