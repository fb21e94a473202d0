// SPDX-License-Identifier: Apache-2.0
// The host call stack at a call of the API, as a number in its record. What is new of it goes into
// the thread's ring before (PathRecord, ModuleRecord).
#pragma once

#include <stdint.h>

#include "tracesmith/capture/agents/core/writer.hpp"

namespace tracesmith::agent {

/// Stacks are wanted, by TRACESMITH_STACKS.
extern std::atomic<bool> g_stacks;

/// Reads what is wanted from the settings. Part of arm() and of each beginLife().
void prepareCallStacks();

/// The stack from the program's call inwards to this agent, which is left out; 0: none could be had
/// or told, or this thread has no ring or is busy with a record. [hot]
uint32_t takeCallStack();

inline uint32_t callStack() {
  return __builtin_expect(g_stacks.load(std::memory_order_relaxed), 0) ? takeCallStack() : 0;
}

/// In a forked child: nothing is known of what the parent was told.
void forgetCallStacks(ThreadState& t);
/// When a thread ends.
void endCallStacks(ThreadState& t);

}  // namespace tracesmith::agent
