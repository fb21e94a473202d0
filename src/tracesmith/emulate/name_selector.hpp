// SPDX-License-Identifier: Apache-2.0
// Selects the operations or calls that a change applies to: "kernel=gemm.*", "copy=",
// "call=cudaMalloc", "communication", or a plain regular expression (POSIX extended), which applies
// to all device work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tracesmith/base/name_pattern.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

class NameSelector {
 public:
  enum class Of : uint8_t { kWork, kKernel, kCommunication, kCopy, kFill, kCall, kHost };

  /// Selects the kernels of collective libraries (isCollectiveKernel).
  static constexpr std::string_view kCommunication = "communication";

  /// Fails with kInvalidArgument if the expression is invalid, and says why.
  static Result<NameSelector> parse(std::string_view text);

  Of of() const { return of_; }
  bool device() const { return of_ != Of::kCall && of_ != Of::kHost; }
  const std::string& text() const { return text_; }
  /// Whether the expression matches somewhere in the name; for kCommunication, whether it is that
  /// of a collective. Each name is matched once.
  bool matches(const Trace& trace, StringId name) const;
  bool matches(const Trace& trace, TableId table, StringId name) const;

 private:
  NameSelector() = default;
  std::string text_;
  Of of_ = Of::kWork;
  NamePattern names_;
  mutable std::unordered_map<StringId, bool> known_;
};

}  // namespace tracesmith
