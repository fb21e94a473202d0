// SPDX-License-Identifier: Apache-2.0
// One number that reads as 0 in a forked child, so that the child never writes into its parent's
// files. The kernel wipes its page (MADV_WIPEONFORK). Where the kernel refuses that, as some
// sandboxes do, a pthread_atfork() handler clears it; a child of the bare clone(2) system call, of
// which no handler hears, is told by getpid(): see noticeFork().
#pragma once

#include <stdint.h>
#include <unistd.h>

#include <atomic>

namespace tracesmith::agent {

struct ForkPage {
  std::atomic<uint64_t>* number = nullptr;
  bool wiped_by_kernel = false;
};

/// Makes the page. `clear` must set the number to 0; it is called in a forked child where the
/// kernel does not do so. False: errno says why.
bool makeForkPage(void (*clear)(), ForkPage& out);

/// `child` is called in each child that fork() makes, by the thread that forked. False: a fork
/// cannot be heard of. A child of _Fork() or of the system call itself never is.
bool callInForkedChildren(void (*child)());

/// Where the kernel does not wipe: clears the number in a child that no handler was told of. Costs
/// one getpid(), which is a system call. `owner`: the process that the number belongs to.
inline void noticeFork(const ForkPage& page, uint32_t owner) {
  if (page.wiped_by_kernel || page.number == nullptr) return;
  if (static_cast<uint32_t>(getpid()) != owner) page.number->store(0);
}

}  // namespace tracesmith::agent
