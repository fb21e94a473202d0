// SPDX-License-Identifier: Apache-2.0
// One event of a trace in Chrome's JSON format, as it stands in the document.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tracesmith::import {

/// A value as it stands in the document; texts without their quotes.
struct JsonToken {
  std::string_view raw;
  simdjson::ondemand::json_type type = simdjson::ondemand::json_type::null;
  bool escaped = false;  ///< a text with a backslash in it

  explicit operator bool() const { return !raw.empty(); }
  bool isText() const { return type == simdjson::ondemand::json_type::string; }
  /// A number, also one within quotes, without what follows its point; `missing` where it is none.
  int64_t integer(int64_t missing = 0) const;
  /// A decimal number of `unit_ns` each, in ns; exact, but for what is less than a ns.
  int64_t nanoseconds(int64_t unit_ns) const;
};

struct ChromeArgument {
  std::string_view key;
  JsonToken value;
};

/// Its views live until the next window is read.
struct ChromeEvent {
  char phase = 0;
  JsonToken category, name, process, thread, id, time, duration;
  std::vector<ChromeArgument> arguments;

  /// Reads all of `object`. Error: it is damaged.
  simdjson::error_code parse(simdjson::ondemand::object& object);
  JsonToken argument(std::string_view key) const;
};

/// The text of a token, with its escapes resolved where it has any.
std::string_view textOf(const JsonToken& token, std::string& room);

}  // namespace tracesmith::import
