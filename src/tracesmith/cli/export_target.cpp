// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/export_target.hpp"

#include "tracesmith/export/chrome_json.hpp"
#include "tracesmith/export/selection.hpp"
#include "tracesmith/export/table_text.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith::cli {
namespace {

struct Named {
  const char* name;
  ExportFormat format;
};

constexpr Named kFormats[] = {{"perfetto", ExportFormat::kPerfetto},
                              {"proto", ExportFormat::kPerfetto},
                              {"json", ExportFormat::kChromeJson},
                              {"chrome", ExportFormat::kChromeJson},
                              {"csv", ExportFormat::kCsv}};

constexpr Named kEndings[] = {{".pftrace", ExportFormat::kPerfetto},
                              {".perfetto", ExportFormat::kPerfetto},
                              {".perfetto-trace", ExportFormat::kPerfetto},
                              {".json", ExportFormat::kChromeJson},
                              {".csv", ExportFormat::kCsv}};

/// Where the extension of the file's name begins; npos when it has none (".hidden" has none).
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

std::optional<ExportFormat> exportFormatByName(const std::string& name) {
  for (const Named& format : kFormats) {
    if (name == format.name) return format.format;
  }
  return std::nullopt;
}

std::optional<ExportFormat> exportFormatByPath(const std::string& path) {
  const size_t dot = extensionAt(path);
  if (dot == std::string::npos) return std::nullopt;
  for (const Named& ending : kEndings) {
    if (path.compare(dot, std::string::npos, ending.name) == 0) return ending.format;
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
  }
  return "";
}

Status exportTrace(const Trace& trace, ExportFormat format, const std::string& path,
                   const PerfettoOptions& options, TableId table) {
  switch (format) {
    case ExportFormat::kPerfetto:
      return exportPerfetto(trace, path, options);
    case ExportFormat::kChromeJson:
      return exportChromeJson(trace, path, options);
    case ExportFormat::kCsv: {
      const Selection selection(trace, options.from_ns, options.to_ns, options.streams);
      return exportTable(trace, table, TextFormat::kCsv, path, &selection);
    }
  }
  return fail(ErrorCode::kInternal, "unknown export format", path);
}

Status exportTraceFile(const std::string& trace_path, const std::string& path) {
  TS_TRY(TraceReader reader, TraceReader::open(trace_path));
  TS_TRY(const Trace trace, reader.read());
  return exportTrace(trace, exportFormatByPath(path).value_or(ExportFormat::kPerfetto), path, {});
}

}  // namespace tracesmith::cli
