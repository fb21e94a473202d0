// SPDX-License-Identifier: Apache-2.0
// What stands at the place of an output before it is written.
#pragma once

#include <cstdint>
#include <string>

namespace tracesmith {

/// The file at a path.
struct ExistingFile {
  enum class Kind : uint8_t { kNothing, kEmpty, kTrace, kOther };
  Kind kind = Kind::kNothing;
  bool complete = false;  ///< it has an end marker
  /// Whether it has rows besides names and processes, or commands of a recording. Also true for
  /// files that may have them: a damaged file, or one written by a newer version.
  bool has_events = false;
  std::string session_id;  ///< metadata of a trace; may be empty
  std::string identity;    ///< of a trace or recording: the random number in its header
  std::string text;        ///< for people: "a trace of session …", "a file that is not a trace"
};

/// Reads the file's metadata and blocks, but not their rows. A file of 0 bytes, or with a header
/// only, is kEmpty.
ExistingFile inspectFile(const std::string& path);

}  // namespace tracesmith
