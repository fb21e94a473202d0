// SPDX-License-Identifier: Apache-2.0
// Preloaded: pwrite() to a file that ends in ".sbt" fails with EIO from call number
// TORTURE_FAIL_AFTER on, having written half of what it was given. A disk that dies.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace {

using Pwrite = ssize_t (*)(int, const void*, size_t, off64_t);

ssize_t failing(int fd, const void* data, size_t bytes, off64_t offset) {
  static const auto kReal = reinterpret_cast<Pwrite>(dlsym(RTLD_NEXT, "pwrite64"));
  static const char* const kAfter = getenv("TORTURE_FAIL_AFTER");
  static std::atomic<long> calls{0};
  char link[64];
  char path[512] = {};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  const bool trace = n > 4 && strcmp(path + n - 4, ".sbt") == 0;
  if (!trace || kAfter == nullptr) return kReal(fd, data, bytes, offset);
  const long call = ++calls;
  const long first = atol(kAfter);
  if (call < first) return kReal(fd, data, bytes, offset);
  if (call == first && bytes > 1) return kReal(fd, data, bytes / 2, offset);
  errno = EIO;
  return -1;
}

}  // namespace

extern "C" ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  return failing(fd, data, bytes, offset);
}
extern "C" ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  return failing(fd, data, bytes, offset);
}
