// SPDX-License-Identifier: Apache-2.0
// The agent's side of an arena: gives each thread of the program a ring and writes records into it.
//
// This code runs inside other people's programs. It depends on libc only. Once a thread has its
// ring, it allocates nothing and takes no lock. It never prints, throws, aborts or exits. When it
// cannot work, it disarms itself and counts the loss.
#pragma once

#include <string.h>

#include "tracesmith/base/record_ring.hpp"
#include "tracesmith/capture/agents/core/agent_clock.hpp"
#include "tracesmith/capture/agents/core/session_folder.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith::stacks {
class CallPathCache;
class PythonFrames;
}  // namespace tracesmith::stacks

namespace tracesmith::agent {

/// The state that a thread needs for writing; constant-initialised so that its TLS access is one
/// load.
struct ThreadState {
  arena::RingHeader* ring = nullptr;
  uint8_t* data = nullptr;
  uint64_t mask = 0;
  uint64_t correlation_next = 0;
  uint64_t correlation_end = 0;
  uint64_t epoch = 0;  // life of the process that `ring` belongs to (a fork starts one)
  /// Nonzero while a record is written, when a signal handler must not start another: the stack
  /// pointer of the function that set it. See isBusy().
  uintptr_t busy = 0;
  uintptr_t live_busy = 0;                  // a record that endStaleRecord() found live,
  uintptr_t live_frame = 0;                 // when called with this frame
  bool refused = false;                     // no ring was available
  bool waited_in_vain = false;              // for space in a ring that another thread left full
  stacks::CallPathCache* stacks = nullptr;  // created when the first is taken; see call_stack.hpp
  stacks::PythonFrames* python = nullptr;
  /// The ring's tail when a wait for space failed. As long as the tail stays there, nobody reads
  /// the ring, even if the collector is alive: it may have lost its mapping of the file.
  uint64_t stuck_tail = ~uint64_t{0};
};

extern constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));

/// Reads as 0 in a forked child (fork_page.hpp), so that a stale ring is never written.
extern const std::atomic<uint64_t>* g_epoch;
/// The same for ready(). If the kernel does not wipe the page, a number that no thread has: then
/// each call asks attachThread(), which checks for a fork with one getpid().
extern const std::atomic<uint64_t>* g_ready_epoch;
extern std::atomic<const std::atomic<uint32_t>*> g_enabled;

/// The epoch of an armed process that is not being captured.
constexpr uint64_t kIdleEpoch = ~uint64_t{0};

/// Arms the agent for this process: creates its first arena in the session directory that the
/// environment names, or waits for a capture request (waitsForControl()). Returns false, without
/// side effects, if there is neither or the arena cannot be created.
bool arm(const char* agent_name);
bool armed();

/// For a process that waits for control; call on one thread at a time. beginLife() starts to record
/// into the session that the settings name; false: errno is set. endLife() abandons the arenas: a
/// record that a thread is writing at that moment goes there or is lost.
bool beginLife();
void endLife();
/// The step that failed in beginLife() or after it.
arena::ArmStep failedStep();
/// Ends the recording of a life when one of its files cannot be written any more
/// (guarded_mappings.hpp), and reports that. Async-signal-safe.
void endDamagedLife();
/// Enables or disables the recording of events. A life starts with events disabled.
void wantEvents(bool wanted);

/// Gets a ring for this thread (and, in a forked child, an arena for the process).
bool attachThread();

/// True when this thread can write records.
inline bool ready() {
  ThreadState& t = t_state;
  const uint64_t epoch = g_ready_epoch->load(std::memory_order_acquire);
  if (__builtin_expect(t.ring != nullptr && t.epoch == epoch, 1)) return true;
  return attachThread();
}

/// True while events are recorded. Definitions that later events need are recorded even when false.
inline bool capturing() {
  return g_enabled.load(std::memory_order_relaxed)->load(std::memory_order_relaxed) != 0;
}

/// The stack pointer. [hot]
[[gnu::always_inline]] inline uintptr_t stackPointer() {
  uintptr_t sp;
#if defined(__x86_64__)
  asm volatile("mov %%rsp, %0" : "=r"(sp));
#elif defined(__aarch64__)
  asm volatile("mov %0, sp" : "=r"(sp));
#else
  sp = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
#endif
  return sp;
}

/// Ends a record that was abandoned: a signal handler may leave by siglongjmp() and discard the
/// frame that was writing a record. Returns true if so; the thread is then no longer busy. `frame`
/// is where the caller's frame ends. If the caller's caller is at or above the stack pointer of the
/// record's writer, it cannot have been called from within the record. Conservative: only detects
/// this if both addresses are on the thread's own stack (own_stack.hpp), because the order of
/// addresses on coroutine and signal stacks means nothing. A call from deeper down the stack is not
/// detected either.
bool endStaleRecord(ThreadState& t, uintptr_t frame);

/// True for a call from a signal handler that interrupted a record of this thread. [hot]
[[gnu::always_inline]] inline bool isBusy(ThreadState& t) {
  if (__builtin_expect(t.busy == 0, 1)) return false;
  // The end of this frame needs no frame pointer and is the same for all wrappers of one caller.
  return !endStaleRecord(t, reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
}

/// Counts an event that cannot be recorded, in a counter of the process. Needs ready().
void countLost(std::atomic<uint64_t> arena::ArenaHeader::*counter);
/// Counts a call that interrupted a record.
inline void countReentrant() { countLost(&arena::ArenaHeader::dropped_reentrant); }

/// Waits (bounded) or drops, according to the overflow policy; true when there is room now.
bool makeRoom(ThreadState& t, uint64_t head, uint64_t bytes);

inline uint64_t nextCorrelation(ThreadState& t);
uint64_t refillCorrelation(ThreadState& t);

inline uint64_t nextCorrelation(ThreadState& t) {
  if (__builtin_expect(t.correlation_next == t.correlation_end, 0)) return refillCorrelation(t);
  return t.correlation_next++;
}

using ring::bump;

/// Room for a record of `bytes` (a multiple of 8), or nullptr: then the event has been counted as
/// dropped. Call commit() with the same size afterwards. Needs ready(). [hot]
inline uint8_t* reserve(ThreadState& t, uint64_t bytes) {
  uint64_t at = 0;
  auto pad = [&t](uint64_t place, uint64_t length) {
    const uint64_t word = ring::padWord(length);
    memcpy(t.data + place, &word, sizeof word);
  };
  auto room = [&t](uint64_t head, uint64_t need) { return makeRoom(t, head, need); };
  return ring::claim(*t.ring, t.mask + 1, bytes, room, pad, at) ? t.data + at : nullptr;
}

inline void commit(ThreadState& t, uint64_t bytes) { ring::publish(*t.ring, bytes); }

/// The directory of this life of the process, and the name of a file in it that belongs to its
/// arena.
const char* lifeFolder();
void lifeName(FileName& out, const char* suffix);

/// firstCorrelation(): the first correlation id not used by an earlier life of this process or by
/// another agent in it. takeCorrelations(): reserves the ids below `end` for this agent.
uint64_t firstCorrelation();
void takeCorrelations(uint64_t end);

/// True while a thread of this life is in a call that it has stored in its ring header.
bool isAnyThreadInCall();

/// Called when the program's main thread, and so the process, exits: waits until every tracked
/// command has completed, at most `grace_ns`.
void waitAtExit(int64_t grace_ns);

}  // namespace tracesmith::agent
