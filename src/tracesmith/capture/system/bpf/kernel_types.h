// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
// The kernel's types, as far as system.bpf.c reads them. Where a member lies is found out when the
// program is loaded, from the running kernel's own description (BTF).
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
// As libbpf's headers call them.
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef _Bool bool;

enum bpf_map_type {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_PERCPU_ARRAY = 6,
  BPF_MAP_TYPE_LRU_HASH = 9,
  BPF_MAP_TYPE_RINGBUF = 27,
  BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_F_NO_PREALLOC = 1, BPF_RB_NO_WAKEUP = 1 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct upid {
  int nr;
};
struct pid {
  unsigned int level;
  struct upid numbers[1];
};
struct kernel_siginfo {
  int si_code;
};
struct signal_struct {
  struct pid* pids[4];
};
struct task_struct {
  int pid;
  int tgid;
  struct pid* thread_pid;
  struct signal_struct* signal;
  char comm[16];
};

#pragma clang attribute pop

#if defined(__TARGET_ARCH_x86)
/* The layout is the ABI of the system, and does not change. */
struct pt_regs {
  u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp,
      ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
  u64 regs[31], sp, pc, pstate;
};
#endif
