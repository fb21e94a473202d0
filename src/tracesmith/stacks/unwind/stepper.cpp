// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/unwind/stepper.hpp"

#include "tracesmith/stacks/unwind/cfi_expression.hpp"

namespace tracesmith::stacks {
namespace {

constexpr uint64_t kLargestFrame = 64u << 20;

/// Whether the frame pointer and the return address are adjacent. The frame's own pointer, once
/// set, points there.
bool isFrameRecord(const CfiRow::Rule& fp, const CfiRow::Rule& ra) {
  return fp.kind == RegisterRule::kAtCfa && ra.kind == RegisterRule::kAtCfa &&
         ra.value == fp.value + 8;
}

/// Whether the bytes before a return address are a call, as far as that can be determined.
bool followsCall(uint64_t pc, WordSource& memory) {
  if (pc < 4096 || (pc & ~kFrameAddressMask) != 0) return false;
#if defined(__x86_64__)
  uint64_t before = 0;
  if (!memory.read(pc - 8, before)) return false;
  const auto byte = [&](uint32_t back) { return static_cast<uint8_t>(before >> (8 * (8 - back))); };
  if (byte(5) == 0xe8) return true;                   // call with relative address
  for (uint32_t length = 2; length <= 7; ++length) {  // call through memory, register
    if (byte(length) == 0xff && ((byte(length - 1) >> 3) & 7) == 2) return true;
  }
  return false;
#elif defined(__aarch64__)
  uint64_t before = 0;
  if ((pc & 3) != 0 || !memory.read(pc - 8, before)) return false;
  const auto call = static_cast<uint32_t>(before >> 32);
  return (call & 0xfc000000) == 0x94000000 || (call & 0xfffffc1f) == 0xd63f0000;
#else
  return memory.read(pc, pc);
#endif
}

}  // namespace

bool Stepper::expression(const WalkState& state, int64_t at, const uint64_t* cfa, uint64_t& out) {
  ExpressionInput input{state.registers.value, state.registers.pc, 0};
  const bool ok = evaluate(reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(at)),
                           entry_.limit, cfa, input, memory_, out);
  used(state, input.used);
  return ok;
}

/// Computes the caller's value of register `number`.
bool Stepper::recover(const WalkState& before, uint32_t number, const CfiRow::Rule& rule,
                      uint64_t cfa, WalkState& after) {
  uint64_t& value = after.registers.value[number];
  const uint64_t bit = uint64_t{1} << number;
  uint64_t address = 0;
  switch (rule.kind) {
    case RegisterRule::kSame:
    case RegisterRule::kUndefined:
      return true;
    case RegisterRule::kCfa:
      value = cfa + static_cast<uint64_t>(rule.value);
      after.entry &= ~bit;
      return true;
    case RegisterRule::kRegister:
      value = before.registers.value[rule.value];
      after.entry = (after.entry & ~bit) | ((before.entry >> rule.value & 1) << number);
      return true;
    case RegisterRule::kExpressionValue:
      after.entry &= ~bit;
      return expression(before, rule.value, &cfa, value);
    case RegisterRule::kAtCfa:
      address = cfa + static_cast<uint64_t>(rule.value);
      break;
    case RegisterRule::kAtExpression:
      if (!expression(before, rule.value, &cfa, address)) return false;
      break;
  }
  // What an interrupted function has taken off the stack is in the register again, and a copy of
  // the stack does not have it.
  const uint64_t sp = before.registers.value[kStackPointer];
  if (!load(address, value)) return before.exact && address < sp && sp - address <= kLargestFrame;
  // A value saved by frames inside the start point is the register's value at that point.
  if (address >= start_sp_) after.entry &= ~bit;
  return true;
}

