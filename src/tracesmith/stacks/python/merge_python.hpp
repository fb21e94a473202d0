// SPDX-License-Identifier: Apache-2.0
// Merges a native stack and the Python frames that ran on it into one stack. The interpreter's C
// function that runs Python code is replaced by the Python frames that it ran.
//
//   native: launch < PyCFunction < eval < vectorcall < eval < main      (innermost first)
//   Python:          a < b(entry) < c(entry)
//   merged: launch < PyCFunction < a < b < vectorcall < c < main
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tracesmith/stacks/python/python_runtime.hpp"

namespace tracesmith::stacks {

enum class NativeFrameKind : uint8_t {
  kOther,
  kEval,      // the function that runs Python code
  kEvalPart,  // called by kEval and counted as part of it (interpreters using tail calls)
};

struct MergedStack {
  std::vector<uint64_t> frames;  // frame words, innermost first; a final word kCut is kept
  /// True when each native frame that runs Python had its run of Python frames, or when a cut
  /// explains those that are missing. Otherwise all Python frames come first, then all native ones.
  bool agrees = true;
  /// Some Python frames are missing; the native frames that ran them are kept.
  bool python_cut = false;
};

/// Merges frame words, innermost first, each ending with a word kCut if that stack is cut.
/// `kind_of` classifies a native word.
MergedStack mergePython(std::span<const uint64_t> native, std::span<const uint64_t> python,
                        const std::function<NativeFrameKind(uint64_t)>& kind_of);

/// Classifies a native frame word by its address alone.
NativeFrameKind kindByAddress(const PythonInterpreter& interpreter, uint64_t word);

}  // namespace tracesmith::stacks
