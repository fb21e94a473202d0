// SPDX-License-Identifier: Apache-2.0
// The times and lengths of Chrome's events, as far as a clock can have given them.
#pragma once

#include <cstdint>

#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/json/json_token.hpp"

namespace tracesmith::import {

/// Whether `time` is a number that fits, also one within quotes, as Ascend writes it; and which.
inline bool isNumber(const JsonToken& time, int64_t unit_ns, int64_t& ns) {
  return (time.text || time.isNumber()) && time.nanoseconds(unit_ns, ns);
}

/// Whether a row has `length` as it stands there.
inline bool isLength(const JsonToken& length, int64_t unit_ns) {
  int64_t ns = 0;
  return isNumber(length, unit_ns, ns) && ns >= 0 && ns <= SpansOfSource::kLongestNs;
}

}  // namespace tracesmith::import
