// SPDX-License-Identifier: Apache-2.0
// For tests: writes pickles as PyTorch does (protocol 2).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tracesmith::test {

/// A value of a pickle, as the opcodes that make it.
class PickleText {
 public:
  PickleText(std::string_view text)  // NOLINT: so that tests can write values
      : bytes_("X" + number(text.size()) + std::string(text)) {}
  PickleText(const char* text) : PickleText(std::string_view(text)) {}  // NOLINT
  PickleText(int64_t value) {                                           // NOLINT
    bytes_ = std::string("\x8a\x08", 2);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(static_cast<uint64_t>(value) >> 8 * i);
  }
  PickleText(int value) : PickleText(int64_t{value}) {}  // NOLINT
  static PickleText raw(std::string_view opcodes) {
    PickleText made(0);
    made.bytes_ = opcodes;
    return made;
  }
  static PickleText none() { return raw("N"); }
  static PickleText boolean(bool value) { return raw(value ? "\x88" : "\x89"); }
  static PickleText list(const std::vector<PickleText>& items) {
    std::string bytes = "](";
    for (const PickleText& item : items) bytes += item.bytes_;
    return raw(bytes + "e");
  }
  static PickleText dict(const std::vector<std::pair<PickleText, PickleText>>& items) {
    std::string bytes = "}(";
    for (const auto& [key, value] : items) bytes += key.bytes_ + value.bytes_;
    return raw(bytes + "u");
  }
  const std::string& bytes() const { return bytes_; }
  /// The whole file.
  std::string file() const { return "\x80\x02" + bytes_ + "."; }

 private:
  static std::string number(size_t value) {
    std::string bytes;
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> 8 * i);
    return bytes;
  }
  std::string bytes_;
};

}  // namespace tracesmith::test
