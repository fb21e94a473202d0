// SPDX-License-Identifier: Apache-2.0
// A number that reads as 0 in a forked child, so that the child never writes into its parent's
// files. The kernel wipes its page (MADV_WIPEONFORK). If the kernel refuses that, as in some
// sandboxes, a pthread_atfork() handler clears the number. No handler runs in a child of the bare
// clone(2) system call; there getpid() reveals the fork: see noticeFork().
#pragma once

#include <stdint.h>
#include <unistd.h>

#include <atomic>

namespace tracesmith::agent {

struct ForkPage {
  std::atomic<uint64_t>* number = nullptr;
  bool wiped_by_kernel = false;
};

/// Creates the page. `clear` must set the number to 0; it is called in a forked child if the kernel
/// does not wipe the page. False: errno is set.
bool makeForkPage(void (*clear)(), ForkPage& out);

/// Calls `child` in each child created by fork(), on the thread that forked. False: forks cannot be
/// noticed. It never runs in a child of _Fork() or of the bare system call.
bool callInForkedChildren(void (*child)());

/// If the kernel does not wipe the page: clears the number in a child in which no handler ran.
/// Costs one getpid() system call. `owner`: the process that the number belongs to.
inline void noticeFork(const ForkPage& page, uint32_t owner) {
  if (page.wiped_by_kernel || page.number == nullptr) return;
  if (static_cast<uint32_t>(getpid()) != owner) page.number->store(0);
}

}  // namespace tracesmith::agent
