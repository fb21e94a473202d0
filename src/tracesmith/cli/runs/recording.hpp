// SPDX-License-Identifier: Apache-2.0
// Shared by profile and record: names of the outputs, the run, the summary at its end, and exiting
// the way the program did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/cli/definition/command.hpp"

namespace tracesmith::cli {

struct RecordingOutputs {
  std::string trace = "trace.sbt";
  std::vector<std::string> exports;  ///< written from the trace after the program has ended
};

/// Determines the outputs from -o (may be "") and --perfetto. A name with the extension of an
/// export format is an export; the trace is then written beside it as .sbt.
RecordingOutputs recordingOutputs(const std::string& output, bool perfetto);

/// `trace` is the final path of the trace. If it is a numbered name beside the output, the exports
/// get the same number, so that they do not replace the exports of the trace that was kept.
void takeTraceName(const std::string& trace, RecordingOutputs& outputs);

/// Writes the exports of a finished trace and prints their paths (unless `quiet`). Returns false if
/// one failed, after printing the error. As with traces, the export of a trace without events does
/// not replace an existing file, unless `force`; it gets the next free number.
bool writeExports(const RecordingOutputs& outputs, bool force, bool quiet);

/// Whether files can be written to these paths. Check this before the program runs. Leaves no files
/// behind.
Status checkOutputs(const std::vector<std::string>& paths);

/// `--flight-recorder`, and the options that go with it, as they were given.
struct FlightRequest {
  std::optional<int64_t> window_ns;
  std::optional<uint64_t> most_saved;
  std::string slow_step;  ///< a number
};

/// Options of --system.
struct SystemRequest {
  bool is_wanted = false;
  std::optional<uint64_t> samples_per_second;

  /// What is wrong with them, for people; "": nothing.
  std::string problem() const;
  void addTo(ProfileOptions& profile) const;
};

struct RecordingRequest {
  ProfileOptions profile;
  uint32_t pid = 0;  ///< of a running program, instead of starting one
  RecordingOutputs outputs;
  bool quiet = false;
  bool progress = false;
  FlightRequest flight;
  bool studio = false;  ///< show the trace in Studio meanwhile, and until the user ends it
};

/// Runs the program and prints what was recorded. Returns the program's exit code. If a signal
/// ended the program, this process ends by the same signal and the function does not return. With
/// `pid`, returns 0 or 1.
int runRecording(RecordingRequest request, const Session& session);

/// Prints a warning if agents cannot enter the program because it is statically linked.
void warnOfStaticProgram(const std::string& program);

/// Ends this process by `signal`, without a core file. Returns 128 + signal if that fails.
int endBySignal(int signal);

/// "12 kernels, 3 copies and 40 host calls from 1 of 2 processes"
std::string recordingSummary(const ProfileOutcome& outcome);

/// One line about what was recorded for replay.
std::string recordingText(const RecordingTotals& totals);

}  // namespace tracesmith::cli
