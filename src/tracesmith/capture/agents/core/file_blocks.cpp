// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/file_blocks.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/vfs.h>

namespace tracesmith::agent {

namespace {

/// True if a file may grow to `bytes`. Beyond RLIMIT_FSIZE the kernel would not only refuse but
/// also send SIGXFSZ, which ends a program that does not expect it.
bool mayGrowTo(uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

/// Btrfs writes a changed page to a new place, and there may be no space for it, however much was
/// reserved. This can only be turned off for an empty file.
void writeInPlace(int fd) {
  constexpr decltype(statfs::f_type) kBtrfs = 0x9123683e;
  struct statfs system;
  if (fstatfs(fd, &system) != 0 || system.f_type != kBtrfs) return;
  int flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_NOCOW_FL;
  (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

}  // namespace

bool reserveBlocks(int fd, uint64_t at, uint64_t bytes) {
  if (at == 0) writeInPlace(fd);
  errno = EFBIG;
  if (!mayGrowTo(at + bytes)) return false;
  errno = posix_fallocate(fd, static_cast<off_t>(at), static_cast<off_t>(bytes));
  return errno == 0;
}

}  // namespace tracesmith::agent
