// SPDX-License-Identifier: Apache-2.0
// Foreign traces into ours. What a file is, its content says; its name says nothing.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

struct ImportReport {
  std::string format;        ///< for people
  std::string experimental;  ///< Importer::experimental
  ImportCounts counts;
  uint64_t file_bytes = 0;    ///< of the source, packed as it is
  uint64_t output_bytes = 0;  ///< of the trace
};

/// Whether `path` begins like a format that can be imported. kUnsupported: it is one that is known
/// and not read, and what to do about it.
Status canImport(const std::string& path);

/// Writes the trace at `path` (a file; or a stream, "-" for standard input) to `output` as SBT,
/// replacing a file that is there. Error: no format that is known, no place for a file
/// (base/target_file.hpp), or reading or writing failed; then `output` is as before.
Result<ImportReport> importTrace(const std::string& path, const std::string& output,
                                 const ImportOptions& options = {});

/// Fails when `output` is one of the files to import.
Status checkNotASource(const std::string& output, const std::string& path,
                       const ImportOptions& options);

/// The same into a file that may be written where it lies (a memfd, say).
Result<ImportReport> importTraceInPlace(const std::string& path, const std::string& output,
                                        const ImportOptions& options = {});

/// A trace to read, also from a stream: ours, or another tool's by way of memory. `counts` gets
/// what came in and what did not; it stays as it is for one of ours.
Result<TraceReader> openTrace(const std::string& path, ImportCounts& counts);

}  // namespace tracesmith::import
