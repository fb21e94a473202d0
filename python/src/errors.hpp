// SPDX-License-Identifier: Apache-2.0
// Failures as Python's exceptions.
#pragma once

#include <string>
#include <utility>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/sbt_file.hpp"

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

/// True; what went wrong is raised, and what could be read of `path` in spite of damage is warned
/// of. Needs the GIL.
bool done(const SBTResult& result, const std::string& path);

}  // namespace tracesmith::python
