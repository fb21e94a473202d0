// SPDX-License-Identifier: Apache-2.0
// What a function of a kernel's source does with the pointers passed to it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracesmith/analysis/kernel_source/constant_expression.hpp"
#include "tracesmith/analysis/kernel_source/source_tokens.hpp"

namespace tracesmith::races {

/// Parameters of a function, one bit each. Parameters from index 63 on share the last bit.
using ParameterSet = uint64_t;
constexpr ParameterSet parameterBit(size_t i) { return ParameterSet{1} << (i < 63 ? i : 63); }

struct FunctionEffects {
  ParameterSet read = 0;  ///< memory that the parameters point to
  ParameterSet written = 0;
  ParameterSet read_deep = 0;  ///< memory reached through pointers stored in that memory
  ParameterSet written_deep = 0;
  ParameterSet returned = 0;
  ParameterSet lost = 0;  ///< pointers that cannot be followed further
  /// into[i]: pointers stored in the memory of parameter i
  std::array<ParameterSet, 64> into = {};
  /// Parameters used in a condition and not changed by the function. With known values the function
  /// may do less.
  ParameterSet asked = 0;
  bool understood = true;
};

struct SourceFunction {
  std::string_view name;
  std::vector<std::span<const Token>> parameters;
  std::span<const Token> body;  ///< tokens between its braces
  bool is_kernel = false;
  /// Values of parameters at the analysed call.
  std::unordered_map<std::string_view, Constant> values;
};

/// The parameter's name: the last word before any array brackets.
std::string_view nameOfParameter(std::span<const Token> parameter);

/// Known facts about the program while a function is analysed.
struct SourceNames {
  std::unordered_set<std::string_view> types;    ///< names of typedefs
  std::unordered_set<std::string_view> globals;  ///< words in declarations outside of functions
  /// Struct members that are pointers, and those that are arrays.
  std::unordered_set<std::string_view> member_pointers, member_arrays;
  /// Constants defined outside of functions.
  std::unordered_map<std::string_view, Constant> constants;
  /// Returns the effects of a function of the program; nullptr: no function has that name.
  std::function<const FunctionEffects*(std::string_view name)> effects;
};

bool isTypeWord(std::string_view word, const SourceNames& names);

/// Takes time linear in the number of tokens. Repeats while pointers reach further variables, at
/// most ten times.
FunctionEffects effectsOf(const SourceFunction& function, const SourceNames& names);

}  // namespace tracesmith::races
