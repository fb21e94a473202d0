// SPDX-License-Identifier: Apache-2.0
// Tables that concatenate rows of several other tables: `span` is everything with a start and a
// duration, `collective` is the work of collective libraries. Nothing is copied.
#pragma once

#include <memory>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

/// `tables` are the tables of the schema. They and `trace` must outlive the result.
std::vector<std::unique_ptr<SqlTable>> makeStackedTables(
    const Trace& trace, const std::vector<std::unique_ptr<SqlTable>>& tables);

}  // namespace tracesmith
