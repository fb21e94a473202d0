// SPDX-License-Identifier: Apache-2.0
// Failures as Python's exceptions.
#pragma once

#include <utility>

#include "tracesmith/base/result.hpp"

namespace tracesmith::python {

/// Throws the exception of tracesmith/_errors.py that `error` is. Needs the GIL.
[[noreturn]] void raise(const Error& error);

/// The value, or its exception. Needs the GIL.
template <class T>
T valueOf(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}
inline void check(const Status& status) {
  if (!status) raise(status.error());
}

}  // namespace tracesmith::python
