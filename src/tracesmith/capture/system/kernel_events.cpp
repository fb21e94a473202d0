// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/kernel_events.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "tracesmith/capture/system/system_call_names.hpp"
#include "tracesmith/capture/system/system_records.hpp"
#include "tracesmith/model/names/system_names.hpp"

namespace tracesmith {
namespace {

/// So many waits of one thread wait for the end of their system call.
constexpr size_t kMostWaits = 64;
constexpr std::string_view kFutex = "futex";

// Bits of a task's state (include/linux/sched.h); part of what tracers see since the first one.
constexpr uint32_t kInterruptible = 1, kUninterruptible = 2, kStopped = 4, kTraced = 8;
constexpr uint32_t kEnds = 0x10 | 0x20 | 0x80;  // EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD

RunState stateOf(uint32_t bits, bool is_preempted) {
  if (is_preempted || bits == 0) return RunState::kRunnable;
  if ((bits & kEnds) != 0) return RunState::kUnknown;
  if ((bits & kUninterruptible) != 0) return RunState::kDiskWait;
  if ((bits & kInterruptible) != 0) return RunState::kSleeping;
  if ((bits & (kStopped | kTraced)) != 0) return RunState::kStopped;
  return RunState::kWaiting;
}

template <class T>
bool read(std::span<const uint8_t> record, T& out) {
  if (record.size() < sizeof out) return false;
  std::memcpy(&out, record.data(), sizeof out);
  return true;
}

std::string signalName(uint32_t number) {
#ifdef __GLIBC__
  if (const char* const name = sigabbrev_np(static_cast<int>(number))) {
    return std::string("SIG") + name;
  }
#endif
  return fmt::format("signal {}", number);
}

int64_t saturated(uint64_t ns) { return static_cast<int64_t>(std::min<uint64_t>(ns, INT64_MAX)); }

/// The registers with the names of DWARF; nullopt: not on this machine.
bool registersOf(const uint64_t (&from)[SYSTEM_REGISTERS], stacks::Registers& out) {
#if defined(__x86_64__)
  // struct pt_regs: r15 to r12, bp, bx, r11 to r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp.
  constexpr std::array<std::pair<uint8_t, uint8_t>, 17> kNumbers = {{{0, 15},
                                                                     {1, 14},
                                                                     {2, 13},
                                                                     {3, 12},
                                                                     {4, 6},
                                                                     {5, 3},
                                                                     {6, 11},
                                                                     {7, 10},
                                                                     {8, 9},
                                                                     {9, 8},
                                                                     {10, 0},
                                                                     {11, 2},
                                                                     {12, 1},
                                                                     {13, 4},
                                                                     {14, 5},
                                                                     {16, 16},
                                                                     {19, 7}}};
  for (const auto& [at, dwarf] : kNumbers) out.value[dwarf] = from[at];
  out.pc = from[16];
  return true;
#elif defined(__aarch64__)
  for (size_t i = 0; i < 32; ++i) out.value[i] = from[i];  // x0 to x30, sp
  out.pc = from[32];
  out.value[stacks::kRegisters - 1] = out.pc;
  return true;
#else
  (void)from;
  (void)out;
  return false;
#endif
}

}  // namespace

int64_t KernelEvents::timeOf(std::span<const uint8_t> record) {
  system_header header;
  if (!read(record, header)) return INT64_MIN;
  int64_t time = saturated(header.time);
  system_call call;
  if (header.kind == SYSTEM_CALL && read(record, call))
    time = saturated(header.time + call.duration);
  return time;
}

void KernelEvents::take(std::span<const uint8_t> record) {
  system_header header;
  if (!read(record, header)) return;
  switch (header.kind) {
    case SYSTEM_SWITCH:
      return takeSwitch(record);
    case SYSTEM_WAKEUP:
      return takeWakeup(record);
    case SYSTEM_CALL:
      return takeCall(record);
    case SYSTEM_PYTHON:
      return takePython(record);
    case SYSTEM_SIGNAL:
      return takeSignal(record);
    case SYSTEM_OOM_KILL:
      return takeOomKill(header.pid);
    case SYSTEM_NAME: {
      system_name name;
      if (read(record, name))
        names_[header.tid] = {name.name, strnlen(name.name, sizeof name.name)};
      return;
    }
    default:
      return;
  }
}

void KernelEvents::takeSwitch(std::span<const uint8_t> record) {
  system_switch s;
  if (!read(record, s)) return;
  const int64_t time = saturated(s.header.time);
  if (const auto* const process = processes_.find(s.header.pid)) {
    const bool is_preempted = (s.header.flags & SYSTEM_SWITCH_PREEMPTED) != 0;
    states_.leave(process->number, s.header.tid, s.header.cpu, stateOf(s.state, is_preempted),
                  time);
  }
  if (const auto* const process = processes_.find(s.next_pid)) {
    states_.enter(process->number, s.next_tid, s.header.cpu, time,
                  s.header.tid == 0 ? kIdleProcessor : nameOf(s.header.tid));
  }
}

void KernelEvents::takeWakeup(std::span<const uint8_t> record) {
  system_wakeup w;
  if (!read(record, w)) return;
  const auto* const process = processes_.find(w.header.pid);
  const int64_t time = saturated(w.header.time);
  if (process == nullptr || !states_.wake(process->number, w.header.tid, time)) return;
  SystemEvents::Wakeup out{
      .time_ns = time, .process = process->number, .tid = w.header.tid, .cpu = w.header.cpu};
  const auto* const waker = processes_.find(w.waker_pid);
  if ((w.header.flags & SYSTEM_WAKEUP_BY_INTERRUPT) != 0) {
    out.waker = kInterrupt;
  } else if (waker != nullptr) {
    out.waker_process = waker->number;
    out.waker_tid = w.waker_tid;
  } else {
    out.waker = w.waker_tid == 0 ? kIdleProcessor : nameOf(w.waker_tid);
  }
  out_.wakeups.push_back(std::move(out));
}

uint32_t KernelEvents::pathOf(std::span<const uint8_t> record, SampledProcesses::Process& process) {
  if (record.size() < sizeof(system_call_stack)) return 0;
  // The ring's records are aligned to 8 bytes, as their structures.
  const auto* const with = reinterpret_cast<const system_call_stack*>(record.data());
  stacks::CopiedStack stack;
  uint64_t registers[SYSTEM_REGISTERS];
  std::memcpy(registers, with->registers, sizeof registers);
  if (!registersOf(registers, stack.registers)) return 0;
  stack.bytes = {with->stack, std::min<size_t>(with->bytes, SYSTEM_STACK_BYTES)};
  return stacks_.pathOf({.stack = &stack,
                         .tid = with->call.header.tid,
                         .time_ns = timeOf(record),
                         .is_of_call = true},
                        process);
}

void KernelEvents::takePython(std::span<const uint8_t> record) {
  constexpr size_t kHead = offsetof(system_python, frames);
  constexpr uint64_t kAddress = (uint64_t{1} << SYSTEM_PYTHON_OWNER_SHIFT) - 2;
  system_python python;
  if (record.size() < kHead) return;
  std::memcpy(&python, record.data(), std::min(record.size(), sizeof python));
  if (python.count > (record.size() - kHead) / sizeof *python.frames) return;
  std::vector<stacks::RawPythonFrame> frames;
  for (const system_python_frame& frame : std::span(python.frames).first(python.count)) {
    frames.push_back({.instruction = frame.instruction,
                      .code = frame.code & kAddress,
                      .owner = static_cast<uint8_t>(frame.code >> SYSTEM_PYTHON_OWNER_SHIFT),
                      .is_entry = (frame.code & 1) != 0});
  }
  stacks_.takePython(python.header.tid,
                     {.time_ns = saturated(python.header.time),
                      .is_of_call = (python.header.flags & SYSTEM_PYTHON_OF_CALL) != 0,
                      .is_cut = python.is_cut != 0,
                      .frames = std::move(frames)});
}

/// The file may be closed or another one by now; then its name is unknown or wrong.
std::string KernelEvents::subjectOf(uint32_t pid, int64_t descriptor) {
  std::array<char, 4096> target{};
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, descriptor);
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  return length <= 0 ? std::string() : std::string(target.data(), static_cast<size_t>(length));
}

