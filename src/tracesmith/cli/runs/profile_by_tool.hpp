// SPDX-License-Identifier: Apache-2.0
// `profile` with a vendor's own recorder, for devices that only it can observe. The tool runs the
// program, and TraceSmith imports its output.
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
  bool keep = false;             ///< keep the tool's output beside the trace
  bool quiet = false;
  bool force = false;  ///< as ProfileOptions::force
};

/// Returns the tool's exit code, which is the program's if the tool passes it on; 125 if the tool
/// is missing or left nothing. Output that could not be imported is kept.
int runToolRecording(const ToolRecording& recording, const Session& session);

}  // namespace tracesmith::cli
