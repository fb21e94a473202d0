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
#include "tracesmith/import/byte_source.hpp"

namespace tracesmith::import {

bool canImport(const std::string& path) {
  const auto source = ByteSource::open(path);
  if (!source) return false;
  std::array<uint8_t, 4096> head{};
  const Result<size_t> n = (*source)->read(head);
  if (!n) return false;
  const std::string_view text(reinterpret_cast<const char*>(head.data()), *n);
  const size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos) return false;
  if (text[first] == '[') return text.find('{', first) != std::string_view::npos;
  return text[first] == '{' && text.find('"', first) != std::string_view::npos;
}

Result<ImportReport> importTraceInPlace(const std::string& path, const std::string& output) {
  TS_TRY(const std::unique_ptr<ByteSource> source, ByteSource::open(path));
  TS_TRY(TraceWriter writer, TraceWriter::create(output));
  Trace facts;
  facts.setMetadata("producer", "TraceSmith " + getVersionString());
  facts.setMetadata("imported_from", path);
  Result<ImportCounts> counts = importChromeJson(*source, writer, std::move(facts));
  if (!counts) {
    Error error = counts.error();
    if (error.where.empty()) error.where = path;
    return tl::unexpected<Error>(std::move(error));
  }
  TS_CHECK_OK(writer.finish());
  return ImportReport{.format = "Chrome JSON",
                      .counts = std::move(*counts),
                      .file_bytes = source->fileBytes(),
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
