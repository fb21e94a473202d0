// SPDX-License-Identifier: Apache-2.0
// Names of C++ functions as people write them, from the symbols of files that nobody vouches for. A
// symbol of 200 bytes can stand for a name of gigabytes (each reference doubles what is before it),
// and the runtime's demangler prints all of it; so those that could are tried in a child process,
// which has little time and whose end costs nothing but the name.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tracesmith {

/// One for each of `symbols`; the symbol itself where it is no mangled name, or cannot be had.
std::vector<std::string> demangled(std::span<const std::string> symbols);

}  // namespace tracesmith
