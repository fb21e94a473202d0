// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/import_trace.hpp"

#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <thread>

#include "tracesmith/base/files/distinct_files.hpp"
#include "tracesmith/base/files/file_identity.hpp"
#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/base/version.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/import/amd/rocpd_importer.hpp"
#include "tracesmith/import/amd/rocprof_csv.hpp"
#include "tracesmith/import/amd/rocprof_json.hpp"
#include "tracesmith/import/amd/rpd_importer.hpp"
#include "tracesmith/import/chrome/chrome_dialects.hpp"
#include "tracesmith/import/chrome/chrome_importer.hpp"
#include "tracesmith/import/common/importer.hpp"
#include "tracesmith/import/common/stream_input.hpp"
#include "tracesmith/import/common/temporary_file.hpp"
#include "tracesmith/import/execution_trace/execution_trace_importer.hpp"
#include "tracesmith/import/flight_recorder/flight_recorder_importer.hpp"
#include "tracesmith/import/nccl/inspector_importer.hpp"
#include "tracesmith/import/nccl/ras_importer.hpp"
#include "tracesmith/import/nsys/nsys_importer.hpp"
#include "tracesmith/import/nsys/nsys_report.hpp"
#include "tracesmith/import/perfetto/perfetto_importer.hpp"
#include "tracesmith/import/unread_formats.hpp"
#include "tracesmith/import/xctrace/xctrace_importer.hpp"
#include "tracesmith/import/xray/xray_trace.hpp"

