// SPDX-License-Identifier: Apache-2.0
// The host call stack of an API call, as a number in the call's record. Definitions of new paths
// and modules go into the thread's ring before that record (PathRecord, ModuleRecord).
#pragma once

#include <stdint.h>

#include "tracesmith/capture/agents/core/writer.hpp"

namespace tracesmith::agent {

/// Call stacks are enabled, by TRACESMITH_STACKS.
extern std::atomic<bool> g_stacks;

/// Reads the stack settings. Part of arm() and of each beginLife().
void prepareCallStacks();

/// The stack from the program's outermost frame inwards to the call; frames of this agent are left
/// out. 0: no stack could be taken or written, or this thread has no ring or is writing a record.
/// [hot]
uint32_t takeCallStack();

inline uint32_t callStack() {
  return __builtin_expect(g_stacks.load(std::memory_order_relaxed), 0) ? takeCallStack() : 0;
}

/// In a forked child: forgets what was written for the parent.
void forgetCallStacks(ThreadState& t);
/// Call when a thread ends.
void endCallStacks(ThreadState& t);

}  // namespace tracesmith::agent
