// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/import_trace.hpp"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "tracesmith/base/version.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/import/chrome_dialects.hpp"
#include "tracesmith/import/chrome_importer.hpp"
#include "tracesmith/import/execution_trace_importer.hpp"
#include "tracesmith/import/importer.hpp"
#include "tracesmith/import/perfetto_importer.hpp"
#include "tracesmith/import/xctrace_importer.hpp"

namespace tracesmith::import {

Result<ImportInput> ImportInput::open(const std::string& path) {
  TS_TRY(const std::unique_ptr<ByteSource> source, ByteSource::open(path));
  ImportInput input{.path = path, .head = std::string(kHeadBytes, '\0')};
  TS_TRY(const size_t n,
         source->read({reinterpret_cast<uint8_t*>(input.head.data()), input.head.size()}));
  input.head.resize(n);
  return input;
}

std::span<const Importer> importers() {
  // What is most particular comes first: Chrome's JSON is any JSON.
  // clang-format off
  static const std::array kAll = {
      kPerfettoImporter,
      kXctraceImporter,
      kChakraImporter,
      kChakraJsonImporter,
      kPyTorchExecutionTraceImporter,
      kAscendImporter,
      kMcTracerImporter,
      kChromeJsonImporter,
  };
  // clang-format on
  return kAll;
}

namespace {

const Importer* importerOf(const ImportInput& input) {
  for (const Importer& importer : importers()) {
    if (importer.recognises(input)) return &importer;
  }
  return nullptr;
}

}  // namespace

bool canImport(const std::string& path) {
  const Result<ImportInput> input = ImportInput::open(path);
  return input && importerOf(*input) != nullptr;
}

Result<ImportReport> importTraceInPlace(const std::string& path, const std::string& output) {
  TS_TRY(const ImportInput input, ImportInput::open(path));
  const Importer* importer = importerOf(input);
  if (importer == nullptr)
    return fail(ErrorCode::kNotATrace, "is in no format that is known", path);
  struct stat from {};
  if (::stat(path.c_str(), &from) != 0) return failErrno(errno, "cannot be read", path);
  TS_TRY(TraceWriter writer, TraceWriter::create(output));
  Trace facts;
  facts.setMetadata("producer", "TraceSmith " + getVersionString());
  facts.setMetadata("imported_from", path);
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

Result<ImportReport> importTrace(const std::string& path, const std::string& output) {
  struct stat from {};
  struct stat to {};
  if (::stat(path.c_str(), &from) == 0 && ::stat(output.c_str(), &to) == 0 &&
      from.st_dev == to.st_dev && from.st_ino == to.st_ino) {
    return fail(ErrorCode::kInvalidArgument, "would be written over; choose another -o", output);
  }
  const std::string part = output + "." + std::to_string(::getpid()) + ".part";
  Result<ImportReport> report = importTraceInPlace(path, part);
  if (report && std::rename(part.c_str(), output.c_str()) != 0) {
    report = failErrno(errno, "cannot name the trace", output);
  }
  if (!report) ::unlink(part.c_str());
  return report;
}

}  // namespace tracesmith::import
