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

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/import/byte_source.hpp"
#include "tracesmith/import/json_events.hpp"

namespace tracesmith::import {

/// What has come in, and what has not.
struct ImportCounts {
  uint64_t events = 0;    ///< of the source
  uint64_t rows = 0;      ///< events that became rows of the trace's tables
  uint64_t metadata = 0;  ///< names and orders of processes and threads
  uint64_t others = 0;    ///< events of no known kind, or without a time: kept as they are, no rows
  uint64_t bytes = 0;     ///< of the document, unpacked
  std::vector<JsonDamage> damage;
};

/// Reads all of `source` and appends it to `writer`, which is left unfinished, behind what `delta`
/// has already.
Result<ImportCounts> importChromeJson(ByteSource& source, TraceWriter& writer, Trace delta = {});

}  // namespace tracesmith::import
