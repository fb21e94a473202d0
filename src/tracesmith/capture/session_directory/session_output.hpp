// SPDX-License-Identifier: Apache-2.0
// Moves a finished trace from its session directory to its output.
//
// A session writes its trace to OUTPUT.session/trace.sbt (and a recording to trace.sbr beside it).
// If nothing exists at OUTPUT, that name becomes a second link to the file, so that the trace can
// be read while it grows. An existing file at OUTPUT stays complete until the new trace is finished
// and replaces it by rename(). So a kill at any moment leaves the old trace at OUTPUT and the new
// one in the session directory, where `recover` finishes it.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"
#include "tracesmith/recording/publish_file.hpp"

namespace tracesmith {

/// The path to write for `output`: `output` itself, or the target of its link. Fails when that is
/// not a regular file, lies in /proc, /sys or /dev, or is not writable. Also fails when another
/// user could have put the link or the file there (base/output_place.hpp).
Result<std::string> checkedTarget(const std::string& output);

/// Whether `found` is a trace of this session. `made` is the trace in the session directory.
bool isOfSession(const SessionDir& dir, const ExistingFile& made, const ExistingFile& found);
/// Whether `found` is a finished trace of the session and `made` is not a copy of it. It may have
/// more rows than `made`, so it is never replaced.
bool isFinishedElsewhere(const ExistingFile& made, const ExistingFile& found);

/// Links the growing trace to the output, if nothing exists there. Never fails: without the link
/// the trace appears when it is finished.
void linkUnfinishedTrace(const SessionDir& dir);
/// Removes that link, for a program that was not started.
void unlinkUnfinishedTrace(const SessionDir& dir);

/// Moves the trace and the recording of `dir` to their final paths:
/// - Nothing, an empty file, or the file that the session found at the output at its start is
///   replaced if the new trace is `complete` and has events, or if the old one has none. A file
///   that is not a trace counts as one with events.
/// - Otherwise both are kept, and the new trace is called OUTPUT-2.sbt (or the next free number).
/// - The recording of a replaced trace is replaced by a new one that has commands; otherwise it is
///   renamed to OUTPUT.old.sbr.
/// - Files already moved by a call that was killed stay where they are.
Result<Published> publish(const SessionDir& dir, bool complete);

/// Where a program that records itself writes while a trace with events exists at `output`.
struct SideOutput {
  std::string path;      ///< OUTPUT-2.sbt, or the next free number: a new empty file
  std::string replaces;  ///< Occupant::identity of the file at the output
};
/// Empty paths: write to the output itself. Fails when another process is writing there.
Result<SideOutput> openSideOutput(const std::string& output);
/// Moves the finished trace over the output if it has events and the output is unchanged. Returns
/// the trace's path.
Result<std::string> publishSideOutput(const SideOutput& made, const std::string& output);

/// Publishes the recording of a trace that publish() had already moved to `trace` before it was
/// killed.
Result<Published> publishLateRecording(const SessionDir& dir, const std::string& trace);

/// Where publish() has already put this session's trace; empty: nowhere.
std::string findPublished(const SessionDir& dir);

}  // namespace tracesmith
