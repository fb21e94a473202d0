// SPDX-License-Identifier: Apache-2.0
// Columns of a table as one Arrow record batch through the C stream interface; for query results
// see arrow_stream.hpp. Values are not copied; texts are dictionaries.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tracesmith/query/arrow/arrow_abi.hpp"
#include "tracesmith/query/catalog/column_array.hpp"

namespace tracesmith {

/// Fills `out`, which the caller must release, with a stream of one batch of `rows` rows. Types are
/// uint32, int64, uint64, float64, and dictionary<int32, large_utf8> in sorted order. Throws
/// std::bad_alloc.
void startArrowTable(uint64_t rows, std::vector<std::pair<std::string, ColumnArray>> columns,
                     ArrowArrayStream* out);

}  // namespace tracesmith
