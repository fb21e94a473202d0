// SPDX-License-Identifier: Apache-2.0
// Traces in Chrome's JSON format, above all those of PyTorch's profiler (Kineto), of which there
// are three vocabularies: Kernel, Runtime, Memcpy (2021); kernel, cuda_runtime, gpu_memcpy with
// flows async_cpu_to_gpu; and the same with flows ac2g. Categories that nobody knows become ranges.
//
// Times are those of the document ("ts", in µs with or without a fraction); a snapshot of the clock
// says what Unix time they are (baseTimeNanoseconds, which may come last). Device work is on the
// stream and device that its arguments name, else on those that "pid" and "tid" stand for.
//
// Nothing of an event is lost: what no column holds is kept beside the rows
// (model/source_rows.hpp).
#pragma once

#include "tracesmith/import/chrome/chrome_dialects.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

class ExecutionTraceJoin;

extern const Importer kChromeJsonImporter;

/// All of `source`, as an importer does. `join`: nodes that operators get as attributes.
Result<ImportCounts> importChromeJson(ByteSource& source, TraceWriter& writer, Trace facts,
                                      ChromeDialect dialect = ChromeDialect::kCommon,
                                      ExecutionTraceJoin* join = nullptr);

}  // namespace tracesmith::import
