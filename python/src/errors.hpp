// SPDX-License-Identifier: Apache-2.0
// Converts errors to Python exceptions.
#pragma once

#include <string>
#include <utility>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/sbt_file.hpp"

namespace tracesmith::python {

/// Throws the exception class of tracesmith/_errors.py for `error`. Needs the GIL.
[[noreturn]] void raise(const Error& error);

/// Returns the value, or throws its error. Needs the GIL.
template <class T>
T valueOf(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}
inline void check(const Status& status) {
  if (!status) raise(status.error());
}

/// Returns true, or throws the error. If `path` is damaged but partly readable, issues a Python
/// warning. Needs the GIL.
bool done(const SBTResult& result, const std::string& path);

}  // namespace tracesmith::python
