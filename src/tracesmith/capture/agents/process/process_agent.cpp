// SPDX-License-Identifier: Apache-2.0
// The preload library that reports every started program to the collector, including programs that
// never use a GPU. It adds one record (process_log_layout.hpp) to the file named by
// TRACESMITH_PROCESS_LOG, and does nothing without that variable.
//
// It runs inside other people's programs. It uses only system calls that are safe in a signal
// handler and in a forked child. It does not allocate, print or lock, and it keeps errno. If
// something fails, it leaves that out. It makes system calls directly, because programs and other
// preload libraries replace open(), stat() and clock_gettime().
//
// It cannot be in static programs or in programs started with a scrubbed environment or with
// set-user-id. It does not see a raw clone(2) or vfork(2) that never calls exec. The collector
// counts such processes if it learns of them in another way.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracesmith/base/linux/guarded_mappings.hpp"
#include "tracesmith/capture/protocol/process_log_layout.hpp"

// Functions that only some C libraries have. (glibc's pthread_atfork is not in a shared library.)
extern "C" {
__attribute__((weak)) int on_exit(void (*handler)(int, void*), void* argument);
__attribute__((weak)) int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                            void* library);
extern void* __dso_handle;
}

namespace tracesmith::process_log {
namespace {

char log_path[4096];
alignas(8) char record_bytes[kMaxRecordBytes + 8];
char stat_text[1024];

// This process's record in the file, in which exit(3) stores the exit status.
RecordHeader* own_record = nullptr;
void* own_mapping = nullptr;
size_t own_mapping_bytes = 0;
pid_t own_pid = 0;

int64_t toNs(const timespec& t) { return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec; }

int openFile(const char* path, int flags) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY, 0));
}
void closeFile(int fd) { syscall(SYS_close, fd); }
pid_t ownPid() { return static_cast<pid_t>(syscall(SYS_getpid)); }
void unmap(void* begin, size_t bytes) { syscall(SYS_munmap, begin, bytes); }

size_t readFile(const char* path, char* out, size_t capacity) {
  const int fd = openFile(path, O_RDONLY);
  if (fd < 0) return 0;
  size_t n = 0;
  while (n < capacity) {
    const ssize_t got = syscall(SYS_read, fd, out + n, capacity - n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    n += static_cast<size_t>(got);
  }
  closeFile(fd);
  return n;
}

/// Field 22 of /proc/self/stat; field 2 is a name in parentheses that may contain any characters.
uint64_t startTicks() {
  const size_t n = readFile("/proc/self/stat", stat_text, sizeof stat_text - 1);
  stat_text[n] = 0;
  const char* p = strrchr(stat_text, ')');
  if (p == nullptr) return 0;
  for (int field = 2; field < 22; ++field) {
    p = strchr(p + 1, ' ');
    if (p == nullptr) return 0;
  }
  uint64_t ticks = 0;
  for (++p; *p >= '0' && *p <= '9'; ++p) ticks = ticks * 10 + static_cast<uint64_t>(*p - '0');
  return ticks;
}

/// Builds this process's record in record_bytes; returns its length.
size_t composeRecord(Kind kind) {
  RecordHeader h;
  memset(&h, 0, sizeof h);
  h.magic = kMagic;
  h.version = kVersion;
  h.pid = static_cast<uint32_t>(ownPid());
  h.parent_pid = static_cast<uint32_t>(syscall(SYS_getppid));
  h.start_ticks = startTicks();
  timespec now;
  if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0) h.monotonic_ns = toNs(now);
  h.kind = kind;
  struct stat ns;
  if (syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &ns, 0) == 0)
    h.pid_namespace = ns.st_ino;

  char* text = record_bytes + sizeof h;
  // Reads one byte more than is kept, to detect that there is more; the path overwrites it.
  size_t command = readFile("/proc/self/cmdline", text, kMaxCommandBytes + 1);
  if (command > kMaxCommandBytes) {
    command = kMaxCommandBytes;
    h.flags |= kCommandCut;
  }
  const ssize_t path =
      syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", text + command, kMaxExecutableBytes);
  h.command_bytes = static_cast<uint16_t>(command);
  h.executable_bytes = static_cast<uint16_t>(path > 0 ? path : 0);
  size_t bytes = sizeof h + h.command_bytes + h.executable_bytes;
  while (bytes % 8 != 0) record_bytes[bytes++] = 0;
  h.bytes = static_cast<uint16_t>(bytes);
  memcpy(record_bytes, &h, sizeof h);
  h.checksum = checksum(record_bytes, bytes);
  memcpy(record_bytes, &h, sizeof h);
  return bytes;
}

