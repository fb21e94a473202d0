// SPDX-License-Identifier: Apache-2.0
// A thread of the agent in the program's process.
#pragma once

namespace tracesmith::agent {

/// Starts a detached thread with all signals blocked, so that the program's signals go to the
/// program's threads. Returns 0 or the error number.
int startOwnThread(void* (*run)(void*));

}  // namespace tracesmith::agent
