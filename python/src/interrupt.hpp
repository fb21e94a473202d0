// SPDX-License-Identifier: Apache-2.0
// Ctrl-C in long calls.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>
#include <type_traits>

#include "tracesmith/base/cancellation.hpp"

namespace tracesmith::python {

/// Python handles signals only on its main thread, which is the thread that loads this module.
inline const std::thread::id kMainThread = std::this_thread::get_id();

/// Reports whether Ctrl-C was pressed and means KeyboardInterrupt, its default. A signal handler of
/// the program runs only after the call: it may use objects that this thread has locked, and only
/// the program knows whether the call should end.
class Interrupt {
 public:
  /// Called from time to time, without the GIL. Runs no Python code.
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (raised_ || now < next_ || std::this_thread::get_id() != kMainThread) return raised_;
    next_ = now + std::chrono::milliseconds(50);
    const nanobind::gil_scoped_acquire acquire;
    if (PyOS_InterruptOccurred() == 0) return false;
    raised_ = isDefault();
    if (!raised_) PyErr_SetInterrupt();  // pending again, for the program's handler
    return raised_;
  }
  /// Raises KeyboardInterrupt if Ctrl-C was pressed. Needs the GIL; the caller must hold no lock.
  void rethrow() const {
    if (!raised_) return;
    PyErr_SetInterrupt();
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }

 private:
  static bool isDefault() {
    const auto signal = nanobind::module_::import_("_signal");
    return signal.attr("getsignal")(signal.attr("SIGINT")).is(signal.attr("default_int_handler"));
  }

  std::chrono::steady_clock::time_point next_;
  bool raised_ = false;
};

/// Runs f() without the GIL and returns its result. Ctrl-C ends f() early. f() must have released
/// its locks when it returns.
template <class F>
auto interruptible(F&& f) {
  Interrupt interrupt;
  const auto run = [&] {
    const nanobind::gil_scoped_release release;
    const CancelScope scope([&] { return interrupt(); });
    return f();
  };
  if constexpr (std::is_void_v<decltype(f())>) {
    run();
    interrupt.rethrow();
  } else {
    auto result = run();
    interrupt.rethrow();
    return result;
  }
}

}  // namespace tracesmith::python
