// SPDX-License-Identifier: Apache-2.0
// Checks whether a session directory still has records that are in no trace.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/session_directory/session_directory.hpp"

namespace tracesmith {

/// Fails while a ring or a channel of `dir` has unread records, or a file of CUDA's agent is not
/// among the commit marks of `trace`. The directory must then stay. Arenas that cannot be opened
/// count as unread.
Status checkAllRead(const SessionDir& dir, const std::string& trace);

}  // namespace tracesmith
