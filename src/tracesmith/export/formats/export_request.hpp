// SPDX-License-Identifier: Apache-2.0
// An export as the user asked for it, and its execution. The command line and the bindings use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/export/formats/export_format.hpp"
#include "tracesmith/export/sbt/sbt_export.hpp"
#include "tracesmith/export/select/row_filter.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {

struct ExportRequest {
  ExportFormat format = ExportFormat::kPerfetto;
  PerfettoOptions options;
  RowChoice choice;
  TableId table = TableId::kKernel;  ///< for CSV, which has one table
  std::optional<StackWeight> by;     ///< for flame graphs: of call stacks
  /// Chrome's JSON of an imported trace: from its tables, not from the original document.
  bool rebuild = false;
  /// For SBT: a trace or recording whose commands are included.
  std::optional<std::string> recording_of;
};

struct ExportResult {
  std::vector<std::string> lacks;  ///< sentences on what the export lacks
  bool whole = true;               ///< false: some of the selected events could not be exported
  std::optional<RecordingCopy> recording;  ///< what was included of it
};

/// Writes to `path`, completely or not at all. `trace` is what `reader` has read; some exports
/// remove rows from it.
Result<ExportResult> runExport(const ExportRequest& request, TraceReader& reader, Trace& trace,
                               const std::string& path);
/// The same, but those exports copy the trace first.
Result<ExportResult> runExport(const ExportRequest& request, TraceReader& reader,
                               const Trace& trace, const std::string& path);

/// "device-time", "host-time", "launches" or "bytes"; none: "" or any other text.
std::optional<StackWeight> stackWeightByName(std::string_view name);

}  // namespace tracesmith
