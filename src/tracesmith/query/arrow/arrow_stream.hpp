// SPDX-License-Identifier: Apache-2.0
// Query results as Arrow record batches through the C stream interface. pyarrow, DuckDB, polars and
// others import them without copying, and neither side links to the other.
#pragma once

#include <string_view>

#include "tracesmith/base/result.hpp"
#include "tracesmith/query/arrow/arrow_abi.hpp"
#include "tracesmith/query/sql/query_engine.hpp"

namespace tracesmith {

/// Starts a query and fills `out`, which the caller must release. `engine` must outlive the stream
/// and must not be moved meanwhile. Errors are those of QueryEngine::run(). Later errors come from
/// get_next, as EINVAL, ENOMEM, ECANCELED (cancelled) or EIO.
///
/// Columns are int64, float64 or utf8, all nullable. A column of a table has the type given by the
/// table `schema`. The type of an expression is determined by its first 4096 rows: only integers,
/// numbers, or text. If these are all NULL, the first later value determines it (for which the
/// query runs twice), or utf8 if there is none. A later value of another type ends the stream with
/// EINVAL and an error that suggests a CAST; text among numbers is such a case, for example
/// correlation ids above 2^63. Bytes that are not UTF-8 become U+FFFD.
Status startArrowStream(QueryEngine& engine, std::string_view sql, ArrowArrayStream* out,
                        const QueryOptions& options = {});

}  // namespace tracesmith
