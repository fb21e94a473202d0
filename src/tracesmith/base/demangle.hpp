// SPDX-License-Identifier: Apache-2.0
// Demangles C++ function names from untrusted symbols. A symbol of 200 bytes can expand to
// gigabytes (each back reference doubles the text before it), and the runtime's demangler would
// print all of it. Symbols that could do so are demangled in a child process with a short time
// limit; if it fails, only the name is lost.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tracesmith {

/// One result per symbol; the symbol itself if it is not a mangled name or cannot be demangled.
std::vector<std::string> demangled(std::span<const std::string> symbols);

}  // namespace tracesmith
