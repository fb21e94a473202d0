// SPDX-License-Identifier: Apache-2.0
// The clocks that agents read.
#pragma once

#include "tracesmith/base/linux/clock_source.hpp"

namespace tracesmith::agent {

inline int64_t nowNs() { return monotonicNs(); }

/// See counterIsClockSource().
inline bool g_use_tsc = false;

/// Time stamp for a record; the collector converts it to CLOCK_MONOTONIC. [hot]
inline int64_t stamp() { return stampNow(g_use_tsc); }

}  // namespace tracesmith::agent
