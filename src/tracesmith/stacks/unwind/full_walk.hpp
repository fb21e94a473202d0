// SPDX-License-Identifier: Apache-2.0
// Walks the stack of the calling thread with all registers and all rules of call frame information.
// It is slow, and used where WalkRule does not suffice.
//
// Runs inside the recorded program: uses only libc, no allocation, async-signal-safe when locks are
// not allowed.
#pragma once

#include <cstdint>

#include "tracesmith/stacks/unwind/code_tables.hpp"
#include "tracesmith/stacks/unwind/stepper.hpp"

namespace tracesmith::stacks {

struct FullWalk {
  uint32_t count = 0;
  WalkEnd end = WalkEnd::kBroken;
  /// The result depends only on the start point and the words noted in the memory.
  bool repeatable = true;
};

/// Writes at most `most` frame words, from `start` outwards. The walk itself starts from the
/// current registers, so it must be called (directly or not) from the function of `start`.
FullWalk walkInFull(const StartPoint& start, TableLock lock, CfiScratch& scratch,
                    StackMemory& memory, uint64_t* frames, uint32_t most);

}  // namespace tracesmith::stacks
