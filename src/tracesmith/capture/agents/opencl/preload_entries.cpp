// SPDX-License-Identifier: Apache-2.0
// The functions that the preloaded library exports. They are jumps: arguments, stack and return
// address stay the caller's. So one form serves every signature, the real dlsym() sees its caller
// (RTLD_NEXT), and call stacks get no extra frame.
//
// Cost per call: 8 instructions for the first caller, about 60 for others.
#include <stddef.h>

#include "tracesmith/capture/agents/opencl/preload.hpp"

using tracesmith::agent::CallerRange;

static_assert(offsetof(CallerRange, begin) == 0 && offsetof(CallerRange, size) == 8 &&
              offsetof(CallerRange, entries) == 16);

#if defined(__x86_64__)

// %c0: offset of the function in cl_icd_dispatch
#define TS_ENTRY(name)                                         \
  ".pushsection .text.tracesmith_entries, \"ax\", @progbits\n" \
  ".globl " #name "\n.type " #name ",@function\n" #name        \
  ":\n"                                                        \
  ".cfi_startproc\n"                                           \
  "  endbr64\n"                                                \
  "  movq tracesmith_first_caller(%%rip), %%r11\n"             \
  "  movq (%%rsp), %%rax\n"                                    \
  "  subq (%%r11), %%rax\n"                                    \
  "  cmpq 8(%%r11), %%rax\n"                                   \
  "  jae 1f\n"                                                 \
  "  movq 16(%%r11), %%r11\n"                                  \
  "  jmp *%c0(%%r11)\n"                                        \
  "1: movl $%c0, %%eax\n"                                      \
  "  jmp tracesmith_other_caller\n"                            \
  ".cfi_endproc\n"                                             \
  ".size " #name ", . - " #name "\n.popsection\n"

asm(R"(
.pushsection .text.tracesmith_entries, "ax", @progbits
.type tracesmith_other_caller, @function
tracesmith_other_caller:
.cfi_startproc
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
.cfi_adjust_cfa_offset 56
  movq 56(%rsp), %rdi
  call tracesmith_entries_for
  movq %rax, %r11
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
.cfi_adjust_cfa_offset -56
  addq %rax, %r11
  jmp *(%r11)
.cfi_endproc
.size tracesmith_other_caller, . - tracesmith_other_caller

.globl dlsym
.type dlsym, @function
dlsym:
.cfi_startproc
  endbr64
  testq %rsi, %rsi
  jz 1f
  cmpb $'c', (%rsi)
  jne 1f
  cmpb $'l', 1(%rsi)
  je 2f
1:
  movq tracesmith_real_dlsym(%rip), %rax
  testq %rax, %rax
  jz 3f
  jmp *%rax
2:
  pushq %rdi
  pushq %rsi
  subq $8, %rsp
.cfi_adjust_cfa_offset 24
  movq 24(%rsp), %rdx
  call tracesmith_opencl_symbol
  addq $8, %rsp
  popq %rsi
  popq %rdi
.cfi_adjust_cfa_offset -24
  testq %rdx, %rdx
  jz 1b
  ret
3:
  pushq %rdi
  pushq %rsi
  subq $8, %rsp
.cfi_adjust_cfa_offset 24
  call tracesmith_find_dlsym
  addq $8, %rsp
  popq %rsi
  popq %rdi
.cfi_adjust_cfa_offset -24
  jmp 1b
.cfi_endproc
.size dlsym, . - dlsym
.popsection
)");

#elif defined(__aarch64__)

#define TS_ENTRY(name)                                          \
  ".pushsection .text.tracesmith_entries, \"ax\", %%progbits\n" \
  ".globl " #name "\n.type " #name ",%%function\n" #name        \
  ":\n"                                                         \
  ".cfi_startproc\n"                                            \
  "  hint #34\n"                                                \
  "  adrp x16, tracesmith_first_caller\n"                       \
  "  ldr x16, [x16, :lo12:tracesmith_first_caller]\n"           \
  "  ldp x9, x10, [x16]\n"                                      \
  "  sub x9, x30, x9\n"                                         \
  "  cmp x9, x10\n"                                             \
  "  b.hs 1f\n"                                                 \
  "  ldr x16, [x16, #16]\n"                                     \
  "  ldr x16, [x16, #%c0]\n"                                    \
  "  br x16\n"                                                  \
  "1: mov x9, #%c0\n"                                           \
  "  b tracesmith_other_caller\n"                               \
  ".cfi_endproc\n"                                              \
  ".size " #name ", . - " #name "\n.popsection\n"

asm(R"(
.pushsection .text.tracesmith_entries, "ax", %progbits
.type tracesmith_other_caller, %function
tracesmith_other_caller:
.cfi_startproc
  stp x29, x30, [sp, #-96]!
.cfi_adjust_cfa_offset 96
.cfi_rel_offset x30, 8
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  stp x8, x9, [sp, #80]
  mov x0, x30
  bl tracesmith_entries_for
  mov x16, x0
  ldp x8, x9, [sp, #80]
  ldp x6, x7, [sp, #64]
  ldp x4, x5, [sp, #48]
  ldp x2, x3, [sp, #32]
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #96
.cfi_adjust_cfa_offset -96
.cfi_restore x30
  ldr x16, [x16, x9]
  br x16
.cfi_endproc
.size tracesmith_other_caller, . - tracesmith_other_caller

.globl dlsym
.type dlsym, %function
dlsym:
.cfi_startproc
  hint #34
  cbz x1, 1f
  ldrb w9, [x1]
  cmp w9, #'c'
  b.ne 1f
  ldrb w9, [x1, #1]
  cmp w9, #'l'
  b.eq 2f
1:
  adrp x16, tracesmith_real_dlsym
  ldr x16, [x16, :lo12:tracesmith_real_dlsym]
  cbz x16, 3f
  br x16
2:
  stp x29, x30, [sp, #-32]!
.cfi_adjust_cfa_offset 32
.cfi_rel_offset x30, 8
  stp x0, x1, [sp, #16]
  mov x2, x30
  bl tracesmith_opencl_symbol
  mov x9, x0
  mov x10, x1
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
.cfi_adjust_cfa_offset -32
.cfi_restore x30
  cbz x10, 1b
  mov x0, x9
  ret
3:
  stp x29, x30, [sp, #-32]!
.cfi_adjust_cfa_offset 32
.cfi_rel_offset x30, 8
  stp x0, x1, [sp, #16]
  bl tracesmith_find_dlsym
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
.cfi_adjust_cfa_offset -32
.cfi_restore x30
  b 1b
.cfi_endproc
.size dlsym, . - dlsym
.popsection
)");

#else
#error "the preloaded agent is written for x86-64 and AArch64"
#endif

/// Never called; assembly can get offsets only within a function.
__attribute__((used, noinline)) static void defineEntries() {
#define TS_X(function, ...) \
  asm volatile(TS_ENTRY(function)::"i"(offsetof(cl_icd_dispatch, function)));
  TS_OPENCL_PRELOADED(TS_X)
#undef TS_X
}
