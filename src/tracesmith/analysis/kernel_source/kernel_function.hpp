// SPDX-License-Identifier: Apache-2.0
// What one function of a kernel's source does with the pointers that it is given.
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

/// Parameters of a function, one bit each. Those from 63 on share the last.
using ParameterSet = uint64_t;
constexpr ParameterSet parameterBit(size_t i) { return ParameterSet{1} << (i < 63 ? i : 63); }

struct FunctionEffects {
  ParameterSet read = 0;  ///< memory that they point to
  ParameterSet written = 0;
  ParameterSet read_deep = 0;  ///< memory behind pointers that lie in that memory
  ParameterSet written_deep = 0;
  ParameterSet returned = 0;
  ParameterSet lost = 0;                   ///< gone where it cannot be followed
  std::array<ParameterSet, 64> into = {};  ///< put into the memory of each
  /// Whose values a condition asks for, and the function does not change: what it does may be less
  /// where these are known.
  ParameterSet asked = 0;
  bool understood = true;
};

struct SourceFunction {
  std::string_view name;
  std::vector<std::span<const Token>> parameters;
  std::span<const Token> body;  ///< between its braces
  bool is_kernel = false;
  /// Of parameters, at the call that is looked at.
  std::unordered_map<std::string_view, Constant> values;
};

/// The last word before any brackets of an array.
std::string_view nameOfParameter(std::span<const Token> parameter);

/// What is known of the program while a function is looked at.
struct SourceNames {
  std::unordered_set<std::string_view> types;    ///< by typedef
  std::unordered_set<std::string_view> globals;  ///< words of declarations outside functions
  /// Members of any struct that are pointers, and those that are arrays.
  std::unordered_set<std::string_view> member_pointers, member_arrays;
  std::unordered_map<std::string_view, Constant> constants;  ///< outside functions
  /// The effects of a function of the program; nullptr: it has none of that name.
  std::function<const FunctionEffects*(std::string_view name)> effects;
};

bool isTypeWord(std::string_view word, const SourceNames& names);

/// Linear in the tokens, but for going over them again while pointers reach further variables, ten
/// times at most.
FunctionEffects effectsOf(const SourceFunction& function, const SourceNames& names);

}  // namespace tracesmith::races
