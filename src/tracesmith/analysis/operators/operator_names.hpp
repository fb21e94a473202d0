// SPDX-License-Identifier: Apache-2.0
// Which host ranges are operators, and the names under which calls of one operator add up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// Prefix of the ranges of PyTorch's modules: "nn.Module: Linear_0".
constexpr std::string_view kModulePrefix = "nn.Module: ";

/// Which host ranges become nodes of a tree.
enum class OperatorRanges : uint8_t {
  kOperators,  ///< all but modules and Python functions
  kModules,    ///< PyTorch's modules only
  kStacks,     ///< all but steps, so that launches from the same place in each step add up
};

/// Replaces what differs from run to run or from step to step: "0x7ce2d4" becomes "0x*", and
/// "ProfilerStep#12" becomes "ProfilerStep*", as PyTorch writes it.
std::string foldedName(std::string_view name);

/// Numbers the names of host ranges: names that are equal once folded have one number.
class OperatorNames {
 public:
  static constexpr uint32_t kNotWanted = ~uint32_t{0};

  /// `names` receives the names by number; [0] is empty and stands for no range.
  OperatorNames(const Trace& trace, OperatorRanges which, std::vector<std::string>& names);

  /// Number of the name of a row of `range`; kNotWanted if `which` leaves it out.
  uint32_t of(size_t range);

 private:
  bool isWanted(std::string_view name, std::string_view category) const;

  const Trace& trace_;
  OperatorRanges which_;
  std::vector<std::string>& names_;
  std::unordered_map<uint64_t, uint32_t> of_name_and_category_;
  std::unordered_map<std::string, uint32_t> of_text_;
};

}  // namespace tracesmith
