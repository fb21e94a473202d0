// SPDX-License-Identifier: Apache-2.0
// Exposes SqlTables to SQLite as eponymous virtual tables (https://sqlite.org/vtab.html). They
// exist without CREATE, are read-only, and compute cells when SQLite asks for them.
#pragma once

#include <sqlite3.h>

#include "tracesmith/base/result.hpp"
#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

/// Registers `table` with `db`. `table` must outlive `db`.
Status registerVirtualTable(sqlite3* db, const SqlTable& table);

}  // namespace tracesmith