void KernelEvents::takeCall(std::span<const uint8_t> record) {
  system_call c;
  if (!read(record, c)) return;
  auto* const process = processes_.find(c.header.pid);
  if (process == nullptr) return;
  SystemEvents::Call out{.start_ns = saturated(c.header.time),
                         .duration_ns = saturated(c.duration),
                         .result = c.result,
                         .process = process->number,
                         .tid = c.header.tid,
                         .name = systemCallName(c.number)};
  if ((c.header.flags & SYSTEM_CALL_HAS_STACK) != 0) out.path = pathOf(record, *process);
  if (takesDescriptor(out.name)) {
    out.descriptor = static_cast<int32_t>(c.arguments[0]);
    if (out.descriptor >= 0) out.subject = subjectOf(c.header.pid, out.descriptor);
  }
  if (out.name == kFutex) {
    constexpr uint32_t kTid = 0x3fffffff;  // FUTEX_TID_MASK
    out.lock_address = c.arguments[0];
    out.owner_tid = c.lock_owner & kTid;
  }
  giveWaits(out.process, out.tid, out.start_ns, out.path);
  out_.calls.push_back(std::move(out));
}

void KernelEvents::takeSignal(std::span<const uint8_t> record) {
  system_signal s;
  if (!read(record, s)) return;
  const auto* const process = processes_.find(s.header.pid);
  if (process == nullptr) return;
  const std::string_view sender = s.sender_tid == 0 ? "the kernel" : nameOf(s.sender_tid);
  std::string name = signalName(s.number);
  if (!sender.empty()) name += fmt::format(" from {}", sender);
  out_.signals.push_back({.time_ns = saturated(s.header.time),
                          .process = process->number,
                          .tid = s.header.tid,
                          .name = std::move(name)});
}

void KernelEvents::takeOomKill(uint32_t pid) {
  const auto* const process = processes_.find(pid);
  if (process != nullptr) out_.oom_kills.push_back(process->number);
}

void KernelEvents::takeState(StateSpan&& span) {
  if (!isWait(span.state)) {
    out_.states.push_back(std::move(span));
    return;
  }
  std::vector<StateSpan>& waits = waits_[{span.process, span.tid}];
  waits.push_back(std::move(span));
  if (waits.size() >= kMostWaits) giveWaits(waits[0].process, waits[0].tid, INT64_MAX, 0);
}

/// Those that began within the call, from `begin_ns` on, have its path.
void KernelEvents::giveWaits(uint32_t process, uint32_t tid, int64_t begin_ns, uint32_t path) {
  const auto found = waits_.find({process, tid});
  if (found == waits_.end()) return;
  for (StateSpan& span : found->second) {
    if (span.start_ns >= begin_ns) span.path = path;
    out_.states.push_back(std::move(span));
  }
  found->second.clear();
}

void KernelEvents::finish() {
  for (auto& [thread, waits] : waits_) {
    for (StateSpan& span : waits) out_.states.push_back(std::move(span));
  }
  waits_.clear();
}

}  // namespace tracesmith
