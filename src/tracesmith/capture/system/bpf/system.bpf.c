// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
// Runs in the kernel: what threads of the followed processes wait for, who wakes them, and which
// system calls take long. Everything else is left out here, before it costs anything.
#include "kernel_types.h"
// (kept apart: the order matters)
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "system_records.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before the programs are loaded. */
const volatile u32 pid_level = 0; /* depth of the recorder's pid namespace */
const volatile u64 least_call_ns = 10000;
const volatile u64 least_stack_ns = 100000; /* calls of at least this length have a stack */
const volatile u32 reads_python = 1;

/* By process id: its threads are followed. The values count its calls. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, u32);
  __type(value, struct system_counts);
} followed SEC(".maps");

/* By process id: it is followed from the next program on that it executes. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __type(key, u32);
  __type(value, u32);
} starting SEC(".maps");

/* One value of zeros, which new processes begin with. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct system_counts);
} no_counts SEC(".maps");

/* By thread id: threads of others whose names were sent. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, u32);
  __type(value, u64);
} named SEC(".maps");

struct call_begin {
  u64 time;
  u64 arguments[3];
  u32 number;
  u32 lock_owner;
};
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct call_begin);
} calls SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, SYSTEM_COUNTERS);
  __type(key, u32);
  __type(value, u64);
} counters SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 24);
} records SEC(".maps");

/* By process id: it has a Python interpreter. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, u32);
  __type(value, struct system_python_layout);
} pythons SEC(".maps");

enum { SIGPIPE = 13, SIGCHLD = 17, SIGCONT = 18 };

/* Numbers of system calls. */
#if defined(__TARGET_ARCH_x86)
enum { EXECVE = 59, FUTEX = 202 };
#else
enum { EXECVE = 221, FUTEX = 98 };
#endif

static __always_inline void count(u32 counter) {
  u64* value = bpf_map_lookup_elem(&counters, &counter);
  if (value) ++*value;
}

/* The number of a struct pid in the recorder's namespace. */
static __always_inline u32 number_of(struct pid* pid) {
  u32 nr = 0;
  if (!pid || BPF_CORE_READ(pid, level) < pid_level) return 0;
  bpf_probe_read_kernel(&nr, sizeof nr, &pid->numbers[pid_level].nr);
  return nr;
}
static __always_inline u32 tid_of(struct task_struct* task) {
  return pid_level == 0 ? (u32)task->pid : number_of(task->thread_pid);
}
static __always_inline u32 pid_of(struct task_struct* task) {
  return pid_level == 0 ? (u32)task->tgid : number_of(BPF_CORE_READ(task, signal, pids[1]));
}
static __always_inline struct system_counts* followed_at(u32 pid) {
  return pid == 0 ? 0 : bpf_map_lookup_elem(&followed, &pid);
}
static __always_inline bool is_followed(u32 pid) {
  u64 is = followed_at(pid) != 0;
  barrier_var(is); /* the verifier forbids what the compiler makes of two such tests */
  return is;
}

/* How many handlers of interrupts run on each processor, one within the other. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, s32);
} interrupts SEC(".maps");

static __always_inline int add_interrupts(s32 added) {
  u32 zero = 0;
  s32* depth = bpf_map_lookup_elem(&interrupts, &zero);
  if (depth && *depth + added >= 0) *depth += added; /* the first end has no begin */
  return 0;
}
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_timer) { return add_interrupts(1); }
SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_timer_end) { return add_interrupts(-1); }
SEC("tp_btf/softirq_entry")
int BPF_PROG(on_soft_interrupt) { return add_interrupts(1); }
SEC("tp_btf/softirq_exit")
int BPF_PROG(on_soft_interrupt_end) { return add_interrupts(-1); }
SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_interrupt) { return add_interrupts(1); }
SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_interrupt_end) { return add_interrupts(-1); }

/* Whether a handler runs, and not the thread that it interrupted. */
static __always_inline bool in_interrupt(void) {
  u32 zero = 0;
  s32* depth = bpf_map_lookup_elem(&interrupts, &zero);
  return depth && *depth > 0;
}

static __always_inline void* reserve(u64 size) {
  void* record = bpf_ringbuf_reserve(&records, size, 0);
  if (!record) count(SYSTEM_LOST);
  return record;
}
static __always_inline void submit(void* record) { bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP); }
static __always_inline void set_header(struct system_header* header, u8 kind, u32 pid, u32 tid) {
  header->time = bpf_ktime_get_ns();
  header->pid = pid;
  header->tid = tid;
  header->cpu = bpf_get_smp_processor_id();
  header->kind = kind;
  header->flags = 0;
  header->unused = 0;
}

