// SPDX-License-Identifier: Apache-2.0
// The recorder's locks, and the blocking of signals while one is held.
#pragma once

#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace tracesmith::record {

/// The bit of a signal in the kernel's sets.
constexpr uint64_t signalBit(int signal) { return uint64_t{1} << (signal - 1); }

/// Blocks signals whose handlers could leave by siglongjmp(), except those caused by the thread's
/// own instruction. Uses the kernel's set of 64 signals, which includes the C library's own.
class Signals {
 public:
  /// Blocks them; returns the previous mask.
  static uint64_t block() {
    uint64_t before = 0;
    set(SIG_BLOCK, kAll, &before);
    return before;
  }
  static void restore(uint64_t before) { set(SIG_SETMASK, before, nullptr); }
  /// The same, but only if nobody else has changed the mask since block().
  static void restoreIfBlocked(uint64_t before) {
    uint64_t now = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &now, sizeof now);
    constexpr uint64_t kCannotBeBlocked = signalBit(SIGKILL) | signalBit(SIGSTOP);
    if ((~now & kAll & ~kCannotBeBlocked) == 0) restore(before);
  }
  /// Delivers pending signals that were not blocked in `before`. True: there was one.
  static bool deliver(uint64_t before) {
    uint64_t waiting = 0;
    syscall(SYS_rt_sigpending, &waiting, sizeof waiting);
    if ((waiting & ~before) == 0) return false;
    restore(before);
    block();
    return true;
  }

 private:
  static constexpr uint64_t kAll =
      ~(signalBit(SIGSEGV) | signalBit(SIGBUS) | signalBit(SIGFPE) | signalBit(SIGILL) |
        signalBit(SIGTRAP) | signalBit(SIGSYS) | signalBit(SIGABRT));
  static void set(int how, uint64_t signals, uint64_t* before) {
    syscall(SYS_rt_sigprocmask, how, &signals, before, sizeof signals);
  }
};

/// 0 free, 1 held, 2 held and waited for.
class FutexLock {
 public:
  /// `contended`: somebody has waited for the lock, and others may be waiting.
  bool tryLock(bool contended) {
    uint32_t free = 0;
    return word_.compare_exchange_strong(free, contended ? 2 : 1, std::memory_order_acquire);
  }
  /// Waits until the lock may be free, or for `most` (nullptr: for ever).
  void wait(const timespec* most) {
    uint32_t held = 1;
    if (!word_.compare_exchange_strong(held, 2, std::memory_order_relaxed) && held == 0) return;
    syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 2, most, nullptr, 0);
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2) {
      syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }
  void reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> word_{0};
};

/// A lock that knows its owner. A thread that has waited long enough takes it over, so an owner
/// that never releases it is waited for only once. 0: free; otherwise the owner's thread id and
/// whether somebody waits.
class OrderLock {
 public:
  void lock(uint32_t tid, int64_t patience_ns) {
    uint32_t owner = 0;
    if (word_.compare_exchange_strong(owner, tid, std::memory_order_acquire)) return;
    const int64_t until = now() + patience_ns;
    for (;;) {
      const int64_t left = until - now();
      if (owner == 0 || left <= 0) {
        if (word_.compare_exchange_strong(owner, tid | kWaitedFor, std::memory_order_acquire)) {
          return;
        }
        continue;
      }
      if ((owner & kWaitedFor) == 0 && !word_.compare_exchange_strong(owner, owner | kWaitedFor)) {
        continue;
      }
      const timespec most{left / 1'000'000'000, left % 1'000'000'000};
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, owner | kWaitedFor, &most, nullptr, 0);
      owner = word_.load(std::memory_order_relaxed);
    }
  }
  bool tryLock(uint32_t tid) {
    uint32_t free = 0;
    return word_.compare_exchange_strong(free, tid, std::memory_order_acquire);
  }
  /// Does nothing if another thread has taken the lock over.
  void unlock(uint32_t tid) {
    uint32_t owner = tid;
    if (word_.compare_exchange_strong(owner, 0, std::memory_order_release)) return;
    owner = tid | kWaitedFor;
    if (word_.compare_exchange_strong(owner, 0, std::memory_order_release)) {
      syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }
  void reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kWaitedFor = 1u << 31;
  static int64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
  }
  std::atomic<uint32_t> word_{0};
};

}  // namespace tracesmith::record
