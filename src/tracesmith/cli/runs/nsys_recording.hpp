// SPDX-License-Identifier: Apache-2.0
// `profile --nsys`: NVIDIA's Nsight Systems records, and what it wrote is imported.
#pragma once

#include <string>

#include "tracesmith/cli/runs/recording.hpp"

namespace tracesmith::cli {

struct NsysRecording {
  RecordingOutputs outputs;
  std::string arguments;  ///< for `nsys profile`, as a person types them
  bool keep = false;      ///< keep the report beside the trace
  bool quiet = false;
  bool force = false;  ///< as ProfileOptions::force
};

/// Returns the program's exit code, as nsys passes it on; 125 where nsys is missing or could not be
/// started, or has left no report. A report that could not be imported is kept.
int runNsysRecording(const NsysRecording& recording, const Session& session);

/// Words of `text` as a POSIX shell splits them, with quotes and backslashes, and nothing expanded.
/// Error: a quote is not closed.
Result<std::vector<std::string>> shellWords(const std::string& text);

}  // namespace tracesmith::cli