/// False if writing would exceed RLIMIT_FSIZE, which would end the program with SIGXFSZ.
bool mayGrow(int fd, size_t bytes) {
  struct stat file;
  rlimit limit;
  if (syscall(SYS_fstat, fd, &file) != 0 || !S_ISREG(file.st_mode)) return false;
  if (syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit) != 0) return false;
  constexpr uint64_t kOthersMayWrite = 1u << 20;
  return limit.rlim_cur == RLIM_INFINITY ||
         static_cast<uint64_t>(file.st_size) + bytes + kOthersMayWrite < limit.rlim_cur;
}

/// Maps the header of the record that ends at file offset `end`, so that exit needs no system call.
void mapRecord(int fd, off_t end, size_t bytes) {
  const off_t begin = end - static_cast<off_t>(bytes);
  const long page = sysconf(_SC_PAGESIZE);
  if (begin < 0 || page <= 0) return;
  const off_t from = begin - begin % page;
  const size_t length = static_cast<size_t>(begin - from) + sizeof(RecordHeader);
  const long mapped =
      syscall(SYS_mmap, nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
  if (mapped == -1) return;
  void* mapping = reinterpret_cast<void*>(mapped);
  auto* record = reinterpret_cast<RecordHeader*>(static_cast<char*>(mapping) + (begin - from));
  // On a file system that others write to as well (NFS), the record may be at another place.
  if (memcmp(record, record_bytes, sizeof(RecordHeader)) != 0) {
    unmap(mapping, length);
    return;
  }
  // The page may be missing at exit: the log was truncated, or its disk has no space for a new
  // copy.
  mappings::guard(mapping, length);
  own_mapping = mapping;
  own_mapping_bytes = length;
  own_pid = ownPid();
  own_record = record;
}

void appendRecord(Kind kind) {
  const int saved_errno = errno;
  const int fd = openFile(log_path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
  if (fd >= 0) {
    const size_t bytes = composeRecord(kind);
    if (mayGrow(fd, bytes) &&
        syscall(SYS_write, fd, record_bytes, bytes) == static_cast<long>(bytes))
      mapRecord(fd, syscall(SYS_lseek, fd, 0, SEEK_CUR), bytes);
    closeFile(fd);
  }
  errno = saved_errno;
}

void afterForkInChild() {
  own_record = nullptr;
  if (own_mapping != nullptr) {
    mappings::release(own_mapping);
    unmap(own_mapping, own_mapping_bytes);
  }
  own_mapping = nullptr;
  appendRecord(Kind::kFork);
}

void atExit(int status, void*) {
  const int saved_errno = errno;
  RecordHeader* record = own_record;
  if (record != nullptr && ownPid() == own_pid) {
    // The vDSO's clock makes no system call. Another library may have replaced the function,
    // though.
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    record->exit_status = status;
    __atomic_store_n(&record->exit_ns, toNs(now), __ATOMIC_RELEASE);
  }
  errno = saved_errno;
}

void callInForkedChildren(void (*child)()) {
  if (__register_atfork != nullptr) {
    __register_atfork(nullptr, nullptr, child, &__dso_handle);
    return;
  }
  using AtFork = int (*)(void (*)(), void (*)(), void (*)());
  const auto at_fork = reinterpret_cast<AtFork>(dlsym(RTLD_DEFAULT, "pthread_atfork"));
  if (at_fork != nullptr) at_fork(nullptr, nullptr, child);
}

__attribute__((constructor)) void begin() {
  const char* path = getenv(kEnvLog);
  if (path == nullptr || path[0] != '/') return;
  const size_t length = strlen(path);
  if (length >= sizeof log_path) return;
  memcpy(log_path, path, length + 1);
  const int saved_errno = errno;
  appendRecord(Kind::kExec);
  callInForkedChildren(afterForkInChild);
  if (on_exit != nullptr) on_exit(atExit, nullptr);
  errno = saved_errno;
}

}  // namespace
}  // namespace tracesmith::process_log
