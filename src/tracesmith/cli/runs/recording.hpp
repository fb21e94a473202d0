// SPDX-License-Identifier: Apache-2.0
// What profile and record have in common: names of the outputs, the run, the words at its end, and
// ending as the program ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/cli/definition/command.hpp"

namespace tracesmith::cli {

struct RecordingOutputs {
  std::string trace = "trace.sbt";
  std::vector<std::string> exports;  ///< written from the trace when the program has ended
};

/// From -o (may be "") and --perfetto. A name with the ending of an export format is exported to;
/// the trace then lies beside it as .sbt.
RecordingOutputs recordingOutputs(const std::string& output, bool perfetto);

/// `trace` is where the trace was put. Where that is a numbered name beside the output, the exports
/// get the same number, so that they do not replace those of the trace that stayed.
void takeTraceName(const std::string& trace, RecordingOutputs& outputs);

/// Writes the exports of a finished trace, and says where they are (unless `quiet`); false: one
/// failed, and it has said why. As with traces, a file that is there is not replaced by the export
/// of a trace without events, except by `force`: that export gets the next free number.
bool writeExports(const RecordingOutputs& outputs, bool force, bool quiet);

/// Whether files can be written to these paths, to be told before a program runs and not after.
/// Leaves nothing there.
Status checkOutputs(const std::vector<std::string>& paths);

struct RecordingRequest {
  ProfileOptions profile;
  uint32_t pid = 0;  ///< of a program that runs already, instead of one that is started
  RecordingOutputs outputs;
  bool quiet = false;
  bool progress = false;
};

/// Runs the program and says what was recorded. Returns the program's exit code; when a signal
/// ended the program this process ends by the same one and the function does not return. With a
/// `pid`, 0 or 1.
int runRecording(RecordingRequest request, const Session& session);

/// Says it when the program is one that no agent can enter.
void warnOfStaticProgram(const std::string& program);

/// Ends this process by `signal`, without a core file of ours. Returns 128 + signal if it could
/// not.
int endBySignal(int signal);

/// "12 kernels, 3 copies and 40 host calls from 1 of 2 processes"
std::string recordingSummary(const ProfileOutcome& outcome);

/// What was recorded for replay, as a line.
std::string recordingText(const RecordingTotals& totals);

}  // namespace tracesmith::cli
