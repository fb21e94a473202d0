// SPDX-License-Identifier: Apache-2.0
// Finds and checks one value of a JSON document in a single pass over its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "tracesmith/model/source_rows.hpp"

namespace tracesmith::import {

/// Number of zeros that must follow the bytes to scan.
constexpr size_t kJsonPadding = 64;

enum class JsonType : uint8_t {
  kInteger,  ///< an integer that fits in 64 bits; not "-0"
  kDecimal,  ///< one to three decimals, no exponent; its thousandths fit in 64 bits
  kText,     ///< a string of complete UTF-8 characters
  kOther,    ///< anything else, kept verbatim: true, null, lists, objects, 1e9, …
};
constexpr size_t kJsonTypes = 4;

/// Why a value, or an event, could not be used.
enum class JsonFault : uint8_t {
  kNone,
  kIncomplete,  ///< the bytes end before the value does
  kControl,     ///< a control character within a text
  kUtf8,        ///< a text is not UTF-8
  kNumber,      ///< NaN or an infinity
  kDepth,       ///< lists and objects are nested too deep
  kSyntax,      ///< not JSON
};
std::string_view describe(JsonFault fault);

/// How a trace keeps a value of that type if no column holds it.
SourceGap keptAs(JsonType type);

/// A value as it appears in the document; texts without quotes.
struct JsonToken {
  std::string_view raw;
  int64_t value = 0;  ///< for kInteger; in thousandths for kDecimal
  JsonType type = JsonType::kOther;
  bool text = false;  ///< a quoted text; `type` is kOther if its content cannot be stored as text
  bool escaped = false;  ///< a text with a backslash in it

  explicit operator bool() const { return !raw.empty(); }
  bool isNumber() const {
    return !text && !raw.empty() && (raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9'));
  }
  /// Value of a number, also of a quoted one, with decimals cut off. Returns `missing` if it is not
  /// a number (also if something follows it: "100a"), or does not fit in 64 bits.
  int64_t integer(int64_t missing = 0) const;
  /// Converts a number in units of `unit_ns` (1 or 1000) to ns, rounded to nearest, halves away
  /// from zero. Returns false if it is not a number or does not fit.
  bool nanoseconds(int64_t unit_ns, int64_t& ns) const;
};

/// Faults that have an obvious repair are repaired in place if a JsonMending is passed, which
/// counts the repairs.
struct JsonMending {
  uint64_t controls = 0;          ///< control characters, replaced by spaces
  uint64_t bytes = 0;             ///< bytes that are not UTF-8, replaced by question marks
  uint64_t numbers = 0;           ///< invalid numbers (NaN), replaced by null
  std::deque<std::string> texts;  ///< storage for values that could not be repaired in place
};

/// Scans the value at `at`, which must end before `end`. On return `at` is after the value, or at
/// the fault. Objects and lists are a single kOther.
JsonFault scanValue(const char*& at, const char* end, JsonToken& token,
                    JsonMending* mended = nullptr);
/// The same for a text; `at` is its opening quote.
JsonFault scanText(const char*& at, const char* end, JsonToken& token,
                   JsonMending* mended = nullptr);

/// The first byte that is not a space.
inline const char* skipSpaces(const char* at, const char* end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  return at;
}

/// The text of a token with escapes resolved; uses `room` only if it has escapes.
std::string_view textOf(const JsonToken& token, std::string& room);

}  // namespace tracesmith::import
