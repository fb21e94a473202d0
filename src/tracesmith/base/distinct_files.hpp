// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Fails with kInvalidArgument where two of the paths lead to one file, however they are spelled;
/// with the error of stat() where one leads to none.
Status areDistinctFiles(std::span<const std::string> paths);

}  // namespace tracesmith
