// SPDX-License-Identifier: Apache-2.0
// Times as the page has them: ns from the start of the trace.
#pragma once

#include <cstdint>
#include <limits>

namespace tracesmith::studio {

/// `ns` minus `zero_ns`, or the number nearest to it: times of a damaged trace can be anything.
constexpr int64_t relativeTo(int64_t zero_ns, int64_t ns) {
  int64_t out = 0;
  if (!__builtin_sub_overflow(ns, zero_ns, &out)) return out;
  return ns > zero_ns ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

}  // namespace tracesmith::studio
