// SPDX-License-Identifier: Apache-2.0
// Writes one line of a Chrome JSON trace directly into an Output, because most of an export
// consists of such lines.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/export/output/output.hpp"
#include "tracesmith/model/string_table.hpp"

namespace tracesmith {

/// The strings of a trace, quoted and escaped; each is created once, on first use.
class QuotedStrings {
 public:
  explicit QuotedStrings(const StringTable& strings)
      : strings_(strings), quoted_(strings.size() + 1) {}
  /// Valid as long as this object.
  std::string_view at(StringId id) {
    const auto i = static_cast<size_t>(id) < quoted_.size() ? static_cast<size_t>(id) : 0;
    std::string& text = quoted_[i];
    if (text.empty()) {
      text = '"';
      appendJsonEscaped(text, strings_.at(static_cast<StringId>(i)));
      text += '"';
    }
    return text;
  }

 private:
  const StringTable& strings_;
  std::vector<std::string> quoted_;
};

/// Writes {"ph":...} and further members; the first argument opens the braces of args. Fixed parts
/// use reserved space. Texts are written through Output and may have any length.
class JsonEvent {
 public:
  JsonEvent(Output& out, bool& any, char phase) : out_(out) {
    out_.write(any ? ",\n{\"ph\":\"" : "{\"ph\":\"");
    any = true;
    out_.put(phase);
    out_.put('"');
  }
  JsonEvent(const JsonEvent&) = delete;
  JsonEvent& operator=(const JsonEvent&) = delete;
  ~JsonEvent() { out_.write(in_args_ ? "}}" : "}"); }

  /// `key` is written verbatim, so it includes comma and colon: ",\"ts\":".
  JsonEvent& raw(std::string_view key, std::string_view json) {
    out_.write(key);
    out_.write(json);
    return *this;
  }
  template <class Int>
  [[gnu::always_inline]] JsonEvent& number(std::string_view key, Int v) {
    uint8_t* at = out_.reserve(key.size() + 24);
    std::memcpy(at, key.data(), key.size());
    char* end = reinterpret_cast<char*>(at) + key.size();
    if constexpr (std::is_signed_v<Int>) {
      end = putDecimal(end, static_cast<int64_t>(v));
    } else {
      end = putDecimal(end, static_cast<uint64_t>(v));
    }
    out_.commit(reinterpret_cast<uint8_t*>(end));
    return *this;
  }
  JsonEvent& time(std::string_view key, int64_t ns) {
    uint8_t* at = out_.reserve(key.size() + 24);
    std::memcpy(at, key.data(), key.size());
    char* end = putMicroseconds(reinterpret_cast<char*>(at) + key.size(), ns);
    out_.commit(reinterpret_cast<uint8_t*>(end));
    return *this;
  }

  /// `key` is written verbatim, so it includes quotes and colon: "\"bytes\":".
  template <class Int>
  JsonEvent& arg(std::string_view key, Int v) {
    openArg();
    return number(key, v);
  }
  JsonEvent& rawArg(std::string_view key, std::string_view json) {
    openArg();
    return raw(key, json);
  }
  JsonEvent& textArg(std::string_view key, std::string_view text) {
    std::string quoted = "\"";
    appendJsonEscaped(quoted, text);
    quoted += '"';
    return rawArg(key, quoted);
  }
  /// Writes an argument whose key may be any text.
  JsonEvent& namedArg(std::string_view key, std::string_view text) {
    std::string quoted = "\"";
    appendJsonEscaped(quoted, key);
    quoted += "\":";
    return textArg(quoted, text);
  }

 private:
  void openArg() {
    out_.write(in_args_ ? "," : ",\"args\":{");
    in_args_ = true;
  }

  Output& out_;
  bool in_args_ = false;
};

}  // namespace tracesmith
