// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/distinct_files.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <utility>

namespace tracesmith {

Status areDistinctFiles(std::span<const std::string> paths) {
  std::map<std::pair<dev_t, ino_t>, std::string> seen;
  for (const std::string& path : paths) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return failErrno(errno, "cannot be read", path);
    const auto [it, fresh] = seen.try_emplace({info.st_dev, info.st_ino}, path);
    if (fresh) continue;
    return fail(ErrorCode::kInvalidArgument,
                it->second == path ? "is given twice; give each file once"
                                   : "is the same file as " + it->second + "; give each file once",
                path);
  }
  return {};
}

}  // namespace tracesmith
