// SPDX-License-Identifier: Apache-2.0
// What the command's exit code says. `profile` and `record` pass the program's own code on; 125 to
// 127 mean, as with env(1) and timeout(1), that the program was never started.
#pragma once

#include "tracesmith/base/result.hpp"

namespace tracesmith::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,         ///< nothing could be read, or nothing could be written
  kExitUsage = 2,          ///< the command line makes no sense; nothing was done
  kExitPartlyRead = 3,     ///< a damaged trace: what was readable has been used, the rest is named
  kExitReplayDiffers = 4,  ///< replay: the bytes are not those of the recording
  kExitRacesFound = 4,     ///< races: there are some; 4 is "read well, and not as it should be"
  kExitNotStarted = 125,   ///< profile: we prevented the start (usage errors included)
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
