// SPDX-License-Identifier: Apache-2.0
// Walks a stack with all registers and every rule that call frame information can express: signal
// frames, the loader's resolver, code written by hand. Slow; used where WalkRule does not suffice.
//
// Part of what enters other people's programs: libc alone, no allocation, async-signal-safe where
// locks are not allowed.
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
  /// What was found depends on nothing but the start point and the words noted in the memory.
  bool repeatable = true;
};

/// Writes the frames from `start` outwards, at most `most`, as frame words. It begins at registers
/// that hold here, in a function that was called (directly or not) from the one at `start`.
FullWalk walkInFull(const StartPoint& start, TableLock lock, CfiScratch& scratch,
                    StackMemory& memory, uint64_t* frames, uint32_t most);

/// True for what signal handlers return to, where nothing describes it: another C library's or a
/// language's own, and on AArch64 the kernel's.
bool isSignalReturn(uint64_t pc, StackMemory& memory);

/// On AArch64 the frame pointer says where its caller's is kept, but not where the frame ends:
/// behind a guessed caller the stack pointer is not known. It is then an odd number, which no stack
/// pointer is, and less than what it stands for.
#if defined(__aarch64__)
constexpr bool kFrameRecordAnywhere = true;
#else
constexpr bool kFrameRecordAnywhere = false;
#endif
constexpr uint64_t unknownStackPointer(uint64_t fp) { return (fp + 16) | 1; }
constexpr bool isUnknownStackPointer(uint64_t sp) { return kFrameRecordAnywhere && (sp & 1) != 0; }

/// By frame pointer: the caller of a frame of which nothing is known.
struct GuessedCaller {
  uint64_t pc = 0;
  uint64_t sp = 0;
  uint64_t fp = 0;
};
/// False when the frame pointer makes no sense. What it reads is noted.
bool guessCaller(uint64_t sp, uint64_t fp, StackMemory& memory, GuessedCaller& out);

}  // namespace tracesmith::stacks
