// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/fork_page.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>

// The function that glibc's pthread_atfork() calls. Weak, because an agent may be preloaded into a
// program with another C library, where it must not be required.
extern "C" {
extern void* __dso_handle;  // NOLINT: the linker's
int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* library)
    __attribute__((weak));
}

namespace tracesmith::agent {

bool callInForkedChildren(void (*child)()) {
  if (__register_atfork != nullptr) {
    return __register_atfork(nullptr, nullptr, child, __dso_handle) == 0;
  }
  using AtFork = int (*)(void (*)(), void (*)(), void (*)());
  const auto atfork = reinterpret_cast<AtFork>(dlsym(RTLD_DEFAULT, "pthread_atfork"));
  return atfork != nullptr && atfork(nullptr, nullptr, child) == 0;
}

bool makeForkPage(void (*clear)(), ForkPage& out) {
  const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const page =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const int before = errno;
  out.wiped_by_kernel = madvise(page, bytes, MADV_WIPEONFORK) == 0;
  // If this fails, getpid() remains.
  if (!out.wiped_by_kernel) (void)callInForkedChildren(clear);
  errno = before;
  out.number = static_cast<std::atomic<uint64_t>*>(page);
  return true;
}

}  // namespace tracesmith::agent
