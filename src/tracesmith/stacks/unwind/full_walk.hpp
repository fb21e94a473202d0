// SPDX-License-Identifier: Apache-2.0
// Walks a stack with all registers and all rules of call frame information: signal frames, the
// loader's resolver, hand-written code. It is slow, and used where WalkRule does not suffice.
//
// Runs inside the recorded program: uses only libc, no allocation, async-signal-safe when locks are
// not allowed.
#pragma once

#include <cstdint>

#include "tracesmith/stacks/unwind/code_tables.hpp"
#include "tracesmith/stacks/unwind/machine_registers.hpp"
#include "tracesmith/stacks/unwind/packed_frame.hpp"
#include "tracesmith/stacks/unwind/stack_memory.hpp"

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

/// Whether signal handlers return to `pc`, for code without unwind information: that of another C
/// library or a language runtime, and on AArch64 the kernel's.
bool isSignalReturn(uint64_t pc, StackMemory& memory);

/// On AArch64 the frame pointer tells where the caller's frame pointer is stored, but not where the
/// frame ends. So the stack pointer after a guessed caller is unknown. An odd number stands for it,
/// which no stack pointer is, and which is less than the true value.
#if defined(__aarch64__)
constexpr bool kFrameRecordAnywhere = true;
#else
constexpr bool kFrameRecordAnywhere = false;
#endif
constexpr uint64_t unknownStackPointer(uint64_t fp) { return (fp + 16) | 1; }
constexpr bool isUnknownStackPointer(uint64_t sp) { return kFrameRecordAnywhere && (sp & 1) != 0; }

/// A caller found by frame pointer, for a frame without information.
struct GuessedCaller {
  uint64_t pc = 0;
  uint64_t sp = 0;
  uint64_t fp = 0;
};
/// False when the frame pointer is implausible. The words that it reads are noted.
bool guessCaller(uint64_t sp, uint64_t fp, StackMemory& memory, GuessedCaller& out);

}  // namespace tracesmith::stacks
