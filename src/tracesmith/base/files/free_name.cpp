// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/files/free_name.hpp"

#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <fcntl.h>
#include <sys/syscall.h>
#endif

#include <cerrno>
#include <filesystem>

namespace tracesmith {

namespace {

/// As rename(), but fails with EEXIST if `to` exists. Returns false with errno set.
bool renameToNewName(const char* from, const char* to) {
#if defined(__linux__)
  // Not by its function, which glibc has only from 2.28 on.
  return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0;
#elif defined(__APPLE__)
  return renamex_np(from, to, RENAME_EXCL) == 0;
#else
  return rename(from, to) == 0;  // that of Windows does not replace
#endif
}

}  // namespace

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
  if (renameToNewName(from.c_str(), to.c_str())) return {};
  int error = errno;
  // The file system does not support this (ENOTSUP: on macOS).
  if (error == EINVAL || error == ENOSYS || error == ENOTSUP) {
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
