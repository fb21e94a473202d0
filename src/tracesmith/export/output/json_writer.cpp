// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/output/json_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace tracesmith {
namespace {

/// Bytes that need no escape: printable ASCII except quote and backslash.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x7f; ++c) plain[static_cast<size_t>(c)] = c != '"' && c != '\\';
  return plain;
}();

void appendControl(std::string& out, uint8_t c) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

}  // namespace

size_t utf8Length(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const auto between = [&](size_t i, int low, int high) {
    return i < s.size() && byte(i) >= low && byte(i) <= high;
  };
  const uint8_t b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xc2 && b <= 0xdf) return between(1, 0x80, 0xbf) ? 2 : 0;
  if (b >= 0xe0 && b <= 0xef) {
    const int low = b == 0xe0 ? 0xa0 : 0x80;
    const int high = b == 0xed ? 0x9f : 0xbf;  // no surrogates
    return between(1, low, high) && between(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (b >= 0xf0 && b <= 0xf4) {
    const int low = b == 0xf0 ? 0x90 : 0x80;
    const int high = b == 0xf4 ? 0x8f : 0xbf;
    return between(1, low, high) && between(2, 0x80, 0xbf) && between(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

void appendJsonEscaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    size_t n = 0;
    while (n < text.size() && kPlain[static_cast<uint8_t>(text[n])]) ++n;
    out.append(text.substr(0, n));
    text.remove_prefix(n);
    if (text.empty()) return;
    const auto c = static_cast<uint8_t>(text[0]);
    if (c < 0x80) {
      appendControl(out, c);
      text.remove_prefix(1);
    } else if (const size_t length = utf8Length(text)) {
      out.append(text.substr(0, length));
      text.remove_prefix(length);
    } else {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
    }
  }
}

char* putDecimal(char* out, uint64_t v) { return std::to_chars(out, out + 20, v).ptr; }
char* putDecimal(char* out, int64_t v) { return std::to_chars(out, out + 20, v).ptr; }

char* putMicroseconds(char* out, int64_t ns) {
  uint64_t magnitude = static_cast<uint64_t>(ns);
  if (ns < 0) {
    *out++ = '-';
    magnitude = 0 - magnitude;
  }
  out = putDecimal(out, magnitude / 1000);
  const auto rest = static_cast<unsigned>(magnitude % 1000);
  *out++ = '.';
  *out++ = static_cast<char>('0' + rest / 100);
  *out++ = static_cast<char>('0' + rest / 10 % 10);
  *out++ = static_cast<char>('0' + rest % 10);
  return out;
}

void JsonWriter::newLine() {
  if (indent_ <= 0) return;
  out_.put('\n');
  for (size_t i = 0; i < has_items_.size() * static_cast<size_t>(indent_); ++i) out_.put(' ');
}

void JsonWriter::before() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) out_.put(',');
  has_items_.back() = true;
  newLine();
}

JsonWriter& JsonWriter::open(char bracket) {
  before();
  out_.put(bracket);
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  const bool had_items = has_items_.back();
  has_items_.pop_back();
  if (had_items) newLine();
  out_.put(bracket);
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before();
  scratch_.assign(1, '"');
  appendJsonEscaped(scratch_, name);
  scratch_ += indent_ > 0 ? "\": " : "\":";
  out_.write(scratch_);
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  scratch_.assign(1, '"');
  appendJsonEscaped(scratch_, text);
  scratch_ += '"';
  return raw(scratch_);
}

JsonWriter& JsonWriter::value(double v) {
  if (!std::isfinite(v)) return null();
  char text[40];
  return raw({text, static_cast<size_t>(std::to_chars(text, text + sizeof text, v).ptr - text)});
}

JsonWriter& JsonWriter::number(int64_t v) {
  char text[24];
  return raw({text, static_cast<size_t>(putDecimal(text, v) - text)});
}

JsonWriter& JsonWriter::number(uint64_t v) {
  char text[24];
  return raw({text, static_cast<size_t>(putDecimal(text, v) - text)});
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  before();
  out_.write(json);
  return *this;
}

}  // namespace tracesmith
