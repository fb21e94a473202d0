// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/formats/export_format.hpp"

#include "tracesmith/analysis/timing/runtime_frames.hpp"
#include "tracesmith/export/chrome/chrome_json.hpp"
#include "tracesmith/export/flame/folded_stacks.hpp"
#include "tracesmith/export/flame/speedscope.hpp"
#include "tracesmith/export/select/selection.hpp"
#include "tracesmith/export/text/table_text.hpp"
#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/state/operation_dot.hpp"

namespace tracesmith {
namespace {

struct Named {
  const char* name;
  ExportFormat format;
};

constexpr Named kFormats[] = {{"perfetto", ExportFormat::kPerfetto},
                              {"proto", ExportFormat::kPerfetto},
                              {"json", ExportFormat::kChromeJson},
                              {"chrome", ExportFormat::kChromeJson},
                              {"dot", ExportFormat::kDot},
                              {"csv", ExportFormat::kCsv},
                              {"speedscope", ExportFormat::kSpeedscope},
                              {"folded", ExportFormat::kFolded},
                              {"svg", ExportFormat::kSvg},
                              {"sbt", ExportFormat::kSbt}};

constexpr Named kEndings[] = {{".pftrace", ExportFormat::kPerfetto},
                              {".perfetto", ExportFormat::kPerfetto},
                              {".perfetto-trace", ExportFormat::kPerfetto},
                              {".speedscope.json", ExportFormat::kSpeedscope},
                              {".json", ExportFormat::kChromeJson},
                              {".csv", ExportFormat::kCsv},
                              {".dot", ExportFormat::kDot},
                              {".folded", ExportFormat::kFolded},
                              {".svg", ExportFormat::kSvg},
                              {".sbt", ExportFormat::kSbt},
                              // Recognised and rejected, with a reason.
                              {".parquet", ExportFormat::kParquet}};

/// Position of the extension in the file's name; npos if it has none (".hidden" has none).
size_t extensionAt(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  const size_t dot = path.rfind('.');
  return dot == std::string::npos || dot <= name ? std::string::npos : dot;
}

}  // namespace

std::vector<std::string> exportFormatNames() {
  std::vector<std::string> names;
  for (const Named& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::string parquetAdvice() {
  return "TraceSmith does not write Parquet, but Python does: export -f csv --table TABLE, then "
         "pyarrow.parquet.write_table(pyarrow.csv.read_csv(FILE), OUTPUT)";
}

std::optional<ExportFormat> exportFormatByName(const std::string& name) {
  for (const Named& format : kFormats) {
    if (name == format.name) return format.format;
  }
  return std::nullopt;
}

std::optional<ExportFormat> exportFormatByPath(const std::string& path) {
  if (extensionAt(path) == std::string::npos) return std::nullopt;
  for (const Named& ending : kEndings) {
    if (path.ends_with(ending.name)) return ending.format;
  }
  return std::nullopt;
}

std::string withExtension(const std::string& path, const std::string& extension) {
  return path.substr(0, extensionAt(path)) + extension;
}

std::string extensionOf(ExportFormat format) {
  switch (format) {
    case ExportFormat::kPerfetto:
      return ".pftrace";
    case ExportFormat::kChromeJson:
      return ".json";
    case ExportFormat::kCsv:
      return ".csv";
    case ExportFormat::kSpeedscope:
      return ".speedscope.json";
    case ExportFormat::kFolded:
      return ".folded";
    case ExportFormat::kSvg:
      return ".svg";
    case ExportFormat::kDot:
      return ".dot";
    case ExportFormat::kSbt:
      return ".part.sbt";  // the input is usually called "run.sbt"
    case ExportFormat::kParquet:
      return ".parquet";
  }
  return "";
}

bool isFlameGraph(ExportFormat format) {
  return format == ExportFormat::kSpeedscope || format == ExportFormat::kFolded ||
         format == ExportFormat::kSvg;
}

std::string_view viewerOf(ExportFormat format) {
  switch (format) {
    case ExportFormat::kPerfetto:
    case ExportFormat::kChromeJson:
      return "; open it at https://ui.perfetto.dev";
    case ExportFormat::kSpeedscope:
      return "; open it at https://www.speedscope.app";
    case ExportFormat::kSvg:
      return "; open it in a browser";
    default:
      return "";
  }
}

Status exportTrace(const Trace& trace, ExportFormat format, const std::string& path,
                   const PerfettoOptions& options, TableId table, std::optional<StackWeight> by) {
  switch (format) {
    case ExportFormat::kPerfetto:
      return exportPerfetto(trace, path, options);
    case ExportFormat::kChromeJson:
      return exportChromeJson(trace, path, options);
    case ExportFormat::kCsv: {
      const Selection selection(trace, options.from_ns, options.to_ns, options.streams);
      return exportTable(trace, table, TextFormat::kCsv, path, &selection);
    }
    case ExportFormat::kSpeedscope:
    case ExportFormat::kFolded: {
      const Selection selection(trace, options.from_ns, options.to_ns, options.streams);
      TS_TRY(Output out, Output::toFile(path));
      if (by) {
        format == ExportFormat::kFolded ? writeFoldedByStack(trace, selection, *by, out)
                                        : writeSpeedscopeByStack(trace, selection, *by, out);
        return out.finish();
      }
      format == ExportFormat::kFolded ? writeFoldedStacks(trace, selection, out)
                                      : writeSpeedscope(trace, selection, out);
      return out.finish();
    }
    case ExportFormat::kSvg: {
      const Selection selection(trace, options.from_ns, options.to_ns, options.streams);
      TS_TRY(Output out, Output::toFile(path));
      writeSvgByStack(trace, selection, by.value_or(StackWeight::kDeviceTime), out);
      return out.finish();
    }
    case ExportFormat::kDot: {
      DotOptions dot;
      if (options.from_ns) dot.from_ns = *options.from_ns;
      if (options.to_ns) dot.to_ns = *options.to_ns;
      TS_TRY(Output out, Output::toFile(path));
      out.write(dependencyDot(trace, OperationGraph::of(trace), dot));
      return out.finish();
    }
    case ExportFormat::kParquet:
      return fail(ErrorCode::kUnsupported, parquetAdvice(), path);
    case ExportFormat::kSbt:
      break;
  }
  return fail(ErrorCode::kInternal, "unknown export format", path);
}

Status exportTraceFile(const std::string& trace_path, const std::string& path) {
  TS_TRY(TraceReader reader, TraceReader::open(trace_path));
  TS_TRY(Trace trace, reader.read());
  trace.call_path = withoutRuntimeFrames(trace);
  return exportTrace(trace, exportFormatByPath(path).value_or(ExportFormat::kPerfetto), path, {});
}

}  // namespace tracesmith
