// SPDX-License-Identifier: Apache-2.0
// Tables whose rows are rows of several others, one below the other: `span` is everything that
// has a start and a duration, `collective` what collective libraries do. Nothing is copied.
#pragma once

#include <memory>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/query/columns/sql_table.hpp"

namespace tracesmith {

/// Made from `tables`, those of the schema, which must outlive them as must `trace`.
std::vector<std::unique_ptr<SqlTable>> makeStackedTables(
    const Trace& trace, const std::vector<std::unique_ptr<SqlTable>>& tables);

}  // namespace tracesmith
