// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Fails with kInvalidArgument if two of the paths lead to the same file, however they are spelled,
/// and with the error of stat() if a path leads to no file.
Status areDistinctFiles(std::span<const std::string> paths);

}  // namespace tracesmith
