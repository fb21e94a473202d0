// SPDX-License-Identifier: Apache-2.0
// What functions that Python calls have in common.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <mutex>
#include <string>

namespace tracesmith::python {

/// For functions that take long and touch no object of Python's.
using Released = nanobind::call_guard<nanobind::gil_scoped_release>;

/// What f() gives, which is run without the GIL.
template <class F>
auto released(F&& f) {
  const nanobind::gil_scoped_release release;
  return f();
}

/// Runs f() while no other thread is in a call for this object. Needs to be without the GIL.
template <class F>
auto locked(const void* object, F&& f) {
  static std::mutex mutexes[61];  // no object has one of its own, and none needs two
  const std::lock_guard lock(mutexes[reinterpret_cast<uintptr_t>(object) / 16 % 61]);
  return f();
}
/// What f() gives, which is run without the GIL, while no other thread is in a call for this
/// object.
template <class F>
auto alone(const void* object, F&& f) {
  return released([&] { return locked(object, f); });
}

/// str, bytes or os.PathLike as the system has it. Throws TypeError or ValueError.
inline std::string pathOf(const nanobind::object& path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw nanobind::python_error();
  const auto held = nanobind::steal<nanobind::bytes>(bytes);
  return std::string(held.c_str(), held.size());
}

}  // namespace tracesmith::python
