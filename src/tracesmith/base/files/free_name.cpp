// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/free_name.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace tracesmith {

bool isThere(const std::string& path) {
  struct stat s {};
  return lstat(path.c_str(), &s) == 0;
}

std::string numberedName(const std::string& path, int number) {
  if (number == 1) return path;
  const std::string extension = std::filesystem::path(path).extension().string();
  const std::string stem = path.substr(0, path.size() - extension.size());
  return fmt::format("{}-{}{}", stem, number, extension);
}

std::string freeName(const std::string& path) {
  int number = 1;
  while (number < kMostNumberedNames && isThere(numberedName(path, number))) ++number;
  return numberedName(path, number);
}

Status moveToFreeName(const std::string& from, const std::string& to) {
  // Not by its function, which glibc has only from 2.28 on.
  if (syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
    return {};
  int error = errno;
  if (error == EINVAL || error == ENOSYS) {  // the file system does not support this
    if (link(from.c_str(), to.c_str()) == 0) {
      (void)unlink(from.c_str());
      return {};
    }
    error = errno;
    if (error != EEXIST && !isThere(to)) {
      if (rename(from.c_str(), to.c_str()) == 0) return {};
      error = errno;
    }
  }
  if (error == EEXIST) return fail(ErrorCode::kInvalidArgument, "exists", to);
  return failErrno(error, "cannot move the file to " + to, from);
}

Result<std::string> moveToNumberedName(const std::string& from, const std::string& path) {
  for (int i = 1; i < kMostNumberedNames; ++i) {
    const std::string to = numberedName(path, i);
    const Status moved = moveToFreeName(from, to);
    if (moved) return to;
    if (moved.error().code != ErrorCode::kInvalidArgument) {
      return tl::unexpected<Error>(moved.error());
    }
  }
  return fail(ErrorCode::kIo, "no name is free", path);
}

}  // namespace tracesmith
