// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include "errors.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

Turn::Turn(CallLock& lock) : lock_(lock) {
  const bool comes = lock.lock([] {
    if (std::this_thread::get_id() != kMainThread) return;
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  });
  if (comes) return;
  const nb::gil_scoped_acquire acquire;
  raise({ErrorCode::kUnsupported,
         "another thread was using this object when the process was forked; open or create another "
         "one here",
         ""});
}

std::string pathOf(const nb::object& path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw nb::python_error();
  const auto held = nb::steal<nb::bytes>(bytes);
  return std::string(held.c_str(), held.size());
}

}  // namespace tracesmith::python
