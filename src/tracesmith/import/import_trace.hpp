// SPDX-License-Identifier: Apache-2.0
// Converts foreign traces to SBT. The format is recognised by the content, except that of an Nsight
// Systems report, which nsys has to convert: by its name.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

struct ImportReport {
  std::string format;        ///< for display
  std::string experimental;  ///< Importer::experimental
  ImportCounts counts;
  uint64_t file_bytes = 0;    ///< of the source, as stored (packed)
  uint64_t output_bytes = 0;  ///< size of the trace
};

/// Whether `path` starts like a format that can be imported. kUnsupported: the format is known but
/// not supported; the message says what to do.
Status canImport(const std::string& path);

/// Converts the trace at `path` (a file, or a stream: "-" for standard input) to SBT and writes it
/// to `output`, replacing an existing file. Error: unknown format, `output` cannot be created
/// (base/target_file.hpp), or reading or writing failed; then `output` is unchanged.
Result<ImportReport> importTrace(const std::string& path, const std::string& output,
                                 const ImportOptions& options = {});

/// Fails if `output` is one of the files to import.
Status checkNotASource(const std::string& output, const std::string& path,
                       const ImportOptions& options);

/// The same, but overwrites `output` in place (a memfd, say).
Result<ImportReport> importTraceInPlace(const std::string& path, const std::string& output,
                                        const ImportOptions& options = {});

/// Opens a trace for reading, also from a stream. Another tool's trace is converted in memory, and
/// `counts` gets the result of that; it is unchanged for an SBT trace.
Result<TraceReader> openTrace(const std::string& path, ImportCounts& counts);

}  // namespace tracesmith::import
