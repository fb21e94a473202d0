// SPDX-License-Identifier: Apache-2.0
// What session.txt says: lines "name=value", for `recover` and for people.
#pragma once

#include <cstdint>
#include <string>

namespace tracesmith {

/// SessionInfo::replaces for a file that is no trace.
constexpr const char* kNoTrace = "no trace";

struct SessionInfo {
  /// Absolute path of the trace. It follows from the place of the session directory; the line in
  /// session.txt is for people only.
  std::string output;
  std::string command_line;  // as text for people
  uint32_t root_pid = 0;
  // What was asked to be left out of the trace; a directory of an older version does not say.
  bool keep_kernels = true;
  bool keep_memory = true;
  int64_t shortest_call_ns = 0;
  /// 128 random bits in hexadecimal; also in the trace, as metadata `session_id`. Empty in a
  /// directory of an older version.
  std::string id;
  /// `--force`: a trace without events replaces one with events.
  bool force = false;
  /// `record --pid`: the program records only while its recorder lives.
  bool attached = false;
  /// What lay at the output, and at its recording, when the session started: Occupant::identity
  /// (session_output.hpp), kNoTrace for a file that is none, or empty. Nothing else is ever
  /// replaced.
  std::string replaces;
  std::string replaces_recording;
};

/// A new SessionInfo::id.
std::string makeSessionId();
/// Lines of session.txt.
std::string toText(const SessionInfo& info);
/// Whether the lines that every session.txt has are there.
bool isSessionInfo(const std::string& text);
/// Lines that are unknown or damaged are passed over.
SessionInfo parseSessionInfo(const std::string& text);

}  // namespace tracesmith
