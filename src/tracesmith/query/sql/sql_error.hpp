// SPDX-License-Identifier: Apache-2.0
// Explains an error in a query: where it is, and which name was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/query/catalog/catalog.hpp"

namespace tracesmith {

/// `message` is SQLite's; `offset` is the byte of `sql` it refers to, or -1. Returns one line, such
/// as "no such column: duration, at column 8; did you mean duration_ns?".
std::string explainSqlError(const Catalog& catalog, std::string_view sql, std::string_view message,
                            int offset);

/// The candidate most similar to `typed` (by edit distance, or if one is a prefix of the other), or
/// "" if none is similar.
std::string nearestName(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace tracesmith
