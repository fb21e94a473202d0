// SPDX-License-Identifier: Apache-2.0
// Streaming JSON writer; all JSON that TraceSmith prints goes through it. It handles commas and
// escaping. A text may be any bytes: those that are not UTF-8 become U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tracesmith/export/output/output.hpp"

namespace tracesmith {

/// Length of the well-formed UTF-8 sequence at the start of `s` (Unicode 15, table 3-7), or 0. `s`
/// must not be empty.
size_t utf8Length(std::string_view s);

/// Appends `text` to `out`, escaped for a JSON string, without quotes.
void appendJsonEscaped(std::string& out, std::string_view text);

/// Writes one JSON document to an Output: indented for people if `indent` > 0, else on one line.
/// The caller must make calls in a valid order (a key before each value of an object).
class JsonWriter {
 public:
  explicit JsonWriter(Output& out, int indent = 0) : out_(out), indent_(indent) {}

  JsonWriter& beginObject() { return open('{'); }
  JsonWriter& endObject() { return close('}'); }
  JsonWriter& beginArray() { return open('['); }
  JsonWriter& endArray() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool v) { return raw(v ? "true" : "false"); }
  /// Writes the shortest text that reads back as the same double; null if it is not finite.
  JsonWriter& value(double v);
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) JsonWriter& value(T v) {
    if constexpr (std::is_signed_v<T>) return number(static_cast<int64_t>(v));
    return number(static_cast<uint64_t>(v));
  }
  JsonWriter& null() { return raw("null"); }
  /// Writes a value that is already JSON.
  JsonWriter& raw(std::string_view json);

  /// Calls key() and value().
  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& number(int64_t v);
  JsonWriter& number(uint64_t v);
  void before();
  void newLine();

  Output& out_;
  int indent_;
  std::vector<bool> has_items_;  // per open bracket
  bool after_key_ = false;
  std::string scratch_;
};

/// Decimal digits of `v` at `out` (room for 20); returns the end.
char* putDecimal(char* out, uint64_t v);
char* putDecimal(char* out, int64_t v);
/// ns as microseconds with exactly three decimals, e.g. 1234567 as "1234.567" (room for 24).
char* putMicroseconds(char* out, int64_t ns);

}  // namespace tracesmith
