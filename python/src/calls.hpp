// SPDX-License-Identifier: Apache-2.0
// Helpers of all functions that Python calls: turns, interrupts, the GIL, paths.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "interrupt.hpp"

namespace tracesmith::python {

/// Releases the GIL. For long functions that touch no Python object and cannot be interrupted.
using Released = nanobind::call_guard<nanobind::gil_scoped_release>;

/// Serialises all calls on one object.
class CallLock {
 public:
  bool tryLock() {
    if (!mutex_.try_lock()) return false;
    process_ = getpid();
    return true;
  }
  /// Calls meanwhile() 20 times a second while it waits. The caller must not hold the GIL, because
  /// the thread that holds the lock may need it. False: this is a forked child, and the lock is
  /// held by a thread that exists only in the parent.
  template <class F>
  bool lock(F&& meanwhile) {
    for (int waited = 0; !mutex_.try_lock_for(std::chrono::milliseconds(50));) {
      if (process_ != getpid() && ++waited == 20) return false;
      meanwhile();
    }
    process_ = getpid();
    return true;
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::timed_mutex mutex_;
  std::atomic<pid_t> process_{getpid()};  // the process that last took the lock
};

/// A T with a lock that serialises its calls.
template <class T>
struct Own : T {
  using T::T;
  Own() = default;
  explicit Own(T&& made) : T(std::move(made)) {}
  CallLock lock;
};

/// Holds the lock of an object for one call. The thread must not hold the GIL when it creates a
/// Turn or while it keeps one.
class Turn {
 public:
  /// Runs Python's signal handlers while it waits, and throws their exceptions. Throws
  /// UnsupportedError if the lock can never be taken in this forked child.
  explicit Turn(CallLock& lock);
  ~Turn() { lock_.unlock(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  CallLock& lock_;
};

/// Runs f() without the GIL and under `lock`, and returns its result. Ctrl-C ends f().
template <class F>
auto alone(CallLock& lock, F&& f) {
  return interruptible([&] {
    const Turn turn(lock);
    return f();
  });
}

/// The same for a short f(). Keeps the GIL, because getting it back can take long if other threads
/// hold it; only if another thread is in a call, this waits like alone().
template <class F>
auto briefly(CallLock& lock, F&& f) {
  if (!lock.tryLock()) return alone(lock, f);
  const std::lock_guard held(lock, std::adopt_lock);
  return f();
}

/// A str, bytes or os.PathLike in the system's encoding. Throws TypeError or ValueError.
std::string pathOf(const nanobind::object& path);

}  // namespace tracesmith::python
