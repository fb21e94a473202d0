// SPDX-License-Identifier: Apache-2.0
// `profile` by the recorder of a vendor whose devices are seen only from there: the tool runs the
// program, and what it wrote is imported.
#pragma once

#include <string>

#include "tracesmith/cli/runs/recording.hpp"

namespace tracesmith::cli {

enum class RecorderTool : uint8_t {
  kXctrace,   ///< Apple's Instruments
  kMcTracer,  ///< MetaX
  kMsprof,    ///< Ascend
};

struct ToolRecording {
  RecorderTool tool{};
  RecordingOutputs outputs;
  std::string xctrace_template;  ///< "": "Metal System Trace"
  int64_t xctrace_limit_ns = 0;  ///< 0: none
  bool keep = false;             ///< keep what the tool wrote, beside the trace
  bool quiet = false;
  bool force = false;  ///< as ProfileOptions::force
};

/// Returns the tool's exit code, which is the program's where the tool passes it on; 125 where the
/// tool is missing or has left nothing. What could not be imported is kept.
int runToolRecording(const ToolRecording& recording, const Session& session);

}  // namespace tracesmith::cli
