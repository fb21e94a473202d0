/* SPDX-License-Identifier: Apache-2.0 OR (GPL-2.0-only OR BSD-2-Clause) */
/* What the programs in the kernel (system.bpf.c) send to the recorder, through a BPF ring buffer.
   Times are CLOCK_MONOTONIC; pids and tids are those of the recorder's namespace, 0: not in it. */
#pragma once

enum system_record_kind {
  SYSTEM_SWITCH = 1,
  SYSTEM_WAKEUP = 2,
  SYSTEM_CALL = 3,
  SYSTEM_NAME = 4,
  SYSTEM_PYTHON = 5,
  SYSTEM_SIGNAL = 6,
  SYSTEM_OOM_KILL = 7, /* the header alone: the process that is killed */
};

/* The first member of each record. */
struct system_header {
  __u64 time;
  __u32 pid, tid;
  __u16 cpu;
  __u8 kind;
  __u8 flags;
  __u32 unused;
};

/* A thread lost its processor to another one. */
enum { SYSTEM_SWITCH_PREEMPTED = 1 };
struct system_switch {
  struct system_header header; /* the thread that ran until then */
  __u32 next_pid, next_tid;    /* 0: none, the processor is idle */
  __u32 state;                 /* the kernel's TASK_ bits; 0: it could have run on */
  __u32 unused;
};

/* A thread may run again, since another one or an interrupt said so. */
enum { SYSTEM_WAKEUP_BY_INTERRUPT = 1 };
struct system_wakeup {
  struct system_header header; /* the thread that is woken */
  __u32 waker_pid, waker_tid;
};

/* A system call that took long. */
enum { SYSTEM_CALL_HAS_STACK = 1 };
enum { SYSTEM_REGISTERS = 34, SYSTEM_STACK_BYTES = 8192, SYSTEM_STACK_PART = 1024 };
struct system_call {
  struct system_header header; /* time: its begin */
  __u64 duration;
  __s64 result;
  __u64 arguments[3];
  __u32 number;
  __u32 lock_owner; /* of a wait for a mutex of glibc: the tid in it, as the program has it */
};
/* With the stack from where it was called. */
struct system_call_stack {
  struct system_call call;
  __u64 registers[SYSTEM_REGISTERS]; /* struct pt_regs of the kernel's ABI */
  __u64 bytes;                       /* of the stack, from the stack pointer on */
  __u8 stack[SYSTEM_STACK_BYTES];
};

/* A signal was sent to a thread, or to its process. */
struct system_signal {
  struct system_header header; /* to whom */
  __u32 number;
  __u32 sender_pid, sender_tid; /* tid 0: the kernel, or a program of another namespace */
  __u32 unused;
};

/* The name of a thread of a program that is not followed, before it is first mentioned. */
struct system_name {
  struct system_header header;
  char name[16];
};

/* The Python frames of a thread, innermost first, which belong to its next sample or system call.
   Only the first `count` frames are sent. */
enum { SYSTEM_PYTHON_OF_CALL = 1 };
enum { SYSTEM_PYTHON_FRAMES = 128 };
enum { SYSTEM_PYTHON_OWNER_SHIFT = 56 };
struct system_python_frame {
  __u64 instruction;
  __u64 code; /* bit 0: the frame's mark of an entry; bits 56 to 63: its owner */
};
struct system_python {
  struct system_header header;
  __u32 count;
  __u32 is_cut;
  struct system_python_frame frames[SYSTEM_PYTHON_FRAMES];
};

/* Where a process has the states of its interpreter's threads, and offsets within them. All members
   of a frame lie in its first SYSTEM_PYTHON_FRAME_BYTES. */
enum { SYSTEM_PYTHON_FRAME_BYTES = 80 };
enum { SYSTEM_PYTHON_ABSENT = 0xffff };
struct system_python_layout {
  __u64 interpreters; /* address of the pointer to the first one */
  __u16 interpreter_next, interpreter_threads;
  __u16 thread_previous, thread_next, thread_native_id;
  __u16 thread_frame, link_frame; /* link_frame: SYSTEM_PYTHON_ABSENT if there is no link */
  __u16 frame_code, frame_previous, frame_instruction, frame_owner;
  __u16 frame_is_entry; /* SYSTEM_PYTHON_ABSENT: frames have no mark */
};

/* Numbers that count what happened, each for each processor. */
enum system_counter {
  SYSTEM_LOST = 0,        /* records for which there was no room */
  SYSTEM_UNKNOWN = 1,     /* system calls of which the begin was not seen */
  SYSTEM_LOST_PYTHON = 2, /* Python stacks for which there was no room */
  SYSTEM_COUNTERS = 3,
};

/* System calls of one process by number; the last place is for all larger ones. */
enum { SYSTEM_CALL_NUMBERS = 512 };
struct system_counts {
  __u64 calls[SYSTEM_CALL_NUMBERS];
  __u64 total_ns[SYSTEM_CALL_NUMBERS];
};