/* Names a thread of another program, once for each name. */
static __always_inline void name_other(struct task_struct* task, u32 pid, u32 tid) {
  u64 name = 0, *known;
  if (tid == 0) return;
  bpf_probe_read_kernel(&name, sizeof name, task->comm);
  known = bpf_map_lookup_elem(&named, &tid);
  if (known && *known == name) return;
  struct system_name* record = reserve(sizeof *record);
  if (!record) return;
  set_header(&record->header, SYSTEM_NAME, pid, tid);
  bpf_probe_read_kernel(record->name, sizeof record->name, task->comm);
  submit(record);
  bpf_map_update_elem(&named, &tid, &name, BPF_ANY);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct* prev, struct task_struct* next,
             u32 prev_state) {
  u32 pid = pid_of(prev), next_pid = pid_of(next);
  bool follows_prev = is_followed(pid), follows_next = is_followed(next_pid);
  if (!follows_prev && !follows_next) return 0;
  u32 tid = tid_of(prev), next_tid = tid_of(next);
  if (!follows_prev) name_other(prev, pid, tid);
  if (!follows_next) name_other(next, next_pid, next_tid);
  struct system_switch* record = reserve(sizeof *record);
  if (!record) return 0;
  set_header(&record->header, SYSTEM_SWITCH, pid, tid);
  record->header.flags = preempted ? SYSTEM_SWITCH_PREEMPTED : 0;
  record->next_pid = next_pid;
  record->next_tid = next_tid;
  record->state = prev_state;
  record->unused = 0;
  submit(record);
  return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct* woken) {
  u32 pid = pid_of(woken);
  if (!is_followed(pid)) return 0;
  struct task_struct* waker = bpf_get_current_task_btf();
  u32 waker_pid = pid_of(waker), waker_tid = tid_of(waker);
  bool by_interrupt = in_interrupt();
  if (!by_interrupt && !is_followed(waker_pid)) name_other(waker, waker_pid, waker_tid);
  struct system_wakeup* record = reserve(sizeof *record);
  if (!record) return 0;
  set_header(&record->header, SYSTEM_WAKEUP, pid, tid_of(woken));
  record->header.flags = by_interrupt ? SYSTEM_WAKEUP_BY_INTERRUPT : 0;
  record->waker_pid = by_interrupt ? 0 : waker_pid;
  record->waker_tid = by_interrupt ? 0 : waker_tid;
  submit(record);
  return 0;
}

/* Whether the kernel itself sends a signal, as for a fault, and not the current thread. */
static __always_inline bool is_of_kernel(int number, struct kernel_siginfo* info,
                                         struct task_struct* to, struct task_struct* current) {
  if (in_interrupt() || (u64)info == 1) return 1; /* SEND_SIG_PRIV */
  if (number == SIGPIPE && to == current) return 1;
  if ((u64)info == 0 || number == SIGCHLD) return 0; /* SEND_SIG_NOINFO */
  return BPF_CORE_READ(info, si_code) > 0;
}

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int number, struct kernel_siginfo* info, struct task_struct* task,
             int group, int result) {
  u32 pid = pid_of(task);
  /* Ignored, or one that waits already. SIGCONT has its effect even if it is ignored. */
  if ((result != 0 && number != SIGCONT) || !is_followed(pid)) return 0;
  struct task_struct* sender = bpf_get_current_task_btf();
  bool by_kernel = is_of_kernel(number, info, task, sender);
  u32 sender_pid = by_kernel ? 0 : pid_of(sender), sender_tid = by_kernel ? 0 : tid_of(sender);
  if (!by_kernel && !is_followed(sender_pid)) name_other(sender, sender_pid, sender_tid);
  struct system_signal* record = reserve(sizeof *record);
  if (!record) return 0;
  set_header(&record->header, SYSTEM_SIGNAL, pid, tid_of(task));
  record->number = number;
  record->sender_pid = sender_pid;
  record->sender_tid = sender_tid;
  record->unused = 0;
  submit(record);
  return 0;
}

/* The task is what kernels from 6.8 on give; others do not take this program. */
SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom_kill, struct task_struct* victim) {
  u32 pid = pid_of(victim);
  if (!is_followed(pid)) return 0;
  struct system_header* record = reserve(sizeof *record);
  if (!record) return 0;
  set_header(record, SYSTEM_OOM_KILL, pid, tid_of(victim));
  submit(record);
  return 0;
}

static __always_inline void follow(u32 pid) {
  u32 zero = 0;
  struct system_counts* none = bpf_map_lookup_elem(&no_counts, &zero);
  if (none) bpf_map_update_elem(&followed, &pid, none, BPF_NOEXIST);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
  u32 pid = pid_of(child), parent_pid = pid_of(parent);
  if (pid == 0 || !is_followed(parent_pid)) return 0;
  follow(pid);
  struct system_python_layout* layout = bpf_map_lookup_elem(&pythons, &parent_pid);
  if (layout && pid != parent_pid) bpf_map_update_elem(&pythons, &pid, layout, BPF_ANY);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct* task) {
  u32 pid = pid_of(task);
  if (pid == 0) return 0;
  bpf_map_delete_elem(&pythons, &pid);
  if (!bpf_map_lookup_elem(&starting, &pid)) return 0;
  bpf_map_delete_elem(&starting, &pid);
  follow(pid);
  struct system_counts* counts = followed_at(pid);
  if (counts) counts->calls[EXECVE] = 1; /* the call that goes on here */
  return 0;
}

