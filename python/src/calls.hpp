// SPDX-License-Identifier: Apache-2.0
// What functions that Python calls have in common.
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

/// For functions that take long, touch no object of Python's and cannot be interrupted.
using Released = nanobind::call_guard<nanobind::gil_scoped_release>;

/// Calls for one object take turns, whatever they are.
class CallLock {
 public:
  bool tryLock() {
    if (!mutex_.try_lock()) return false;
    process_ = getpid();
    return true;
  }
  /// Calls meanwhile() 20 times a second while it waits; without the GIL, which who has the turn
  /// may need. False: this is a forked child, and a thread that is not in it has the turn for ever.
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
  std::atomic<pid_t> process_{getpid()};  // that last had it
};

/// A T whose calls take turns; one that comes ready made is moved in.
template <class T>
struct Own : T {
  using T::T;
  Own() = default;
  explicit Own(T&& made) : T(std::move(made)) {}
  CallLock lock;
};

/// A call's turn. Neither to be made nor to be kept with the GIL.
class Turn {
 public:
  /// Hears signals while it waits: throws what their handlers throw. UnsupportedError: no turn will
  /// come in this forked child.
  explicit Turn(CallLock& lock);
  ~Turn() { lock_.unlock(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  CallLock& lock_;
};

/// What f() gives, which is run without the GIL while no other thread is in a call for what `lock`
/// is of. Ctrl-C ends it.
template <class F>
auto alone(CallLock& lock, F&& f) {
  return interruptible([&] {
    const Turn turn(lock);
    return f();
  });
}

/// The same for what is over at once: with the GIL, which others would have for long, unless
/// another thread is in a call.
template <class F>
auto briefly(CallLock& lock, F&& f) {
  if (!lock.tryLock()) return alone(lock, f);
  const std::lock_guard held(lock, std::adopt_lock);
  return f();
}

/// str, bytes or os.PathLike as the system has it. Throws TypeError or ValueError.
std::string pathOf(const nanobind::object& path);

}  // namespace tracesmith::python
