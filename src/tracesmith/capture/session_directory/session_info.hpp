// SPDX-License-Identifier: Apache-2.0
// The contents of session.txt: lines "name=value", for `recover` and for people.
#pragma once

#include <cstdint>
#include <string>

namespace tracesmith {

/// Value of SessionInfo::replaces for a file that is not a trace.
constexpr const char* kNoTrace = "no trace";

struct SessionInfo {
  /// Absolute path of the trace. It follows from the path of the session directory; the line in
  /// session.txt is for people only.
  std::string output;
  std::string command_line;  // quoted, for people
  uint32_t root_pid = 0;
  // What to leave out of the trace. Missing in a directory of an older version.
  bool keep_kernels = true;
  bool keep_memory = true;
  int64_t shortest_call_ns = 0;
  /// Of a flight recorder; 0: everything is kept.
  int64_t flight_window_ns = 0;
  /// 128 random bits in hexadecimal; also in the trace, as metadata `session_id`. Empty in a
  /// directory of an older version.
  std::string id;
  /// `--force`: a trace without events replaces one with events.
  bool force = false;
  /// `record --pid`: the program records only while its recorder lives.
  bool attached = false;
  /// What existed at the output and at its recording when the session started: Occupant::identity
  /// (session_output.hpp), kNoTrace for another kind of file, or empty. Nothing else is ever
  /// replaced.
  std::string replaces;
  std::string replaces_recording;
};

/// Creates a new SessionInfo::id.
std::string makeSessionId();
/// The lines of session.txt.
std::string toText(const SessionInfo& info);
/// Whether the text has the lines that every session.txt has.
bool isSessionInfo(const std::string& text);
/// Skips unknown and damaged lines.
SessionInfo parseSessionInfo(const std::string& text);

}  // namespace tracesmith
