// SPDX-License-Identifier: Apache-2.0
// The trace that a command makes without a session: a simulation, or what another tool recorded.
// Its place follows the rule of `profile` (capture/session_directory/session_output.hpp): a trace
// with events is replaced only by one with events, and whatever was at the output stays whole until
// the new one is finished.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/base/target_file.hpp"
#include "tracesmith/import/import_trace.hpp"

namespace tracesmith::cli {

class NewTrace {
 public:
  /// `force`: a trace without events replaces one with events.
  static Result<NewTrace> open(const std::string& output, bool force);

  /// Where to write it. Without a successful finish() the output is as before.
  const std::string& place() const { return file_.place(); }
  Error named(Error error) const { return file_.named(std::move(error)); }
  /// Puts it to its place, and says so where that is not the output. Returns the place.
  Result<std::string> finish();

 private:
  NewTrace(TargetFile file, std::string output, bool force)
      : file_(std::move(file)), output_(std::move(output)), force_(force) {}

  TargetFile file_;
  std::string output_;
  bool force_;
};

struct ImportedTrace {
  std::string path;  ///< OUTPUT, or OUTPUT-2.sbt
  import::ImportReport report;
};

/// Imports `source` into a NewTrace.
Result<ImportedTrace> importToOutput(const std::string& source, const std::string& output,
                                     bool force, const import::ImportOptions& options = {});

}  // namespace tracesmith::cli
