// SPDX-License-Identifier: Apache-2.0
// JSON, written as it goes: the one writer of every JSON that TraceSmith prints. Commas and
// escaping are its work; any bytes are a legal text (what is not UTF-8 becomes U+FFFD).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tracesmith/export/output/output.hpp"

namespace tracesmith {

/// Appends `text` as the inside of a JSON string (without the quotes) to `out`.
void appendJsonEscaped(std::string& out, std::string_view text);

/// Writes one JSON document to an Output. With `indent` > 0 for people, else on one line. The
/// caller keeps the order right (a key before each value of an object); the writer does the rest.
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
  /// Shortest text that reads back as the same double; null when it is not finite.
  JsonWriter& value(double v);
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) JsonWriter& value(T v) {
    if constexpr (std::is_signed_v<T>) return number(static_cast<int64_t>(v));
    return number(static_cast<uint64_t>(v));
  }
  JsonWriter& null() { return raw("null"); }
  /// A value that is JSON already.
  JsonWriter& raw(std::string_view json);

  /// key() and value() in one.
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
