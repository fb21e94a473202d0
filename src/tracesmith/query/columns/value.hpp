// SPDX-License-Identifier: Apache-2.0
// One cell of a table: NULL, a 64-bit integer, a double or a text.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace tracesmith {

enum class ValueType : uint8_t {
  kNull = 0,
  kInteger = 1,
  kReal = 2,
  kText = 3,
  /// Above 2^63 - 1, which SQL integers cannot hold: `integer` is the bit pattern of the unsigned
  /// number. SQL sees its decimal digits as text. Columns may return it; query results never do.
  kLarge = 4,
};

/// A text is a view. It lives as long as the trace, or, in a row callback, until that returns.
struct Value {
  ValueType type = ValueType::kNull;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;

  static Value ofInteger(int64_t v) { return {ValueType::kInteger, v, 0, {}}; }
  static Value ofUnsigned(uint64_t v) {
    const bool fits = v <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return {fits ? ValueType::kInteger : ValueType::kLarge, static_cast<int64_t>(v), 0, {}};
  }
  static Value ofReal(double v) { return {ValueType::kReal, 0, v, {}}; }
  static Value ofText(std::string_view v) { return {ValueType::kText, 0, 0, v}; }

  bool isNull() const { return type == ValueType::kNull; }
  bool isNumber() const { return type == ValueType::kInteger || type == ValueType::kReal; }
};

/// A Value in 16 bytes, for tables that are read many rows at a time.
struct Cell {
  union {
    int64_t integer = 0;
    double real;
    const char* text;
  };
  uint32_t bytes = 0;  ///< length of the text
  ValueType type = ValueType::kNull;

  static Cell of(const Value& v) {
    Cell cell;
    cell.type = v.type;
    if (v.type == ValueType::kReal) {
      cell.real = v.real;
    } else if (v.type == ValueType::kText) {
      cell.text = v.text.data();
      cell.bytes = static_cast<uint32_t>(v.text.size());
    } else {
      cell.integer = v.integer;
    }
    return cell;
  }
};

/// The value as text: "" for NULL; a double with the fewest digits that read back as the same
/// value.
std::string toText(const Value& value);

}  // namespace tracesmith
