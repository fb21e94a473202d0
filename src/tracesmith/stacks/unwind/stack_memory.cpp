// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/unwind/stack_memory.hpp"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tracesmith::stacks {
namespace {
constexpr uint64_t kPage = 4096;  // the smallest page size
}

ThreadStack findThreadStack() {
  ThreadStack stack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  void* low = nullptr;
  size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
    stack.low = reinterpret_cast<uint64_t>(low);
    stack.high = stack.low + bytes;
  }
  pthread_attr_destroy(&attributes);
  return stack;
}

bool isReadable(uint64_t address) {
  // The system call reads the signal set before it checks the first argument, which is invalid.
  // EFAULT means that the memory is unreadable, EINVAL that it is readable. Nothing is changed
  // either way.
  const int before = errno;
  const long result = syscall(SYS_rt_sigprocmask, -1, address, nullptr, sizeof(uint64_t));
  const bool readable = result == 0 || errno != EFAULT;
  errno = before;
  return readable;
}

bool StackMemory::mayRead(uint64_t address) {
  outside_ = true;
  if (address < kPage || address > UINT64_MAX - 8) return false;
  const uint64_t first = address / kPage;
  const uint64_t last = (address + 7) / kPage;
  if (first == page_ && last == page_) return true;
  if (!isReadable(address)) return false;
  if (first == last) page_ = first;
  return true;
}

}  // namespace tracesmith::stacks
