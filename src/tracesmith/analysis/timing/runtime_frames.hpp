// SPDX-License-Identifier: Apache-2.0
// Frames that stand on a stack because of how the program runs, not because of what it does:
// libffi's trampolines, the interpreter's C functions between Python functions, the dynamic loader.
#pragma once

#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// `trace.call_path` as people want to see it: the same ids lead to stacks without such frames.
/// - libffi, _ctypes, _cffi_backend and the dynamic loader are left out wherever they are;
/// - the interpreter and what started it, where the stack has Python functions that it ran;
/// - a stack of nothing else keeps its innermost frame;
/// - paths that are now the same stack are equal rows: samePaths().
/// The trace itself keeps all frames; give the result to framesOf(), or put it in a copy.
CallPathTable withoutRuntimeFrames(const Trace& trace);

/// Whether a frame's module is one of those above: 'libffi.so.8', '/usr/bin/python3.11'.
bool isTrampolineModule(std::string_view path);
bool isInterpreterModule(std::string_view path);

/// Of each path the first one that is the same stack, by index.
std::vector<CallPathId> samePaths(const CallPathTable& paths);

}  // namespace tracesmith
