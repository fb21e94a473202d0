// SPDX-License-Identifier: Apache-2.0
// Converts texts between Python and C++, instead of nanobind/stl/string.h. A program may use any
// bytes as names of its spans; invalid UTF-8 becomes U+FFFD.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace nanobind::detail {

inline handle textOf(std::string_view bytes) noexcept {
  return PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
}

/// False: not a str, or the str has half of a surrogate pair.
inline bool bytesOf(handle text, std::string_view& bytes) noexcept {
  Py_ssize_t size = 0;
  const char* const chars =
      PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
  if (chars == nullptr) {
    PyErr_Clear();
    return false;
  }
  bytes = {chars, static_cast<size_t>(size)};
  return true;
}

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle text, uint8_t, cleanup_list*) noexcept {
    std::string_view bytes;
    if (!bytesOf(text, bytes)) return false;
    value = bytes;
    return true;
  }
  static handle from_cpp(const std::string& bytes, rv_policy, cleanup_list*) noexcept {
    return textOf(bytes);
  }
};

template <>
struct type_caster<std::string_view> {
  NB_TYPE_CASTER(std::string_view, const_name("str"))

  bool from_python(handle text, uint8_t, cleanup_list*) noexcept { return bytesOf(text, value); }
  static handle from_cpp(std::string_view bytes, rv_policy, cleanup_list*) noexcept {
    return textOf(bytes);
  }
};

}  // namespace nanobind::detail
