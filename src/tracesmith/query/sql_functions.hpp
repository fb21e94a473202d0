// SPDX-License-Identifier: Apache-2.0
// Aggregates that SQLite lacks and that questions about durations need.
#pragma once

#include <sqlite3.h>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// Registers percentile(x, p) and median(x) = percentile(x, 50), aggregates over the numbers of a
/// group; NULLs do not count. The p-th percentile is the nearest rank, as in analysis/kernel_stats:
/// the smallest value such that at least p % of the values are not greater; p from 0 to 100.
Status registerSqlFunctions(sqlite3* db);

}  // namespace tracesmith
