// SPDX-License-Identifier: Apache-2.0
// C's expressions of constants: of whole numbers after #if, and of real numbers as well where code
// asks for the value of a macro. A value is known only where no type that C could give it makes it
// another: what does not fit an int, what wraps around, and what rounding decides is not known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "tracesmith/analysis/kernel_source/source_tokens.hpp"

namespace tracesmith::races {

struct Constant {
  int64_t whole = 0;  ///< within an int
  double real = 0;
  bool is_real = false;
  bool is_unsigned = false;
  bool isTrue() const { return is_real ? real != 0 : whole != 0; }
};

/// The value of a name; nothing: it has none that is known.
using ConstantOfName = std::function<std::optional<Constant>(std::string_view name)>;

/// The value of all of `tokens`. Nothing where it is no constant, or not known.
std::optional<Constant> constantOf(std::span<const Token> tokens, const ConstantOfName& names);

/// The value of a variable whose declaration has these words before its name, as `const uchar` has.
/// Nothing too where they are not all of the language's scalar types and qualifiers.
std::optional<Constant> constantAs(std::span<const Token> type, const Constant& value);

/// The value of a parameter that was given these bytes, in the order of x86 and ARM. Nothing where
/// it is of no scalar type, or of one with another size.
std::optional<Constant> constantOfBytes(std::span<const Token> type,
                                        std::span<const uint8_t> bytes);

}  // namespace tracesmith::races
