// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/base/linux/readable_memory.hpp"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace tracesmith {
namespace {

/// Page sizes are multiples of this.
constexpr uintptr_t kLeastPage = 4096;
constexpr uintptr_t kWord = 8;

/// Whether the page that contains `address` can be read. rt_sigprocmask() reads the set of signals
/// before it checks `how`, which is invalid here, so it has no effect.
bool isReadableAt(uintptr_t address) {
  constexpr int kNoSuchChange = ~0;
  const int before = errno;
  const auto* const word = reinterpret_cast<const void*>(address & ~(kWord - 1));
  const long result = syscall(SYS_rt_sigprocmask, kNoSuchChange, word, nullptr, kWord);
  const bool faults = result != 0 && errno == EFAULT;
  errno = before;
  return !faults;
}

uintptr_t nextPage(uintptr_t address) { return (address & ~(kLeastPage - 1)) + kLeastPage; }

}  // namespace

bool isReadable(const void* p, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(p);
  if (bytes == 0) return true;
  if (p == nullptr || begin + bytes < begin) return false;
  for (uintptr_t at = begin; at - begin < bytes; at = nextPage(at)) {
    if (!isReadableAt(at)) return false;
  }
  return true;
}

bool readableLength(const char* text, size_t most, size_t& out) {
  out = 0;
  if (text == nullptr) return false;
  while (out < most) {
    const auto at = reinterpret_cast<uintptr_t>(text + out);
    if (!isReadableAt(at)) return false;
    size_t here = nextPage(at) - at;
    if (here > most - out) here = most - out;
    const size_t length = strnlen(text + out, here);
    out += length;
    if (length < here) return true;
  }
  return true;
}

}  // namespace tracesmith
