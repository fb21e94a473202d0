// SPDX-License-Identifier: Apache-2.0
// Which operations or calls a change is for: "kernel=gemm.*", "copy=", "call=cudaMalloc", or a
// regular expression (POSIX, extended) alone, which looks at all device work.
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
  enum class Of : uint8_t { kWork, kKernel, kCopy, kFill, kCall, kHost };

  /// Fails with kInvalidArgument where the expression is none, and says why.
  static Result<NameSelector> parse(std::string_view text);

  Of of() const { return of_; }
  bool device() const { return of_ != Of::kCall && of_ != Of::kHost; }
  const std::string& text() const { return text_; }
  /// Whether an expression finds something in the name; each name is looked at once.
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
