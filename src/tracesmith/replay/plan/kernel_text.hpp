// SPDX-License-Identifier: Apache-2.0
// What a kernel consists of, of the source of a program with many.
#pragma once

#include <string>
#include <string_view>

namespace tracesmith {

/// The functions of OpenCL C `source` that `kernel` may reach, and all that belongs to no function:
/// declarations, and the lines of the preprocessor. Comments are left out. The whole source where
/// that cannot be told: when the kernel is made by a macro, or braces do not close.
std::string kernelText(std::string_view source, std::string_view kernel);

}  // namespace tracesmith