/// Steps from the code that a signal handler returns to, to the interrupted code. The kernel has
/// saved the registers on the stack; unwind information for their position is optional.
Stepper::Step Stepper::stepOverSignal(WalkState& state) {
#if defined(__x86_64__)
  // struct ucontext: flags, link and alternate stack, then r8 to r15, rdi, rsi, rbp, rbx, rdx, rax,
  // rcx, rsp, rip.
  constexpr uint64_t kSaved = 40;
  constexpr uint8_t kOrder[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
#else
  // struct siginfo (128 bytes), struct ucontext to the fault's address (184), then x0 to x30, sp,
  // pc.
  constexpr uint64_t kSaved = 312;
  constexpr uint8_t kOrder[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#endif
  WalkState after = state;
  uint64_t at = state.registers.value[kStackPointer] + kSaved;
  for (const uint8_t number : kOrder) {
    uint64_t value = 0;
    if (!load(at, value)) return Step::kBroken;
    if (number < kRegisters) after.registers.value[number] = value;
    if (at >= start_sp_) after.entry &= ~(uint64_t{1} << number);
    after.registers.pc = value;  // the last one
    at += 8;
  }
  after.exact = true;
  state = after;
  return Step::kCaller;
}

Stepper::Step Stepper::step(WalkState& state) {
  uint64_t place = 0;
  if (!code_.find(state.lookup(), entry_, place) || !findRow(entry_, place, scratch_, row_)) {
    return isSignalReturn(state.registers.pc, memory_) ? stepOverSignal(state)
                                                       : Step::kNoInformation;
  }
  const CfiRow::Rule& ra = row_.registers[entry_.return_register];
  if (ra.kind == RegisterRule::kUndefined) return Step::kOutermost;
  uint64_t cfa = 0;
  if (row_.cfa_expression != nullptr) {
    const auto at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(row_.cfa_expression));
    if (!expression(state, at, nullptr, cfa)) return Step::kBroken;
  } else {
    uint32_t from = row_.cfa_register;
    int64_t offset = row_.cfa_offset;
    if (from == kStackPointer && isUnknownStackPointer(state.registers.value[from])) {
      const CfiRow::Rule& fp = row_.registers[kFramePointer];
      if (!isFrameRecord(fp, ra)) return Step::kNoInformation;
      from = kFramePointer;
      offset = -fp.value;
    }
    used(state, uint64_t{1} << from);
    cfa = state.registers.value[from] + static_cast<uint64_t>(offset);
  }
  WalkState after = state;
  after.registers.value[kStackPointer] = cfa;
  after.entry &= ~(uint64_t{1} << kStackPointer);
  for (uint32_t number = 0; number < kRegisters; ++number) {
    if (!recover(state, number, row_.registers[number], cfa, after)) return Step::kBroken;
  }
  used(after, uint64_t{1} << entry_.return_register);
  after.registers.pc = after.registers.value[entry_.return_register];
  if (row_.return_signed) after.registers.pc = withoutSignature(after.registers.pc);
  after.exact = entry_.signal_frame;
  if (after.registers.pc == 0) return Step::kOutermost;
  // A frame that is its own caller would repeat forever, and only a signal may switch to another
  // stack. Code that was interrupted before it used the stack has its return address in a register,
  // on processors that have one for it.
  const uint64_t before = state.registers.value[kStackPointer];
  const bool moved =
      cfa > before || (cfa == before && state.exact && ra.kind == RegisterRule::kSame);
  if (!moved && !entry_.signal_frame) return Step::kBroken;
  state = after;
  return Step::kCaller;
}

/// Leaves interrupted code without unwind information that was called by known code and still has
/// the return address in the link register: PLT entries on AArch64.
bool Stepper::stepByLink(WalkState& state) {
#if defined(__aarch64__)
  const uint64_t caller = withoutSignature(state.registers.value[kReturnAddress]);
  CfiEntry entry;
  uint64_t place = 0;
  if (!state.exact || !followsCall(caller, memory_) || !code_.find(caller - 1, entry, place)) {
    return false;
  }
  used(state, uint64_t{1} << kReturnAddress);
  state.registers.pc = caller;
  state.exact = false;
  return true;
#else
  return state.exact && false;
#endif
}

bool isSignalReturn(uint64_t pc, WordSource& memory) {
  uint64_t code = 0;
#if defined(__x86_64__)
  // mov $15, %rax; syscall
  return memory.read(pc, code) && code == 0x0f0000000fc0c748 && memory.read(pc + 1, code) &&
         code >> 56 == 0x05;
#elif defined(__aarch64__)
  // mov x8, #139; svc #0
  return (pc & 3) == 0 && memory.read(pc, code) && code == 0xd4000001d2801168;
#else
  return memory.read(pc, code) && false;
#endif
}

bool guessCaller(uint64_t sp, uint64_t fp, WordSource& memory, GuessedCaller& out) {
  if (fp < sp || fp - sp > kLargestFrame || (fp & 7) != 0) return false;
  if (!memory.read(fp, out.fp) || !memory.read(fp + 8, out.pc)) return false;
  out.pc = withoutSignature(out.pc);
  // The caller may use that register for something else than a frame pointer.
  if (!followsCall(out.pc, memory)) return false;
  out.sp = kFrameRecordAnywhere ? unknownStackPointer(fp) : fp + 16;
  return memory.note(fp, out.fp) && memory.note(fp + 8, out.pc);
}

bool Stepper::stepByGuess(WalkState& state) {
  GuessedCaller caller;
  uint64_t* const value = state.registers.value;
  if (!guessCaller(value[kStackPointer], value[kFramePointer], memory_, caller)) return false;
  state.registers.pc = caller.pc;
  value[kStackPointer] = caller.sp;
  value[kFramePointer] = caller.fp;
  state.exact = false;
  return true;
}

WalkEnd Stepper::walkOutwards(WalkState& state, uint64_t* frames, uint32_t most, uint32_t& count) {
  uint64_t flags = 0;
  for (count = 0; count < most;) {
    frames[count++] =
        (state.registers.pc & kFrameAddressMask) | flags | (state.exact ? kExactFrame : 0);
    flags = 0;
    const Step stepped = step(state);
    if (stepped == Step::kCaller) continue;
    if (stepped == Step::kNoInformation && (stepByLink(state) || stepByGuess(state))) {
      flags = kGuessedFrame;
      continue;
    }
    return stepped == Step::kOutermost       ? WalkEnd::kOutermost
           : stepped == Step::kNoInformation ? WalkEnd::kNoInformation
                                             : WalkEnd::kBroken;
  }
  return WalkEnd::kTooDeep;
}

}  // namespace tracesmith::stacks
