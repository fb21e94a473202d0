// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/file_blocks.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

namespace tracesmith::agent {

namespace {

/// True when a file may grow to `bytes`: beyond RLIMIT_FSIZE the kernel would not only refuse but
/// send SIGXFSZ, which ends a program that does not expect it.
bool mayGrowTo(uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

}  // namespace

bool reserveBlocks(int fd, uint64_t at, uint64_t bytes) {
  errno = EFBIG;
  if (!mayGrowTo(at + bytes)) return false;
  errno = posix_fallocate(fd, static_cast<off_t>(at), static_cast<off_t>(bytes));
  return errno == 0;
}

}  // namespace tracesmith::agent
