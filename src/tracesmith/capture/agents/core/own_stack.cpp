// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/own_stack.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tracesmith::agent {
namespace {

/// Reads /proc/self/maps byte by byte: it may be larger than a signal stack.
class Maps {
 public:
  Maps()
      : fd_(static_cast<int>(
            syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC))) {}
  ~Maps() {
    if (fd_ >= 0) syscall(SYS_close, fd_);
  }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;

  /// Next byte; -1 at the end.
  int next() {
    if (at_ == end_) {
      const long bytes = fd_ < 0 ? 0 : syscall(SYS_read, fd_, buffer_, sizeof buffer_);
      if (bytes <= 0) return -1;
      at_ = 0;
      end_ = static_cast<size_t>(bytes);
    }
    return static_cast<uint8_t>(buffer_[at_++]);
  }

  /// A hexadecimal number and the byte after it.
  uintptr_t number(int& behind) {
    uintptr_t value = 0;
    for (;;) {
      behind = next();
      const bool digit = behind >= '0' && behind <= '9';
      if (!digit && (behind < 'a' || behind > 'f')) return value;
      value = value << 4 | static_cast<uintptr_t>(digit ? behind - '0' : behind - 'a' + 10);
    }
  }

 private:
  int fd_;
  size_t at_ = 0, end_ = 0;
  char buffer_[512];
};

/// True if an address is on the signal stack. A signal stack may be an array on the thread's own
/// stack. A frame on it was not called by the frames below it, so addresses cannot be compared.
bool isOnSignalStack(uintptr_t first, uintptr_t second) {
  stack_t s{};
  if (syscall(SYS_sigaltstack, nullptr, &s) != 0 || (s.ss_flags & SS_DISABLE) != 0) return false;
  const auto begin = reinterpret_cast<uintptr_t>(s.ss_sp);
  return (s.ss_flags & SS_ONSTACK) != 0 || first - begin < s.ss_size || second - begin < s.ss_size;
}

bool isOnThreadStack(uintptr_t first, uintptr_t second) {
  constexpr char kMainStack[] = "[stack]";
  constexpr size_t kNameBytes = sizeof kMainStack - 1;
  const bool is_main = syscall(SYS_gettid) == syscall(SYS_getpid);
  // The C library keeps thread-local data above the stack, in the same mapping. The system may have
  // joined that mapping with the next one above.
  const auto own_data = reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
  Maps maps;
  for (;;) {
    int c = 0;
    const uintptr_t begin = maps.number(c);
    if (c != '-') return false;
    const uintptr_t end = maps.number(c);
    char last[kNameBytes] = {};
    while (c != '\n' && c != -1) {
      c = maps.next();
      if (c == '\n' || c == -1) break;
      memmove(last, last + 1, kNameBytes - 1);
      last[kNameBytes - 1] = static_cast<char>(c);
    }
    if (first < begin || first >= end) continue;
    const bool is_stack =
        is_main ? memcmp(last, kMainStack, kNameBytes) == 0
                : own_data >= begin && own_data < end && first < own_data && second < own_data;
    return is_stack && second >= begin && second < end;
  }
}

}  // namespace

bool areOnThreadStack(uintptr_t first, uintptr_t second) {
  const int before = errno;
  const bool lie = !isOnSignalStack(first, second) && isOnThreadStack(first, second);
  errno = before;
  return lie;
}

}  // namespace tracesmith::agent
