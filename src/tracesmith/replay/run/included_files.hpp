// SPDX-License-Identifier: Apache-2.0
// Recreates the files that a recorded build included, below a scratch folder. An absolute path P is
// stored at FOLDER/P, so that relative includes between files still resolve.
#pragma once

#include <string>
#include <string_view>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Writes a file whose recorded path is `path`. Writes nothing outside of `root`, whatever the path
/// contains.
Status layOutIncludedFile(const std::string& root, std::string_view path, ByteView content);

/// Returns `options` with their -I folders moved below `root`. Relative ones are resolved against
/// `folder`, whose own -I is appended. Everything else is unchanged.
std::string optionsBelow(const std::string& root, std::string_view folder,
                         std::string_view options);

}  // namespace tracesmith
