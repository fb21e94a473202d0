// SPDX-License-Identifier: Apache-2.0
// Export formats, selected by file name or option.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/export/flame/stack_flame.hpp"
#include "tracesmith/export/perfetto/perfetto_writer.hpp"

namespace tracesmith {

enum class ExportFormat : uint8_t {
  kPerfetto,
  kChromeJson,
  kCsv,
  kSpeedscope,
  kFolded,
  kSvg,  ///< a flame graph
  kDot,
  kSbt,
  kParquet,  ///< recognised by its extension, but not supported: parquetAdvice()
};

/// Names for -f. perfetto and proto are synonyms, as are chrome and json.
std::vector<std::string> exportFormatNames();
std::string parquetAdvice();
std::optional<ExportFormat> exportFormatByName(const std::string& name);

/// Determines the format by file extension: .pftrace, .perfetto, .perfetto-trace, .json, .csv,
/// .speedscope.json, .folded, .svg, .dot, .sbt, .parquet.
std::optional<ExportFormat> exportFormatByPath(const std::string& path);

/// "dir/run.sbt" and ".json" give "dir/run.json"; a name without an extension gets one.
std::string withExtension(const std::string& path, const std::string& extension);
std::string extensionOf(ExportFormat format);

/// Whether an export of this format can show stacks (`by` of exportTrace).
bool isFlameGraph(ExportFormat format);

/// Where to view an export of this format: the end of a sentence, or "".
std::string_view viewerOf(ExportFormat format);

/// Writes `trace` to `path`, completely or not at all. `table` is for CSV, which has one table.
/// `by` is for speedscope, folded and svg (default: device time): call stacks instead of slices
/// over time. Not for .sbt (see export/sbt/sbt_export.hpp). Fails with kUnsupported for Parquet,
/// with instructions.
Status exportTrace(const Trace& trace, ExportFormat format, const std::string& path,
                   const PerfettoOptions& options, TableId table = TableId::kKernel,
                   std::optional<StackWeight> by = {});

/// Reads the trace at `trace_path` and exports it. Used at the end of a recording.
Status exportTraceFile(const std::string& trace_path, const std::string& path);

}  // namespace tracesmith
