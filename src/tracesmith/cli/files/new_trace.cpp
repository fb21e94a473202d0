// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/files/new_trace.hpp"

#include <utility>

#include "tracesmith/cli/terminal/busy_line.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/recording/publish_file.hpp"

namespace tracesmith::cli {

Result<NewTrace> NewTrace::open(const std::string& output, bool force) {
  TS_TRY(TargetFile file, TargetFile::open(output));
  return NewTrace(std::move(file), output, force);
}

Result<std::string> NewTrace::finish() {
  TS_TRY(const Published published, publishFile(file_, output_, force_));
  if (!published.note.empty()) sayWarning(published.note);
  return published.trace;
}

Result<ImportedTrace> importToOutput(const std::string& source, const std::string& output,
                                     bool force, const import::ImportOptions& options) {
  TS_CHECK_OK(import::checkNotASource(output, source, options));
  TS_TRY(NewTrace trace, NewTrace::open(output, force));
  const BusyLine busy("importing " + source);
  Result<import::ImportReport> report = import::importTraceInPlace(source, trace.place(), options);
  if (!report) return tl::unexpected<Error>(trace.named(report.error()));
  TS_TRY(std::string path, trace.finish());
  return ImportedTrace{std::move(path), std::move(*report)};
}

}  // namespace tracesmith::cli
