// SPDX-License-Identifier: Apache-2.0
// The files that a recorded build included, laid out again below a folder of ours: a whole path P
// lies at FOLDER/P, so that names which lead from one file to another mean the same.
#pragma once

#include <string>
#include <string_view>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Writes a file that lay at `path`. Nothing is written outside of `root`, whatever the path says.
Status layOutIncludedFile(const std::string& root, std::string_view path, ByteView content);

/// `options` with their -I folders below `root`, and at their end `folder` itself, which relative
/// ones are about. All else stays as it is.
std::string optionsBelow(const std::string& root, std::string_view folder,
                         std::string_view options);

}  // namespace tracesmith
