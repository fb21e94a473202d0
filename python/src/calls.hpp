// SPDX-License-Identifier: Apache-2.0
// What functions that Python calls have in common.
#pragma once

#include <nanobind/nanobind.h>

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

/// str, bytes or os.PathLike as the system has it. Throws TypeError or ValueError.
inline std::string pathOf(const nanobind::object& path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw nanobind::python_error();
  const auto held = nanobind::steal<nanobind::bytes>(bytes);
  return std::string(held.c_str(), held.size());
}

}  // namespace tracesmith::python
