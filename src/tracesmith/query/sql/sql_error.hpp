// SPDX-License-Identifier: Apache-2.0
// Says what is wrong with a query so that the next try is right: the place, and the name that was
// probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/query/catalog/catalog.hpp"

namespace tracesmith {

/// `message` is SQLite's; `offset` the byte of `sql` it points at, or -1. One line, e.g.
/// "no such column: duration, at column 8; did you mean duration_ns?".
std::string explainSqlError(const Catalog& catalog, std::string_view sql, std::string_view message,
                            int offset);

/// The candidate nearest to `typed` (edits of a letter, or one being the beginning of the other),
/// or "" when none is near.
std::string nearestName(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace tracesmith