#include "python_frames.h"

SEC("perf_event")
int on_sample(void* context) {
  struct task_struct* task = bpf_get_current_task_btf();
  /* Kernels from 6.3 on have stamped the sample by now. */
  if (reads_python) send_python(task, pid_of(task), bpf_ktime_get_ns() - EARLIER_NS, AT_SAMPLE);
  return 1; /* and write the sample */
}

/* FUTEX_WAIT (0) and FUTEX_WAIT_BITSET (9) for the value that a contended mutex of glibc has: its
   owner lies two words behind. */
static __always_inline u32 lock_owner_of(u64 address, u64 operation, u64 value) {
  u64 command = operation & 0x7f;
  u32 owner = 0;
  if ((command != 0 && command != 9) || (u32)value != 2) return 0;
  bpf_probe_read_user(&owner, sizeof owner, (const void*)(address + 8));
  return owner;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_call, struct pt_regs* registers, long number) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct system_counts* counts = followed_at(pid_of(task));
  if (!counts) return 0;
  u32 place = (u64)number < SYSTEM_CALL_NUMBERS ? (u32)number : SYSTEM_CALL_NUMBERS - 1;
  __sync_fetch_and_add(&counts->calls[place], 1);
  struct call_begin* begin = bpf_task_storage_get(&calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!begin) return 0;
#if defined(__TARGET_ARCH_x86)
  bpf_probe_read_kernel(&begin->arguments[0], 8, &registers->di);
  bpf_probe_read_kernel(&begin->arguments[1], 8, &registers->si);
  bpf_probe_read_kernel(&begin->arguments[2], 8, &registers->dx);
#else
  bpf_probe_read_kernel(begin->arguments, sizeof begin->arguments, registers->regs);
#endif
  begin->number = (u32)number;
  begin->lock_owner =
      number == FUTEX ? lock_owner_of(begin->arguments[0], begin->arguments[1], begin->arguments[2])
                      : 0;
  begin->time = bpf_ktime_get_ns();
  return 0;
}

static __always_inline void set_call(struct system_call* record, struct call_begin* begin, u64 time,
                                     u64 duration, s64 result, u32 pid, u32 tid) {
  set_header(&record->header, SYSTEM_CALL, pid, tid);
  record->header.time = time;
  record->duration = duration;
  record->result = result;
  record->arguments[0] = begin->arguments[0];
  record->arguments[1] = begin->arguments[1];
  record->arguments[2] = begin->arguments[2];
  record->number = begin->number;
  record->lock_owner = begin->lock_owner;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_return, struct pt_regs* registers, long result) {
  struct task_struct* task = bpf_get_current_task_btf();
  u32 pid = pid_of(task);
  struct system_counts* counts = followed_at(pid);
  if (!counts) return 0;
  struct call_begin* begin = bpf_task_storage_get(&calls, task, 0, 0);
  if (!begin || begin->time == 0) {
    count(SYSTEM_UNKNOWN);
    return 0;
  }
  u64 time = begin->time;
  u64 duration = bpf_ktime_get_ns() - time;
  begin->time = 0;
  u32 place = begin->number < SYSTEM_CALL_NUMBERS ? begin->number : SYSTEM_CALL_NUMBERS - 1;
  __sync_fetch_and_add(&counts->total_ns[place], duration);
  if (duration < least_call_ns) return 0;
  if (duration < least_stack_ns) {
    struct system_call* record = reserve(sizeof *record);
    if (!record) return 0;
    set_call(record, begin, time, duration, result, pid, tid_of(task));
    submit(record);
    return 0;
  }
  if (reads_python) send_python(task, pid, time + duration, AT_CALL);
  struct system_call_stack* record = reserve(sizeof *record);
  if (!record) return 0;
  set_call(&record->call, begin, time, duration, result, pid, tid_of(task));
  record->call.header.flags = SYSTEM_CALL_HAS_STACK;
  bpf_probe_read_kernel(record->registers, sizeof(struct pt_regs), registers);
  u64 sp = registers->sp;
  u64 bytes = 0;
  /* Up to the end of the stack, or to a page that is not there. */
#pragma unroll
  for (int part = 0; part < SYSTEM_STACK_BYTES / SYSTEM_STACK_PART; ++part) {
    if (bytes == (u64)part * SYSTEM_STACK_PART &&
        bpf_probe_read_user(record->stack + part * SYSTEM_STACK_PART, SYSTEM_STACK_PART,
                            (const void*)(sp + (u64)part * SYSTEM_STACK_PART)) == 0) {
      bytes += SYSTEM_STACK_PART;
    }
  }
  record->bytes = bytes;
  submit(record);
  return 0;
}
