// SPDX-License-Identifier: Apache-2.0
// Extracts one kernel and everything it uses from the source of a program.
#pragma once

#include <string>
#include <string_view>

namespace tracesmith {

/// Returns the functions of OpenCL C `source` that `kernel` may reach, and everything outside of
/// functions: declarations and preprocessor lines. Removes comments. Returns the whole source if
/// the functions cannot be determined: when a macro defines the kernel, or braces do not match.
std::string kernelText(std::string_view source, std::string_view kernel);

}  // namespace tracesmith
