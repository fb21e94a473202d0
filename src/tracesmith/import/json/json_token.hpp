// SPDX-License-Identifier: Apache-2.0
// One value of a JSON document, found and checked in one pass over its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "tracesmith/model/source_rows.hpp"

namespace tracesmith::import {

/// Zeros that have to be behind what is to be scanned.
constexpr size_t kJsonPadding = 64;

enum class JsonType : uint8_t {
  kInteger,  ///< an integer of 64 bits, without "-0"
  kDecimal,  ///< one to three digits behind the point, no exponent, thousandths of 64 bits
  kText,     ///< a text of whole characters
  kOther,    ///< anything else, to be kept as it stands: true, null, lists, objects, 1e9, …
};
constexpr size_t kJsonTypes = 4;

/// Why a value, or an event, could not be used.
enum class JsonFault : uint8_t {
  kNone,
  kIncomplete,  ///< it does not end before the bytes do
  kControl,     ///< a control character within a text
  kUtf8,        ///< a text is no UTF-8
  kNumber,      ///< NaN or an infinity
  kDepth,       ///< lists and objects are nested too deep
  kSyntax,      ///< it is not JSON
};
std::string_view describe(JsonFault fault);

/// How a trace keeps a value of that type where no column holds it.
SourceGap keptAs(JsonType type);

/// A value as it stands in the document; texts without their quotes.
struct JsonToken {
  std::string_view raw;
  int64_t value = 0;  ///< of a kInteger; thousandths of a kDecimal
  JsonType type = JsonType::kOther;
  bool text = false;     ///< it stands in quotes; kOther where no text can hold what it says
  bool escaped = false;  ///< a text with a backslash in it

  explicit operator bool() const { return !raw.empty(); }
  bool isNumber() const {
    return !text && !raw.empty() && (raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9'));
  }
  /// A number, also one within quotes, without what follows its point; `missing` where it is none
  /// (also where something follows it: "100a"), or larger than 64 bits.
  int64_t integer(int64_t missing = 0) const;
  /// Whether it is a number of `unit_ns` (1 or 1000) each that fits, and how many ns that is: the
  /// nearest to the decimal number that stands there, halves away from zero.
  bool nanoseconds(int64_t unit_ns, int64_t& ns) const;
};

/// What is wrong but has a plain meaning is mended where it stands when `mended` is given, and
/// counted there.
struct JsonMending {
  uint64_t controls = 0;          ///< control characters: spaces
  uint64_t bytes = 0;             ///< of no character: question marks
  uint64_t numbers = 0;           ///< that are none (NaN): null
  std::deque<std::string> texts;  ///< of values that could not be mended where they stand
};

/// Scans the value at `at`, which has to end before `end`; `at` is behind it afterwards, or where
/// the fault is. Objects and lists are one kOther.
JsonFault scanValue(const char*& at, const char* end, JsonToken& token,
                    JsonMending* mended = nullptr);
/// The same for a text, `at` its opening quote.
JsonFault scanText(const char*& at, const char* end, JsonToken& token,
                   JsonMending* mended = nullptr);

/// To the next byte that is no space.
inline const char* skipSpaces(const char* at, const char* end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  return at;
}

/// The text of a token, with its escapes resolved where it has any.
std::string_view textOf(const JsonToken& token, std::string& room);

}  // namespace tracesmith::import
