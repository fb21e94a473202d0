// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/formats/export_request.hpp"

#include <fmt/format.h>

#include "tracesmith/analysis/timing/runtime_frames.hpp"
#include "tracesmith/export/chrome/source_json.hpp"

namespace tracesmith {
namespace {

Selection selectionOf(const ExportRequest& request, const Trace& trace) {
  const PerfettoOptions& options = request.options;
  return {trace, options.from_ns, options.to_ns, options.streams};
}

Result<ExportResult> exportPart(const ExportRequest& request, TraceReader& reader, Trace& trace,
                                const std::string& path) {
  ExportResult out;
  TS_TRY(SbtExport made, exportSbt(reader, trace, selectionOf(request, trace), request.choice, path,
                                   request.recording_of));
  if (made.recording) {
    out.whole = made.recording->whole();
  } else if (reader.rows(TableId::kRecordedCommand) > 0) {
    out.lacks.emplace_back(
        "the recording in the trace is omitted (export --with-recording includes it)");
  }
  out.recording = std::move(made.recording);
  if (made.without_sources) {
    out.lacks.emplace_back(
        "some events could not be read, so the sources of the others are omitted");
  }
  return out;
}

/// The original document of an imported trace.
Result<ExportResult> exportSource(const ExportRequest& request, TraceReader& reader,
                                  const Trace& trace, const std::string& path) {
  ExportResult result;
  TS_TRY(Output out, Output::toFile(path));
  TS_TRY(const uint64_t lost,
         writeSourceJson(reader, trace, selectionOf(request, trace), out, request.choice));
  TS_CHECK_OK(out.finish());
  if (lost > 0) {
    result.whole = false;
    result.lacks.push_back(
        fmt::format("{} events are not in the document: the trace has lost their rows", lost));
  }
  return result;
}

bool isSource(const ExportRequest& request, TraceReader& reader, const Trace& trace) {
  return request.format == ExportFormat::kChromeJson && !request.rebuild &&
         hasSourceJson(reader, trace);
}

/// Exports that leave the trace as it is.
Result<ExportResult> exportAll(const ExportRequest& request, TraceReader& reader,
                               const Trace& trace, const std::string& path) {
  if (isSource(request, reader, trace)) return exportSource(request, reader, trace, path);
  TS_CHECK_OK(exportTrace(trace, request.format, path, request.options, request.table, request.by));
  return ExportResult{};
}

}  // namespace

Result<ExportResult> runExport(const ExportRequest& request, TraceReader& reader, Trace& trace,
                               const std::string& path) {
  if (request.format == ExportFormat::kSbt) return exportPart(request, reader, trace, path);
  if (!request.choice.names.matchesEverything() && !isSource(request, reader, trace)) {
    keepRows(trace, Selection(trace, std::nullopt, std::nullopt, {}), request.choice);
  }
  // The Perfetto and Chrome exporters omit these frames themselves.
  if (isFlameGraph(request.format) && !request.options.all_frames) {
    trace.call_path = withoutRuntimeFrames(trace);
  }
  return exportAll(request, reader, trace, path);
}

Result<ExportResult> runExport(const ExportRequest& request, TraceReader& reader,
                               const Trace& trace, const std::string& path) {
  const bool changes = request.format == ExportFormat::kSbt ||
                       !request.choice.names.matchesEverything() ||
                       (isFlameGraph(request.format) && !request.options.all_frames);
  if (!changes) return exportAll(request, reader, trace, path);
  Trace own = trace;
  return runExport(request, reader, own, path);
}

std::optional<StackWeight> stackWeightByName(std::string_view name) {
  if (name == "device-time") return StackWeight::kDeviceTime;
  if (name == "host-time") return StackWeight::kHostTime;
  if (name == "launches") return StackWeight::kLaunches;
  if (name == "bytes") return StackWeight::kBytes;
  if (name == "cpu-time") return StackWeight::kCpuTime;
  if (name == "wait-time") return StackWeight::kWaitTime;
  return std::nullopt;
}

}  // namespace tracesmith
