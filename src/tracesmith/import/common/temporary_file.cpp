// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/temporary_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace tracesmith::import {

TemporaryFile::~TemporaryFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!name_.empty()) ::unlink(name_.c_str());
}

Status TemporaryFile::create() {
  const char* set = ::getenv("TMPDIR");
  folder_ = set != nullptr && *set == '/' ? set : "/tmp";
  fd_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0) return {};
  return createNamed();
}

Status TemporaryFile::createNamed() {
  std::string path = folder_ + "/tracesmith-import-XXXXXX";
  fd_ = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd_ < 0) return failErrno(errno, "cannot create a temporary file", folder_);
  name_ = path;
  return {};
}

Result<std::string> TemporaryFile::name() {
  if (!name_.empty()) return name_;
  const std::string from = "/proc/self/fd/" + std::to_string(fd_);
  for (uint32_t i = 0; i < 100; ++i) {
    const std::string to = folder_ + "/tracesmith-import-" + std::to_string(::getpid()) + "-" +
                           std::to_string(fd_) + "-" + std::to_string(i);
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      return name_ = to;
    }
    if (errno != EEXIST) return failErrno(errno, "cannot name the unpacked file", folder_);
  }
  return fail(ErrorCode::kIo, "cannot name the unpacked file", folder_);
}

Status TemporaryFile::write(std::span<const uint8_t> bytes, std::string_view purpose) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failErrno(errno, purpose, folder_);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace tracesmith::import
