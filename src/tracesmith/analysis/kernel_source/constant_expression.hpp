// SPDX-License-Identifier: Apache-2.0
// Evaluates C constant expressions: integers after #if, and real numbers where code uses the value
// of a macro. A value is known only if it is the same for every type that C could give it. Values
// that do not fit an int, wrap around or depend on rounding are unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "tracesmith/analysis/kernel_source/source_tokens.hpp"

namespace tracesmith::races {

struct Constant {
  int64_t whole = 0;  ///< within the range of int
  double real = 0;
  bool is_real = false;
  bool is_unsigned = false;
  bool isTrue() const { return is_real ? real != 0 : whole != 0; }
};

/// Returns the value of a name; nothing if unknown.
using ConstantOfName = std::function<std::optional<Constant>(std::string_view name)>;

/// The value of the expression `tokens`. Nothing if it is not constant or unknown.
std::optional<Constant> constantOf(std::span<const Token> tokens, const ConstantOfName& names);

/// `value` converted to the type of a variable whose declaration has the words `type` before its
/// name, for example `const uchar`. Nothing if the words are not all scalar types and qualifiers of
/// the language.
std::optional<Constant> constantAs(std::span<const Token> type, const Constant& value);

/// The value of a parameter that was set to these bytes, in the byte order of x86 and ARM. Nothing
/// if its type is not scalar or has another size.
std::optional<Constant> constantOfBytes(std::span<const Token> type,
                                        std::span<const uint8_t> bytes);

}  // namespace tracesmith::races
