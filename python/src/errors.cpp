// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <nanobind/nanobind.h>

namespace tracesmith::python {

namespace nb = nanobind;

void raise(const Error& error) {
  // File names may be any bytes; Python's file system encoding can represent them.
  const auto text = [](const std::string& bytes) {
    return nb::steal<nb::object>(
        PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  };
  const nb::object exception =
      nb::module_::import_("tracesmith._errors")
          .attr("of_code")(static_cast<int>(error.code), text(error.message), text(error.where));
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

bool done(const SBTResult& result, const std::string& path) {
  if (!result.success) raise(result.failure);
  if (!result.error_message.empty()) {
    const std::string text = path + ": " + result.error_message;
    const auto decoded = nb::steal(
        PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
    if (!decoded.is_valid() ||
        PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "%U", decoded.ptr()) != 0) {
      throw nb::python_error();
    }
  }
  return true;
}

}  // namespace tracesmith::python
