// SPDX-License-Identifier: Apache-2.0
// The pattern language for names, in every command and API: a POSIX extended regular expression
// (regex(7)) that matches anywhere in the name. Case counts. `^` and `$` anchor it, so "^gemm$" is
// the whole name. No back references: matching with them takes exponential time.
#pragma once

#include <memory>
#include <string_view>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

class NamePattern {
 public:
  NamePattern() = default;  ///< matches every name
  /// An empty expression matches every name. Fails with kInvalidArgument, which says what is wrong
  /// with the expression; `where` is the option or argument that it was given with.
  static Result<NamePattern> parse(std::string_view expression, std::string_view where = {});

  bool matchesEverything() const { return compiled_ == nullptr; }
  /// Any number of threads at once. Takes a copy of the name and time linear in its length, so keep
  /// the answer for names that return.
  bool matches(std::string_view name) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;  // what all copies share
};

}  // namespace tracesmith
