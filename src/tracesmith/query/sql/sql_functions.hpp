// SPDX-License-Identifier: Apache-2.0
// SQL functions for traces that SQLite lacks.
#pragma once

#include <sqlite3.h>

#include "tracesmith/base/result.hpp"
#include "tracesmith/query/sql/query_engine.hpp"

namespace tracesmith {

/// Registers the aggregates percentile(x, p) and median(x) = percentile(x, 50) over the numbers of
/// a group; NULLs are ignored. The p-th percentile (p from 0 to 100) uses the nearest rank, as in
/// analysis/timing/kernel_stats: the smallest value such that at least p % of the values are not
/// greater.
Status registerSqlFunctions(sqlite3* db);

/// Registers source_json(table_name, rowid). `source` must outlive `db`, and may be empty.
Status registerSourceJson(sqlite3* db, const SourceOfRow& source);

}  // namespace tracesmith
