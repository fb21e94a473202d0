// SPDX-License-Identifier: Apache-2.0
// Names for files that must not replace another one: "run.sbt", then "run-2.sbt", "run-3.sbt", ….
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

constexpr int kMostNumberedNames = 10'000;  ///< that are tried

/// True also for a symbolic link without a target.
bool isThere(const std::string& path);

/// "a/good.sbt", 2 -> "a/good-2.sbt"; 1 -> the path itself.
std::string numberedName(const std::string& path, int number);

/// `path`, or the first numbered name that nothing has.
std::string freeName(const std::string& path);

/// Moves a file to a name that nothing has; ErrorCode::kInvalidArgument: something has.
Status moveToFreeName(const std::string& from, const std::string& to);

/// Moves a file to `path`, or to the first numbered name that nothing has. Returns the name.
Result<std::string> moveToNumberedName(const std::string& from, const std::string& path);

}  // namespace tracesmith
