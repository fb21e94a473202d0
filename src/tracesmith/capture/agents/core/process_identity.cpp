// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/process_identity.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tracesmith::agent {
namespace {

size_t readFile(const char* path, char* out, size_t capacity) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t n = 0;
  while (n < capacity) {
    const ssize_t got = read(fd, out + n, capacity - n);
    if (got <= 0) break;
    n += static_cast<size_t>(got);
  }
  close(fd);
  return n;
}

/// Field 22 of /proc/self/stat. The second field is the name in parentheses; it may contain any
/// characters.
uint64_t startTicks() {
  char text[1024];
  const size_t n = readFile("/proc/self/stat", text, sizeof text - 1);
  text[n] = 0;
  const char* p = strrchr(text, ')');
  if (p == nullptr) return 0;
  ++p;
  for (int field = 3; field < 22; ++field) {
    p = strchr(p + 1, ' ');
    if (p == nullptr) return 0;
  }
  return strtoull(p, nullptr, 10);
}

}  // namespace

void fillProcessIdentity(arena::ArenaHeader& header) {
  header.pid = static_cast<uint32_t>(getpid());
  header.parent_pid = static_cast<uint32_t>(getppid());
  header.start_ticks = startTicks();
  struct stat s;
  if (stat("/proc/self/ns/pid", &s) == 0) header.pid_namespace = s.st_ino;
  size_t n = readFile("/proc/sys/kernel/random/boot_id", header.boot_id, sizeof header.boot_id - 1);
  while (n > 0 && header.boot_id[n - 1] == '\n') header.boot_id[--n] = 0;
  // The link of this thread: the main thread may have ended, and /proc/self/exe with it.
  const ssize_t length =
      readlink("/proc/thread-self/exe", header.executable, sizeof header.executable - 1);
  header.executable[length > 0 ? length : 0] = 0;
  header.command_line_bytes = static_cast<uint32_t>(
      readFile("/proc/thread-self/cmdline", header.command_line, sizeof header.command_line));
}

uint64_t correlationAfterExec(const char* session) {
  static arena::ArenaHeader own;  // too large for the stack of an arbitrary thread
  fillProcessIdentity(own);
  uint64_t next = 1;
  DIR* directory = opendir(session);
  if (directory == nullptr) return next;
  const int pid = getpid();
  while (const dirent* entry = readdir(directory)) {
    char* dot = nullptr;
    if (strtol(entry->d_name, &dot, 10) != pid || *dot != '.') continue;
    if (strstr(dot, arena::kArenaSuffix) == nullptr) continue;
    const int fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    static arena::ArenaHeader before;
    const ssize_t n = pread(fd, static_cast<void*>(&before), sizeof before, 0);
    close(fd);
    if (n != static_cast<ssize_t>(sizeof before) || before.magic != arena::kMagic ||
        before.start_ticks != own.start_ticks) {
      continue;
    }
    const uint64_t its_next = before.next_correlation.load(std::memory_order_relaxed);
    if (its_next > next) next = its_next;
  }
  closedir(directory);
  return next;
}

}  // namespace tracesmith::agent
