// SPDX-License-Identifier: Apache-2.0
// Keeps a member of a JSON document (other than its events or nodes) verbatim in the trace's
// metadata:
//
//   "source.NAME" = raw, or, if raw is larger than a string of a trace may be,
//   "source_part.0.NAME", "source_part.1.NAME", … = its parts in order
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/format/encoding/sbt_layout.hpp"

namespace tracesmith::import {

/// Calls `set(key, value)` for each metadata row of the member.
template <class Set>
void keepSourceMember(std::string_view name, std::string_view raw, const Set& set) {
  if (raw.size() <= sbt::kMaxStringBytes) {
    set("source." + std::string(name), raw);
    return;
  }
  for (size_t part = 0; !raw.empty(); ++part) {
    size_t bytes = std::min<size_t>(raw.size(), sbt::kMaxStringBytes);
    // Do not split a UTF-8 character.
    while (bytes < raw.size() && bytes > 1 && (static_cast<uint8_t>(raw[bytes]) & 0xc0) == 0x80) {
      --bytes;
    }
    set("source_part." + std::to_string(part) + "." + std::string(name), raw.substr(0, bytes));
    raw.remove_prefix(bytes);
  }
}

}  // namespace tracesmith::import
