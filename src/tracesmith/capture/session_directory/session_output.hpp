// SPDX-License-Identifier: Apache-2.0
// The way of a finished trace from its session directory to its output.
//
// A session writes its trace to OUTPUT.session/trace.sbt (and a recording to trace.sbr beside it).
// Where nothing lies at OUTPUT it is a second name of that file, so that the trace can be read
// while it grows. A file that lies there stays whole until the new trace is finished and takes its
// place by rename(). So a kill at any moment leaves the old trace at OUTPUT and the new one in the
// session directory, where `recover` finishes it.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/base/target_file.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"

namespace tracesmith {

/// What lies at a path.
struct Occupant {
  enum class Kind : uint8_t { kNothing, kEmpty, kTrace, kOther };
  Kind kind = Kind::kNothing;
  bool complete = false;  ///< it has an end marker
  /// Rows that are more than names and processes; commands of a recording. Also what may hold them:
  /// a file of ours that is damaged, or that a newer version wrote.
  bool has_events = false;
  std::string session_id;  ///< metadata of a trace; may be empty
  std::string identity;    ///< of a trace or recording: the random number in its header
  std::string text;        ///< for people: "a trace of session …", "a file that is no trace"
};

/// Reads the file's blocks but not their rows, and its metadata. A file of 0 bytes, and one with a
/// header alone, is kEmpty.
Occupant lookAt(const std::string& path);

/// Where a trace for `output` is put: `output`, or what it links to. Fails when that is no regular
/// file or lies in /proc, /sys or /dev, may not be written, or when another user could have put a
/// link or the file there (base/output_place.hpp).
Result<std::string> checkedTarget(const std::string& output);

/// Whether `found` is a trace of this session, whose trace in the session directory is `made`.
bool isOfSession(const SessionDir& dir, const Occupant& made, const Occupant& found);
/// Whether a trace of the session that is another file than `made` is finished, and `made` is no
/// copy of it. It may hold more rows, so it is never replaced.
bool isFinishedElsewhere(const Occupant& made, const Occupant& found);

/// What became of a session's files.
struct Published {
  std::string trace;
  std::string recording;  ///< empty: there is none
  std::string note;       ///< one line for people when not all lies where it was asked for
};

/// Gives the growing trace its second name, where nothing lies at the output. Fails never: without
/// that name the trace appears when it is finished.
void showWhileItGrows(const SessionDir& dir);
/// Takes that name away again, for a program that was not started.
void hideAgain(const SessionDir& dir);

/// Puts the trace and the recording of `dir` to their places:
/// - Nothing at the output, an empty file, or what the session found there at its start is replaced
///   if the new trace is `complete` and has events, or the old one has none. A file that is no
///   trace counts as one with events.
/// - Else both are kept, and the new one is called OUTPUT-2.sbt (or the next free number).
/// - The recording of a trace that is replaced gives its place to a new one that holds commands;
///   else it is called OUTPUT.old.sbr.
/// Files that are there already, from a call that was killed, are left there.
Result<Published> publish(const SessionDir& dir, bool complete);

/// The same for a trace that no session made: `made`, opened for `output`, holds all of it.
Result<Published> publishFile(TargetFile& made, const std::string& output, bool force);

/// Where a program that records itself writes while a trace with events lies at `output`.
struct Beside {
  std::string path;      ///< OUTPUT-2.sbt, or the next free number: an empty file
  std::string replaces;  ///< Occupant::identity of what lies at the output
};
/// Empty paths: the output may be written itself. Fails when another process is writing there.
Result<Beside> startBeside(const std::string& output);
/// Moves the finished trace over the output if it has events, and the output is as it was. Returns
/// where the trace is.
Result<std::string> finishBeside(const Beside& made, const std::string& output);

/// The recording of a trace that publish() has put to `trace` before it was killed.
Result<Published> publishRest(const SessionDir& dir, const std::string& trace);

/// Where publish() has put this session's trace before; empty: nowhere.
std::string findPublished(const SessionDir& dir);

}  // namespace tracesmith
