// SPDX-License-Identifier: Apache-2.0
// The times and lengths of Chrome's events, as far as a clock can have given them.
#pragma once

#include <cstdint>

#include "tracesmith/import/json_token.hpp"

namespace tracesmith::import {

/// Whether `time` is one, and which. Beyond 146 years on either side of 0 it is none.
inline bool isTime(const JsonToken& time, int64_t unit_ns, int64_t& ns) {
  constexpr int64_t kLastNs = int64_t{1} << 62;
  if (!time.isNumber()) {
    // Within quotes, as Ascend writes it; without a sign.
    const bool digit = time.text && !time.raw.empty() && time.raw[0] >= '0' && time.raw[0] <= '9';
    if (!digit) return false;
  }
  return time.nanoseconds(unit_ns, ns) && ns > -kLastNs && ns < kLastNs;
}

/// Whether `length` is one. Where it is none, a row has 0.
inline bool isLength(const JsonToken& length, int64_t unit_ns, int64_t& ns) {
  if (isTime(length, unit_ns, ns) && ns >= 0) return true;
  ns = 0;
  return false;
}

}  // namespace tracesmith::import
