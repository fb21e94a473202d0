// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/temporary_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/mman.h>
#include <sys/syscall.h>
#endif

#include <atomic>

#include "tracesmith/base/files/temporary_folder.hpp"

namespace tracesmith::import {
namespace {

constexpr int kMostNames = 100;

}  // namespace

std::string TemporaryFile::nameOf(int number) const {
  static std::atomic<unsigned> files{0};  // of this process
  return fmt::format("{}/tracesmith-import-{}-{}-{}", folder_, ::getpid(), files++, number);
}

TemporaryFile::~TemporaryFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!name_.empty()) ::unlink(name_.c_str());
}

Status TemporaryFile::create() {
  folder_ = temporaryFolder();
#ifdef O_TMPFILE
  fd_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0) return {};
#endif
  for (int i = 0; i < kMostNames; ++i) {
    const std::string path = nameOf(i);
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd_ < 0 && errno == EEXIST) continue;
    if (fd_ < 0) return failErrno(errno, "cannot create a temporary file", folder_);
    name_ = path;
    return {};
  }
  return fail(ErrorCode::kIo, "cannot create a temporary file: no name is free", folder_);
}

Status TemporaryFile::createInMemory() {
#ifdef __linux__
  // Not by its function, which glibc has only from 2.27 on.
  fd_ = static_cast<int>(::syscall(SYS_memfd_create, "tracesmith-import", MFD_CLOEXEC));
  if (fd_ < 0) return failErrno(errno, "cannot create a file in memory");
  return {};
#else
  return create();
#endif
}

std::string TemporaryFile::place() const {
  return name_.empty() ? "/proc/self/fd/" + std::to_string(fd_) : name_;
}

Result<std::string> TemporaryFile::name() {
#ifdef __linux__
  for (int i = 0; name_.empty(); ++i) {
    const std::string to = nameOf(i);
    if (::linkat(AT_FDCWD, place().c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      name_ = to;
    } else if (errno != EEXIST || i == kMostNames) {
      return failErrno(errno, "cannot name the unpacked file", folder_);
    }
  }
#endif
  return name_;
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
