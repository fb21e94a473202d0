// SPDX-License-Identifier: Apache-2.0
// A trace that a command creates without a session: a simulation, or an import from another tool.
// Its destination follows the rule of `profile` (recording/publish_file.hpp): a
// trace with events is replaced only by another one with events, and an existing file stays intact
// until the new one is finished.
#pragma once

#include <string>

#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/import/import_trace.hpp"

namespace tracesmith::cli {

class NewTrace {
 public:
  /// `force`: a trace without events also replaces one with events.
  static Result<NewTrace> open(const std::string& output, bool force);

  /// The path to write to. Unless finish() succeeds, the output is unchanged.
  const std::string& place() const { return file_.place(); }
  Error named(Error error) const { return file_.named(std::move(error)); }
  /// Moves the file to its destination and returns its path. Prints it if it is not the output.
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

/// Imports `source` to a NewTrace.
Result<ImportedTrace> importToOutput(const std::string& source, const std::string& output,
                                     bool force, const import::ImportOptions& options = {});

}  // namespace tracesmith::cli
