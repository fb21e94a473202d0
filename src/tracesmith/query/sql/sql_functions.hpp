// SPDX-License-Identifier: Apache-2.0
// Functions that SQLite lacks and that questions about traces need.
#pragma once

#include <sqlite3.h>

#include "tracesmith/base/result.hpp"
#include "tracesmith/query/sql/query_engine.hpp"

namespace tracesmith {

/// Registers percentile(x, p) and median(x) = percentile(x, 50), aggregates over the numbers of a
/// group; NULLs do not count. The p-th percentile is the nearest rank, as in
/// analysis/timing/kernel_stats: the smallest value such that at least p % of the values are not
/// greater; p from 0 to 100.
Status registerSqlFunctions(sqlite3* db);

/// Registers source_json(table_name, rowid); `source` must outlive `db`, and may be empty.
Status registerSourceJson(sqlite3* db, const SourceOfRow& source);

}  // namespace tracesmith
