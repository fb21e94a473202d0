// SPDX-License-Identifier: Apache-2.0
// Ctrl-C in long calls.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>
#include <type_traits>

#include "tracesmith/base/cancellation.hpp"

namespace tracesmith::python {

/// Python asks for signals on its main thread alone: the one that loads this module.
inline const std::thread::id kMainThread = std::this_thread::get_id();

/// Whether Ctrl-C was pressed and means what it means by default, KeyboardInterrupt. A handler of
/// the program's own has its turn when the call is over: it may ask what this thread has locked,
/// and what it wants the call to do only it knows.
class Interrupt {
 public:
  /// Asked from time to time, without the GIL. Runs no Python code.
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (raised_ || now < next_ || std::this_thread::get_id() != kMainThread) return raised_;
    next_ = now + std::chrono::milliseconds(50);
    const nanobind::gil_scoped_acquire acquire;
    if (PyOS_InterruptOccurred() == 0) return false;
    raised_ = isDefault();
    if (!raised_) PyErr_SetInterrupt();  // as it was
    return raised_;
  }
  /// Raises KeyboardInterrupt where it was pressed. Needs the GIL, and nothing locked.
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

/// What f() gives, which is run without the GIL and ends early when Ctrl-C is pressed. What it has
/// locked it must have unlocked then.
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
