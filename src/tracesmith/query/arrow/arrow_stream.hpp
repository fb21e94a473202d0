// SPDX-License-Identifier: Apache-2.0
// Answers as Arrow record batches, by the C stream interface: pyarrow, DuckDB, polars and others
// take them without copying and without linking to us, nor we to them.
#pragma once

#include <string_view>

#include "tracesmith/base/result.hpp"
#include "tracesmith/query/arrow/arrow_abi.hpp"
#include "tracesmith/query/sql/query_engine.hpp"

namespace tracesmith {

/// Starts a query and fills `out`, which the caller releases; `engine` must outlive it and may not
/// be moved meanwhile. Errors as those of QueryEngine::run(); later ones come from get_next,
/// as EINVAL, ENOMEM, ECANCELED (it was cancelled) or EIO.
///
/// Columns are int64, float64 or utf8, all nullable. A column of a table has the type that `schema`
/// says; that of an expression is what its first 4096 rows show: whole numbers only, numbers, or
/// texts. Where they are all NULL, it is that of the first value that comes, for which the query
/// runs twice; utf8 when none does. A later value that does not fit (a text among numbers, as
/// correlation ids beyond 2^63 are) ends the stream with EINVAL and an error that says to CAST.
/// Bytes that are not UTF-8 become U+FFFD.
Status startArrowStream(QueryEngine& engine, std::string_view sql, ArrowArrayStream* out,
                        const QueryOptions& options = {});

}  // namespace tracesmith
