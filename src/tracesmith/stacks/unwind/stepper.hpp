// SPDX-License-Identifier: Apache-2.0
// Steps from a frame to its caller with all registers and all rules of call frame information:
// signal frames, the loader's resolver, hand-written code. Where the code and the stack lie, in
// this process or in a copy, is the caller's choice.
//
// Runs inside the recorded program: uses only libc, no allocation, async-signal-safe if its sources
// are.
#pragma once

#include <cstdint>

#include "tracesmith/stacks/unwind/cfi_row.hpp"
#include "tracesmith/stacks/unwind/machine_registers.hpp"
#include "tracesmith/stacks/unwind/packed_frame.hpp"
#include "tracesmith/stacks/unwind/stack_memory.hpp"

namespace tracesmith::stacks {

/// Finds the unwind information of code.
class EntrySource {
 public:
  /// Sets the entry for an address, and what the address is in the entry's terms: a copy of the
  /// code may lie elsewhere. False when there is none.
  virtual bool find(uint64_t address, CfiEntry& out, uint64_t& place) = 0;

 protected:
  ~EntrySource() = default;
};

/// Registers during the walk outwards, and which of them still have their value from its start.
struct WalkState {
  Registers registers;
  uint64_t entry = ~uint64_t{0};
  bool exact = true;  // pc is the instruction itself

  uint64_t lookup() const { return exact ? registers.pc : registers.pc - 1; }
};

class Stepper {
 public:
  Stepper(uint64_t start_sp, EntrySource& code, CfiScratch& scratch, WordSource& memory)
      : start_sp_(start_sp), code_(code), scratch_(scratch), memory_(memory) {}

  enum class Step : uint8_t { kCaller, kOutermost, kNoInformation, kBroken };
  Step step(WalkState& state);
  /// Steps to the outermost frame and writes at most `most` frame words. Guesses callers by frame
  /// pointer where there is no information.
  WalkEnd walkOutwards(WalkState& state, uint64_t* frames, uint32_t most, uint32_t& count);

  /// False when the position of a frame depended on a register's value at the start of the walk.
  bool repeatable() const { return repeatable_; }
  void beginRepeatable() { repeatable_ = true; }

 private:
  bool load(uint64_t address, uint64_t& out) {
    return memory_.read(address, out) && memory_.note(address, out);
  }
  void used(const WalkState& state, uint64_t registers) {
    if ((state.entry & registers) != 0) repeatable_ = false;
  }
  bool expression(const WalkState& state, int64_t at, const uint64_t* cfa, uint64_t& out);
  Step stepOverSignal(WalkState& state);
  bool stepByLink(WalkState& state);
  bool stepByGuess(WalkState& state);
  bool recover(const WalkState& before, uint32_t number, const CfiRow::Rule& rule, uint64_t cfa,
               WalkState& after);

  uint64_t start_sp_;
  EntrySource& code_;
  CfiScratch& scratch_;
  WordSource& memory_;
  CfiEntry entry_;
  CfiRow row_;
  bool repeatable_ = true;
};

/// Whether signal handlers return to `pc`, for code without unwind information: that of another C
/// library or a language runtime, and on AArch64 the kernel's.
bool isSignalReturn(uint64_t pc, WordSource& memory);

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
bool guessCaller(uint64_t sp, uint64_t fp, WordSource& memory, GuessedCaller& out);

}  // namespace tracesmith::stacks
