// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/distinct_files.hpp"

#include <cerrno>
#include <map>
#include <optional>

#include "tracesmith/base/files/file_identity.hpp"

namespace tracesmith {

Status areDistinctFiles(std::span<const std::string> paths) {
  std::map<FileIdentity, std::string> seen;
  for (const std::string& path : paths) {
    const std::optional<FileIdentity> identity = identityOf(path);
    if (!identity) return failErrno(errno, "cannot be read", path);
    const auto [it, fresh] = seen.try_emplace(*identity, path);
    if (fresh) continue;
    return fail(ErrorCode::kInvalidArgument,
                it->second == path ? "is given twice; give each file once"
                                   : "is the same file as " + it->second + "; give each file once",
                path);
  }
  return {};
}

}  // namespace tracesmith
