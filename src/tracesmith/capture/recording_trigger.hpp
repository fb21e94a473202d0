// SPDX-License-Identifier: Apache-2.0
// Begins and ends the range of a recording that waits for it (`--range trigger`), from outside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

struct TriggerOutcome {
  bool begins = false;         ///< the range begins; else it ends
  std::vector<uint32_t> pids;  ///< of the processes that were told
};

/// `pid` is that of `tracesmith profile`, whose processes are all told, or of a recorded program.
/// kNotFound: it is neither, or has not used OpenCL yet.
Result<TriggerOutcome> triggerRecording(uint32_t pid);

/// The same for the session in this directory; `pid` 0: all of its processes.
Result<TriggerOutcome> triggerSession(const std::string& session_dir, uint32_t pid);

}  // namespace tracesmith
