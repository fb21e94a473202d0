// SPDX-License-Identifier: Apache-2.0
// Removes stack frames that exist because of how the program runs, not because of what it does:
// libffi's trampolines, the interpreter's C functions between Python functions, the dynamic loader.
#pragma once

#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Returns `trace.call_path` for display: the same ids lead to stacks without such frames.
/// - libffi, _ctypes, _cffi_backend and the dynamic loader are always removed.
/// - The interpreter and its callers are removed if the stack has Python functions that it ran.
/// - A stack consisting only of such frames keeps its innermost one.
/// - Paths that now show the same stack are equal rows: samePaths(). The trace itself keeps all
///   frames; give the result to framesOf(), or put it in a copy.
CallPathTable withoutRuntimeFrames(const Trace& trace);

/// The module of Python's functions, which have a file and a line instead of an address.
constexpr std::string_view kPythonModule = "Python";

/// Whether a module is one of those above: 'libffi.so.8', '/usr/bin/python3.11'.
bool isTrampolineModule(std::string_view path);
bool isInterpreterModule(std::string_view path);

/// For each path: the first path with the same stack, by index.
std::vector<CallPathId> samePaths(const CallPathTable& paths);

}  // namespace tracesmith
