// SPDX-License-Identifier: Apache-2.0
// The registers of this machine in DWARF's numbering, and how to read those that a function must
// preserve for its caller.
#pragma once

#include <cstdint>

namespace tracesmith::stacks {

#if defined(__x86_64__)

constexpr bool kUnwinds = true;
constexpr uint32_t kRegisters = 17;  // rax rdx rcx rbx rsi rdi rbp rsp r8 to r15, return address
constexpr uint32_t kFramePointer = 6;
constexpr uint32_t kStackPointer = 7;
constexpr uint32_t kReturnAddress = 16;

#elif defined(__aarch64__)

constexpr bool kUnwinds = true;
constexpr uint32_t kRegisters = 33;  // x0 to x30, sp, pc
constexpr uint32_t kFramePointer = 29;
constexpr uint32_t kStackPointer = 31;
constexpr uint32_t kReturnAddress = 30;

#else

constexpr bool kUnwinds = false;
constexpr uint32_t kRegisters = 1;
constexpr uint32_t kFramePointer = 0;
constexpr uint32_t kStackPointer = 0;
constexpr uint32_t kReturnAddress = 0;

#endif

/// Start of a walk: a call site (the return address of the call), the stack pointer right after
/// that call returns, and the frame pointer register's value there.
struct StartPoint {
  uint64_t pc = 0;
  uint64_t sp = 0;
  uint64_t fp = 0;
};

/// The call site of the function that contains this macro; the function gets a frame pointer.
#define TS_CALLER_START_POINT()                                                               \
  (::tracesmith::stacks::StartPoint{                                                          \
      reinterpret_cast<uint64_t>(__builtin_extract_return_addr(__builtin_return_address(0))), \
      reinterpret_cast<uint64_t>(__builtin_dwarf_cfa()),                                      \
      *static_cast<const uint64_t*>(__builtin_frame_address(0))})

/// The values of all registers that survive a call, and of pc and sp, at one place.
struct Registers {
  uint64_t value[kRegisters] = {};
  uint64_t pc = 0;
};

/// Reads the registers at the place of the call.
#if defined(__x86_64__)
[[gnu::always_inline]] inline void readRegisters(Registers& out) {
  uint64_t* const v = out.value;
  asm volatile(
      "movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"
      "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"
      "movq %%r15, 120(%0)\n\tleaq 0(%%rip), %%rax\n\tmovq %%rax, 128(%0)"
      :
      : "r"(v)
      : "rax", "memory");
  out.pc = v[kReturnAddress];
}
#elif defined(__aarch64__)
[[gnu::always_inline]] inline void readRegisters(Registers& out) {
  uint64_t* const v = out.value;
  asm volatile(
      "stp x19, x20, [%0, #152]\n\tstp x21, x22, [%0, #168]\n\tstp x23, x24, [%0, #184]\n\t"
      "stp x25, x26, [%0, #200]\n\tstp x27, x28, [%0, #216]\n\tstp x29, x30, [%0, #232]\n\t"
      "mov x9, sp\n\tstr x9, [%0, #248]\n\tadr x9, .\n\tstr x9, [%0, #256]"
      :
      : "r"(v)
      : "x9", "memory");
  out.pc = v[32];
}
#else
inline void readRegisters(Registers&) {}
#endif

/// Removes the signature of an address that the processor signed (pointer authentication).
inline uint64_t withoutSignature(uint64_t address) {
#if defined(__aarch64__)
  register uint64_t x30 asm("x30") = address;
  asm("hint #7" : "+r"(x30));  // xpaclri; does nothing on processors without pointer authentication
  return x30;
#else
  return address;
#endif
}

}  // namespace tracesmith::stacks
