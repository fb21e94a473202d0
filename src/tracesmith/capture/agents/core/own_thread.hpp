// SPDX-License-Identifier: Apache-2.0
// A thread of the agent's in somebody else's program.
#pragma once

namespace tracesmith::agent {

/// Starts it, detached and with all signals blocked: those of the program are not for us. 0, or the
/// error.
int startOwnThread(void* (*run)(void*));

}  // namespace tracesmith::agent
