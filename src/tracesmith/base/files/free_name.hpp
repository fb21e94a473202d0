// SPDX-License-Identifier: Apache-2.0
// Unused file names: "run.sbt", then "run-2.sbt", "run-3.sbt", …, so that no file is replaced.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

constexpr int kMostNumberedNames = 10'000;  ///< how many numbers are tried

/// Whether anything exists at `path`; true also for a symbolic link without a target.
bool isThere(const std::string& path);

/// "a/good.sbt", 2 -> "a/good-2.sbt"; 1 -> the path itself.
std::string numberedName(const std::string& path, int number);

/// `path`, or the first numbered name that is not in use.
std::string freeName(const std::string& path);

/// Moves a file to an unused name; ErrorCode::kInvalidArgument if the name is in use.
Status moveToFreeName(const std::string& from, const std::string& to);

/// Moves a file to `path`, or to the first numbered name that is not in use. Returns the name.
Result<std::string> moveToNumberedName(const std::string& from, const std::string& path);

}  // namespace tracesmith
