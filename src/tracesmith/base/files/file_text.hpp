// SPDX-License-Identifier: Apache-2.0
// The content of a small file, such as those of /proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tracesmith {

/// The first `limit` bytes of a file; nullopt if it cannot be opened or read to that point. Unlike
/// std::istreambuf_iterator it does not throw when a read fails, as it does for a file of /proc
/// whose process ends after the file was opened.
std::optional<std::string> readFileText(const std::string& path, size_t limit = SIZE_MAX);
/// The same from the position of an open file, which stays open.
std::optional<std::string> readFileText(int fd, size_t limit = SIZE_MAX);

}  // namespace tracesmith
