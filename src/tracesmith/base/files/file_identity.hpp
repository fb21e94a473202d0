// SPDX-License-Identifier: Apache-2.0
// Which file a path leads to, whatever it is called.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace tracesmith {

struct FileIdentity {
  uint64_t device = 0;
  uint64_t file = 0;  ///< the inode; on Windows the file's index
  auto operator<=>(const FileIdentity&) const = default;
};

/// Follows links. nullopt: there is no such file, or it cannot be examined (errno says why).
std::optional<FileIdentity> identityOf(const std::string& path);

/// Whether two names lead to the same existing file.
bool sameFile(const std::string& a, const std::string& b);

}  // namespace tracesmith
