// SPDX-License-Identifier: Apache-2.0
// Imports traces in Chrome's JSON format, above all those of PyTorch's profiler (Kineto). Kineto
// has used three vocabularies:
//   - Kernel, Runtime, Memcpy (2021);
//   - kernel, cuda_runtime, gpu_memcpy, with flows named async_cpu_to_gpu;
//   - the same categories with flows named ac2g.
// Events of unknown categories become ranges.
//
// Trace times are those of the document ("ts", in µs with or without a fraction). A clock snapshot
// relates them to Unix time (baseTimeNanoseconds, which may come last). Device work is on the
// stream and device named by its arguments; without those, on the ones that "pid" and "tid" stand
// for.
//
// No part of an event is lost: values that no column holds are kept beside the rows
// (model/source_rows.hpp).
#pragma once

#include "tracesmith/import/chrome/chrome_dialects.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

class ExecutionTraceJoin;

extern const Importer kChromeJsonImporter;

/// Does what Importer::run does, for all of `source`. `join`: execution trace nodes to attach to
/// operators as attributes.
Result<ImportCounts> importChromeJson(ByteSource& source, TraceWriter& writer, Trace facts,
                                      ChromeDialect dialect = ChromeDialect::kCommon,
                                      ExecutionTraceJoin* join = nullptr);

}  // namespace tracesmith::import
