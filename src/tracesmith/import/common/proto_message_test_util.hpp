// SPDX-License-Identifier: Apache-2.0
// For tests: builds protocol-buffer messages by hand.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace tracesmith::test {

/// A message built field by field.
class Message {
 public:
  Message& number(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message& fixed(uint32_t field, uint64_t value) {
    varint(field << 3 | 1);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Message& real(uint32_t field, double value) {
    return fixed(field, std::bit_cast<uint64_t>(value));
  }
  Message& text(uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_.append(value);
    return *this;
  }
  Message& of(uint32_t field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) bytes_ += static_cast<char>(v | 0x80);
    bytes_ += static_cast<char>(v);
  }
  std::string bytes_;
};

}  // namespace tracesmith::test