namespace tracesmith::import {

Result<ImportInput> ImportInput::open(const std::string& path, const std::string& place) {
  TS_TRY(const std::unique_ptr<ByteSource> source, ByteSource::open(place, path));
  ImportInput input{.path = path, .place = place, .head = std::string(kHeadBytes, '\0')};
  TS_TRY(const size_t n,
         source->read({reinterpret_cast<uint8_t*>(input.head.data()), input.head.size()}));
  input.head.resize(n);
  return input;
}

std::span<const Importer> importers() {
  // Most specific first: Chrome's JSON accepts any JSON, and an Nsight report is recognised by name
  // only.
  static const std::array kAll = {
      kNsysImporter,
      kRpdImporter,
      kRocpdImporter,
      kXRayImporter,
      kNcclInspectorImporter,
      kNcclRasJsonImporter,
      kNcclRasTextImporter,
      kFlightRecorderPickleImporter,
      kFlightRecorderJsonImporter,
      kPerfettoImporter,
      kXctraceImporter,
      kChakraImporter,
      kChakraJsonImporter,
      kRocprofJsonImporter,
      kRocprofCsvImporter,
      kPyTorchExecutionTraceImporter,
      kAscendImporter,
      kMcTracerImporter,
      kChromeJsonImporter,
      kNsysReportImporter,
  };
  return kAll;
}

namespace {

const Importer* importerOf(const ImportInput& input) {
  for (const Importer& importer : importers()) {
    if (importer.recognises(input)) return &importer;
  }
  return nullptr;
}

/// Rejects a file given twice, under whatever names, because its events would be counted twice.
Status noFileTwice(const ImportInput& input) {
  std::vector<std::string> files;
  if (input.place == input.path) files.push_back(input.path);
  for (const std::string& file : input.options.more) {
    if (file == "-") {
      return fail(ErrorCode::kInvalidArgument,
                  "can only be the first file: save the other input to a file, and name that",
                  "standard input");
    }
    files.push_back(file);
  }
  return areDistinctFiles(files);
}

}  // namespace

namespace {

Status canImportAt(const std::string& path, const std::string& place) {
  TS_TRY(const ImportInput input, ImportInput::open(path, place));
  if (importerOf(input) != nullptr) return {};
  const std::string_view why = whyNotRead(input.head);
  if (!why.empty()) return fail(ErrorCode::kUnsupported, std::string(why), path);
  return fail(ErrorCode::kNotATrace, "is not in a known format", path);
}

Result<ImportReport> importAt(const std::string& path, const std::string& place,
                              const std::string& output, const ImportOptions& options) {
  TS_TRY(ImportInput input, ImportInput::open(path, place));
  input.options = options;
  const Importer* importer = importerOf(input);
  if (importer == nullptr) {
    if (input.head.empty()) return fail(ErrorCode::kNotATrace, "is empty when unpacked", path);
    const std::string_view why = whyNotImported(input.head);
    if (!why.empty()) return fail(ErrorCode::kUnsupported, std::string(why), path);
    return fail(ErrorCode::kNotATrace, "is not in a known format", path);
  }
  TS_CHECK_OK(noFileTwice(input));
  if (!options.more.empty() && !importer->several) {
    return fail(ErrorCode::kInvalidArgument,
                "is a complete trace (" + std::string(importer->format) +
                    "): several files are only accepted for formats that write several per run",
                path);
  }
  if (!options.binary.empty() && !importer->takes_binary) {
    return fail(ErrorCode::kInvalidArgument,
                "is not used for " + std::string(importer->format) + ", which contains its names",
                options.binary);
  }
  struct stat from {};
  if (::stat(place.c_str(), &from) != 0) return failErrno(errno, "cannot be read", path);
  TS_TRY(TraceWriter writer,
         TraceWriter::create(output, {.two_threads = std::thread::hardware_concurrency() > 1}));
  Trace facts;
  facts.setMetadata("producer", "TraceSmith " + getVersionString());
  facts.setMetadata("imported_from", path);
  for (size_t i = 0; i < options.more.size(); ++i) {
    facts.setMetadata("imported_from." + std::to_string(i + 2), options.more[i]);
  }
  facts.setMetadata("imported_format", importer->format);
  Result<ImportCounts> counts = importer->run(input, writer, std::move(facts));
  if (!counts) {
    Error error = counts.error();
    if (error.where.empty()) error.where = path;
    return tl::unexpected<Error>(std::move(error));
  }
  TS_CHECK_OK(writer.finish());
  return ImportReport{.format = std::string(importer->format),
                      .experimental = std::string(importer->experimental),
                      .counts = std::move(*counts),
                      .file_bytes = static_cast<uint64_t>(from.st_size),
                      .output_bytes = writer.bytesWritten()};
}

}  // namespace

Status canImport(const std::string& path) { return canImportAt(path, path); }

Result<ImportReport> importTraceInPlace(const std::string& path, const std::string& output,
                                        const ImportOptions& options) {
  TS_TRY(const StreamInput input, StreamInput::open(path));
  return importAt(input.name(), input.place(), output, options);
}

Status checkNotASource(const std::string& output, const std::string& path,
                       const ImportOptions& options) {
  const auto is_output = [&](const std::string& source) { return sameFile(source, output); };
  if (is_output(path) || std::any_of(options.more.begin(), options.more.end(), is_output)) {
    return fail(ErrorCode::kInvalidArgument, "would be overwritten; choose another -o", output);
  }
  return {};
}

Result<ImportReport> importTrace(const std::string& path, const std::string& output,
                                 const ImportOptions& options) {
  TS_CHECK_OK(checkNotASource(output, path, options));
  TS_TRY(TargetFile target, TargetFile::open(output));
  Result<ImportReport> report = importTraceInPlace(path, target.place(), options);
  if (!report) return tl::unexpected<Error>(target.named(report.error()));
  TS_CHECK_OK(target.finish());
  return report;
}

Result<TraceReader> openTrace(const std::string& path, ImportCounts& counts) {
  TS_TRY(const StreamInput input, StreamInput::open(path));
  const auto failed = [&](const Error& error) { return tl::unexpected<Error>(input.named(error)); };
  Result<TraceReader> reader = TraceReader::open(input.place());
  if (reader) return reader;
  if (reader.error().code != ErrorCode::kNotATrace) return failed(reader.error());
  if (Status can = canImportAt(input.name(), input.place()); !can) {
    const bool known = can.error().code == ErrorCode::kUnsupported;
    return failed(known ? can.error() : reader.error());
  }
  TemporaryFile memory;
  TS_CHECK_OK(memory.createInMemory());
  const std::string place = memory.place();
  Result<ImportReport> report = importAt(input.name(), input.place(), place, {});
  if (report) {
    counts = std::move(report->counts);
    reader = TraceReader::open(place);
    if (reader) return reader;
  }
  Error error = report ? reader.error() : report.error();
  if (error.where == place) {
    error.where = input.name();
    error.message = "cannot import it into memory: " + error.message +
                    " ('tracesmith import' converts it to a file)";
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace tracesmith::import
