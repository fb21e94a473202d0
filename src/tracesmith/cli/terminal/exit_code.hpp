// SPDX-License-Identifier: Apache-2.0
// Exit codes of the command. `profile` and `record` pass on the program's own code; 125 to 127
// mean, as with env(1) and timeout(1), that the program was never started.
#pragma once

#include "tracesmith/base/result.hpp"

namespace tracesmith::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,         ///< nothing could be read, or nothing could be written
  kExitUsage = 2,          ///< invalid command line; nothing was done
  kExitPartlyRead = 3,     ///< damaged trace: the readable part was used, the rest is reported
  kExitReplayDiffers = 4,  ///< replay: the bytes differ from the recording
  /// races: some were found; 4 means "read successfully, but with findings".
  kExitRacesFound = 4,
  /// profile: TraceSmith did not start the program (includes usage errors).
  kExitNotStarted = 125,
  kExitNotExecutable = 126,
  kExitCommandNotFound = 127,
};

/// For a program that could not be started.
constexpr int startFailureExitCode(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return kExitCommandNotFound;
    case ErrorCode::kPermission:
      return kExitNotExecutable;
    default:
      return kExitNotStarted;
  }
}

}  // namespace tracesmith::cli
