// SPDX-License-Identifier: Apache-2.0
// The clocks that agents read.
#pragma once

#include "tracesmith/base/clock_source.hpp"

namespace tracesmith::agent {

inline int64_t nowNs() { return monotonicNs(); }

/// See counterIsClockSource().
inline bool g_use_tsc = false;

/// The time for a record; the collector turns it into CLOCK_MONOTONIC. [hot]
inline int64_t stamp() { return stampNow(g_use_tsc); }

}  // namespace tracesmith::agent
