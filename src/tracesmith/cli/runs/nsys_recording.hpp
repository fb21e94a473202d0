// SPDX-License-Identifier: Apache-2.0
// `profile --nsys`: records with NVIDIA's Nsight Systems and imports its report.
#pragma once

#include <string>

#include "tracesmith/cli/runs/recording.hpp"

namespace tracesmith::cli {

struct NsysRecording {
  RecordingOutputs outputs;
  std::string arguments;  ///< for `nsys profile`, as typed on a command line
  bool keep = false;      ///< keep the report beside the trace
  bool quiet = false;
  bool force = false;  ///< as ProfileOptions::force
};

/// Returns the program's exit code as passed on by nsys; 125 if nsys is missing, could not be
/// started, or left no report. A report that could not be imported is kept.
int runNsysRecording(const NsysRecording& recording, const Session& session);

/// Splits `text` like a POSIX shell, with quotes and backslashes, but without expansion. Fails if a
/// quote is not closed.
Result<std::vector<std::string>> shellWords(const std::string& text);

}  // namespace tracesmith::cli
