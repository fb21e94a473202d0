// SPDX-License-Identifier: Apache-2.0
// Puts a finished trace in its place, where another trace and its recording may be.
#pragma once

#include <string>

#include "tracesmith/base/files/target_file.hpp"
#include "tracesmith/base/result.hpp"
#include "tracesmith/recording/existing_file.hpp"

namespace tracesmith {

/// Final paths of a trace and its recording.
struct Published {
  std::string trace;
  std::string recording;  ///< empty: none
  std::string note;       ///< one line for people when a file is not at the requested path
};

/// Puts a complete trace in its place. `made` is opened for `output`. A trace with events that is
/// there is replaced if the new one has events too, or by `force`; otherwise it stays, and the new
/// one is called OUTPUT-2.sbt (or the next free number). The recording of a replaced trace is
/// renamed.
Result<Published> publishFile(TargetFile& made, const std::string& output, bool force);

/// Renames the recording at `path`, because it belongs to the trace that is replaced, and says so
/// in `published`.
Status keepOldRecording(const std::string& path, Published& published);

}  // namespace tracesmith
