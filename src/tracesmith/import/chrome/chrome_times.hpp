// SPDX-License-Identifier: Apache-2.0
// Reads and checks times and lengths of Chrome's events.
#pragma once

#include <cstdint>

#include "tracesmith/import/common/source_interval.hpp"
#include "tracesmith/import/json/json_token.hpp"

namespace tracesmith::import {

/// Whether `time` is a number in range; quoted numbers, which Ascend writes, are accepted. Sets
/// `ns`.
inline bool isNumber(const JsonToken& time, int64_t unit_ns, int64_t& ns) {
  return (time.text || time.isNumber()) && time.nanoseconds(unit_ns, ns);
}

/// Whether `length` is one that a row can store unchanged.
inline bool isLength(const JsonToken& length, int64_t unit_ns) {
  int64_t ns = 0;
  return isNumber(length, unit_ns, ns) && ns >= 0 && ns <= SpansOfSource::kLongestNs;
}

}  // namespace tracesmith::import
