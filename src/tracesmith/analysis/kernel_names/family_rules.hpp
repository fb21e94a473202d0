// SPDX-License-Identifier: Apache-2.0
// The rules that give a kernel its family. docs/kernel_names.md explains them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tracesmith/analysis/kernel_names/kernel_family.hpp"

namespace tracesmith {

/// Where a rule's text must be found.
enum class RulePlace : uint8_t {
  kStart,     ///< the name starts with it, namespaces included
  kFunction,  ///< in the function's name or its namespaces
  kAnywhere,  ///< there, or in its template arguments
};

struct FamilyRule {
  KernelFamily family;
  RulePlace place;
  std::string_view text;            ///< in lower case; names are compared without case
  std::string_view not_after = {};  ///< no match directly after this text
};

/// The first rule that matches decides. No rule is about collectives: isCollectiveKernel() is.
std::span<const FamilyRule> familyRules();

/// The family of a function, by the rules. `head` is its name with namespaces and template
/// arguments, of which the first `function_bytes` are not template arguments.
KernelFamily familyByRules(std::string_view head, size_t function_bytes);

}  // namespace tracesmith
