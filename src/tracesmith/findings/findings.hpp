// SPDX-License-Identifier: Apache-2.0
// Finds what a run loses time to, or why it cannot be trusted: the first section of `analyze`.
// docs/findings.md defines each rule, its threshold, and the order.
#pragma once

#include <optional>
#include <string>

#include "tracesmith/analysis/streaming/work_trace.hpp"
#include "tracesmith/findings/finding.hpp"
#include "tracesmith/model/trace.hpp"
#include "tracesmith/recording/recording_file.hpp"

namespace tracesmith {

struct FindingsOptions {
  std::string file = "FILE";  ///< name of the trace in the commands that findings show
  bool predict = true;        ///< predicts gains, which takes most of the time
  /// Recording of the same run, for races; null: none. Nothing of it is executed.
  RecordingReader* recording = nullptr;
  /// Why there is none, if there is a file that cannot be used.
  std::string why_no_recording;
};

/// The recording beside a trace, for FindingsOptions.
class RecordingBeside {
 public:
  explicit RecordingBeside(const std::string& trace_path);
  /// Sets `recording` or `why_no_recording`. This object must outlive the use of the options.
  void give(FindingsOptions& options);

 private:
  std::optional<RecordingReader> reader_;
  std::string why_not_;
};

/// Empty if cancelled (base/cancellation.hpp). Of a job whose ranks have clocks that were not
/// compared, only the rules that need durations alone are checked.
Findings findingsOf(const Trace& trace, const FindingsOptions& options = {});

/// Whether a trace has so many events that no gains are predicted: then WorkTrace suffices.
bool canFindInWork(TraceReader& reader);
/// The same of a trace that does not fit into memory as a whole, without gains.
/// `kernel_names`: of TraceReader.
Findings findingsOf(const WorkTrace& work, const std::vector<StringId>& kernel_names,
                    const FindingsOptions& options);

}  // namespace tracesmith
