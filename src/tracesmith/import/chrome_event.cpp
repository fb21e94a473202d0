// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/chrome_event.hpp"

#include <cstring>

namespace tracesmith::import {
namespace {

using simdjson::error_code;
using simdjson::ondemand::json_type;

/// A raw text is followed by its quote.
std::string_view keyOf(simdjson::ondemand::raw_json_string raw) {
  const char* const begin = raw.raw();
  const char* end = begin;
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  return {begin, static_cast<size_t>(end - begin)};
}

error_code take(simdjson::ondemand::value& value, JsonToken& token) {
  if (error_code error = value.type().get(token.type)) return error;
  if (token.type == json_type::array || token.type == json_type::object) {
    return simdjson::to_json_string(value).get(token.raw);
  }
  std::string_view raw = value.raw_json_token();
  if (token.type == json_type::string) {
    // From quote to quote, with spaces behind.
    while (!raw.empty() && raw.back() != '"') raw.remove_suffix(1);
    if (raw.size() < 2) return simdjson::STRING_ERROR;
    token.raw = raw.substr(1, raw.size() - 2);
    token.escaped = std::memchr(token.raw.data(), '\\', token.raw.size()) != nullptr;
    return simdjson::SUCCESS;
  }
  while (!raw.empty() && static_cast<uint8_t>(raw.back()) <= ' ') raw.remove_suffix(1);
  token.raw = raw;
  return raw.empty() ? simdjson::TAPE_ERROR : simdjson::SUCCESS;
}

/// Up to four hexadecimal digits; -1 where they are none.
int32_t hexadecimal(std::string_view digits) {
  int32_t value = 0;
  if (digits.size() < 4) return -1;
  for (size_t i = 0; i < 4; ++i) {
    const char c = digits[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void appendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

}  // namespace

std::string_view textOf(const JsonToken& token, std::string& room) {
  if (!token.escaped) return token.raw;
  room.clear();
  const std::string_view raw = token.raw;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      room += raw[i];
      continue;
    }
    const char c = raw[++i];
    if (c != 'u') {
      constexpr std::string_view kNames = "bfnrt";
      constexpr std::string_view kMeanings = "\b\f\n\r\t";
      const size_t known = kNames.find(c);
      room += known == std::string_view::npos ? c : kMeanings[known];
      continue;
    }
    int32_t code = hexadecimal(raw.substr(i + 1));
    if (code < 0) {
      room += "\\u";
      continue;
    }
    i += 4;
    if (code >= 0xd800 && code < 0xdc00 && raw.substr(i + 1, 2) == "\\u") {
      const int32_t low = hexadecimal(raw.substr(i + 3));
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i += 6;
      }
    }
    const bool half = code >= 0xd800 && code < 0xe000;
    appendUtf8(room, half ? 0xfffd : static_cast<uint32_t>(code));
  }
  return room;
}

int64_t JsonToken::integer(int64_t missing) const {
  size_t i = 0;
  const bool negative = i < raw.size() && raw[i] == '-';
  if (negative) ++i;
  const size_t first = i;
  uint64_t value = 0;
  for (; i < raw.size() && raw[i] >= '0' && raw[i] <= '9'; ++i) {
    if (i - first >= 19) return missing;
    value = value * 10 + static_cast<uint64_t>(raw[i] - '0');
  }
  if (i == first || value > static_cast<uint64_t>(INT64_MAX)) return missing;
  return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

int64_t JsonToken::nanoseconds(int64_t unit_ns) const {
  size_t i = 0;
  const bool negative = i < raw.size() && raw[i] == '-';
  if (negative) ++i;
  __int128 value = 0;
  int digits = 0;
  for (; i < raw.size() && raw[i] >= '0' && raw[i] <= '9' && digits < 24; ++i, ++digits) {
    value = value * 10 + (raw[i] - '0');
  }
  value *= unit_ns;
  if (i < raw.size() && raw[i] == '.') {
    int64_t scale = unit_ns;
    for (++i; i < raw.size() && raw[i] >= '0' && raw[i] <= '9' && scale > 1; ++i) {
      scale /= 10;
      value += scale * (raw[i] - '0');
    }
    while (i < raw.size() && raw[i] >= '0' && raw[i] <= '9') ++i;
  }
  if (i < raw.size() &&
      (raw[i] == 'e' || raw[i] == 'E')) {  // nobody writes times so, but it is JSON
    const double number =
        std::strtod(std::string(raw).c_str(), nullptr) * static_cast<double>(unit_ns);
    if (!(number > -9.2e18 && number < 9.2e18)) return 0;
    return static_cast<int64_t>(number);
  }
  if (value > INT64_MAX) return 0;
  return static_cast<int64_t>(negative ? -value : value);
}

error_code ChromeEvent::parse(simdjson::ondemand::object& object) {
  phase = 0;
  category = name = process = thread = id = time = duration = {};
  arguments.clear();
  for (auto item : object) {
    simdjson::ondemand::field field;
    if (error_code error = std::move(item).get(field)) return error;
    const std::string_view key = keyOf(field.key());
    simdjson::ondemand::value value = field.value();
    if (key == "args") {
      simdjson::ondemand::object members;
      JsonToken other;
      if (value.get_object().get(members)) {
        if (error_code error = take(value, other)) return error;
        continue;
      }
      for (auto member : members) {
        simdjson::ondemand::field argument;
        if (error_code error = std::move(member).get(argument)) return error;
        ChromeArgument& kept = arguments.emplace_back();
        kept.key = keyOf(argument.key());
        if (error_code error = take(argument.value(), kept.value)) return error;
      }
      continue;
    }
    JsonToken token;
    if (error_code error = take(value, token)) return error;
    if (key == "ph") {
      phase = token.raw.size() == 1 ? token.raw[0] : '\0';
    } else if (key == "ts") {
      time = token;
    } else if (key == "dur") {
      duration = token;
    } else if (key == "name") {
      name = token;
    } else if (key == "cat") {
      category = token;
    } else if (key == "pid") {
      process = token;
    } else if (key == "tid") {
      thread = token;
    } else if (key == "id") {
      id = token;
    }
  }
  return simdjson::SUCCESS;
}

JsonToken ChromeEvent::argument(std::string_view key) const {
  for (const ChromeArgument& a : arguments) {
    if (a.key == key) return a.value;
  }
  return {};
}

}  // namespace tracesmith::import
