// SPDX-License-Identifier: Apache-2.0
// One stack of a native one and the Python frames that ran on it: the interpreter's C function that
// runs Python code gives way to the Python frames that it ran.
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
  kEvalPart,  // called by it to do so, and nothing of its own (interpreters built of tail calls)
};

struct MergedStack {
  std::vector<uint64_t> frames;  // frame words, innermost first, a word kCut last where it was so
  /// There was one run of Python frames for each native frame that runs them, or what is missing is
  /// explained by a cut. If not, all Python frames come first, and then all native ones.
  bool agrees = true;
  /// Python frames are missing: the native frames that ran them are still there.
  bool python_cut = false;
};

/// Merges frame words, innermost first, each with a word kCut last where that stack is cut.
/// `kind_of` tells what a native word is.
MergedStack mergePython(std::span<const uint64_t> native, std::span<const uint64_t> python,
                        const std::function<NativeFrameKind(uint64_t)>& kind_of);

/// What a native frame word is by its address alone.
NativeFrameKind kindByAddress(const PythonInterpreter& interpreter, uint64_t word);

}  // namespace tracesmith::stacks
