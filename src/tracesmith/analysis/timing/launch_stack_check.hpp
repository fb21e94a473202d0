// SPDX-License-Identifier: Apache-2.0
// Checks that each launch of a trace has the host call stack through which it was made. For
// programs that know their stacks, such as examples/benchmark_10k_stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// The stacks through which a program states that it launched.
struct ExpectedStacks {
  std::vector<std::vector<std::string>> paths;  ///< function names, innermost first
  std::vector<uint32_t> launches;               ///< index of each launch's path, in launch order
};

/// Lines "path NUMBER NAME..." and "launch NUMBER"; kInvalidArgument for anything else.
Result<ExpectedStacks> readExpectedStacks(const std::string& path);

struct LaunchStackCheck {
  uint64_t launches = 0;    ///< expected kernels in the trace
  uint64_t with_stack = 0;  ///< of those, launches with a stack
  uint64_t equal = 0;       ///< of those, launches whose frames are all as expected
  uint64_t frames = 0;      ///< total number of frames
  std::string first_wrong;  ///< the stack of the first launch that is not as expected; "" for none
};

/// Checks the last `launches.size()` kernels in order of correlation id. A stack is equal if these
/// hold:
/// - Its functions, from the innermost one of the program (excluding libraries that it calls), are
///   the expected ones.
/// - It is complete.
/// - The caller of the last of them is the same for all.
LaunchStackCheck checkLaunchStacks(const Trace& trace, const ExpectedStacks& expected);

}  // namespace tracesmith
