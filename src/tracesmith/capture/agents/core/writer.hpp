// SPDX-License-Identifier: Apache-2.0
// The agent's side of an arena: gives each thread of the program a ring and puts records into it.
//
// This code runs inside other people's programs. It has no dependency but libc, allocates nothing
// and takes no lock once a thread has its ring, never prints, throws, aborts or exits. When it can
// not work it disarms itself and counts.
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

/// What a thread needs to write; constant-initialised so that its TLS access is one load.
struct ThreadState {
  arena::RingHeader* ring = nullptr;
  uint8_t* data = nullptr;
  uint64_t mask = 0;
  uint64_t correlation_next = 0;
  uint64_t correlation_end = 0;
  uint64_t epoch = 0;  // life of the process that `ring` belongs to (a fork begins a new one)
  /// Inside a record, where a signal handler must not begin another: the stack pointer of who set
  /// it, else 0. See isBusy().
  uintptr_t busy = 0;
  uintptr_t live_busy = 0;                  // a record that endStaleRecord() has found live,
  uintptr_t live_frame = 0;                 // asked for this frame
  bool refused = false;                     // no ring to be had
  bool waited_in_vain = false;              // for room in a ring that another thread left full
  stacks::CallPathCache* stacks = nullptr;  // made when the first is taken; see call_stack.hpp
  stacks::PythonFrames* python = nullptr;
  /// The ring's tail when a wait for room ended without any. As long as it stays there, nobody
  /// reads, although the collector may be alive: it may have lost its view of the file.
  uint64_t stuck_tail = ~uint64_t{0};
};

extern constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));

/// Reads as 0 in a forked child (fork_page.hpp), so that a stale ring is never written.
extern const std::atomic<uint64_t>* g_epoch;
/// The same for ready(). Where the kernel does not wipe the page, a number that no thread has:
/// then each call asks attachThread(), which looks for a fork with one getpid().
extern const std::atomic<uint64_t>* g_ready_epoch;
extern std::atomic<const std::atomic<uint32_t>*> g_enabled;

/// The epoch of an armed process that nobody captures.
constexpr uint64_t kIdleEpoch = ~uint64_t{0};

/// Arms the agent for this process: makes its first arena in the session directory that the
/// environment names, or waits for somebody who wants to capture it (waitsForControl()). False,
/// without a trace, when there is neither or it cannot be made.
bool arm(const char* agent_name);
bool armed();

/// Of a process that waits for control, on one thread at a time. beginLife() begins to record into
/// the session that the settings name; false: errno says why not. endLife() gives up its arenas:
/// what a thread is just writing goes there, or nowhere.
bool beginLife();
void endLife();
/// What beginLife() could not do, when it or what follows it has failed.
arena::ArmStep failedStep();
/// Ends the recording of a life one of whose files can be written no more (guarded_mappings.hpp),
/// and leaves word of it. Async-signal-safe.
void endDamagedLife();
/// From one moment on events are wanted, or are not any more. A life begins without.
void wantEvents(bool wanted);

/// Gets this thread a ring (and, in a forked child, the process an arena).
bool attachThread();

/// True when this thread can write records.
inline bool ready() {
  ThreadState& t = t_state;
  const uint64_t epoch = g_ready_epoch->load(std::memory_order_acquire);
  if (__builtin_expect(t.ring != nullptr && t.epoch == epoch, 1)) return true;
  return attachThread();
}

/// True while events are wanted. What later events need to be understood is recorded all the same.
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

/// A signal handler may leave by siglongjmp() and take the frame that was writing a record with it.
/// True, and the thread is no longer busy, when this is so: what called us (`frame` is where its
/// frame ends) lies at or above the stack pointer of that time, so it cannot have been called from
/// within. Conservative: only where both lie on the thread's own stack (own_stack.hpp), for on
/// coroutines' and signal stacks the order of addresses says nothing; nor for a call from deeper.
bool endStaleRecord(ThreadState& t, uintptr_t frame);

/// True for a call from a signal handler that has interrupted a record of this thread. [hot]
[[gnu::always_inline]] inline bool isBusy(ThreadState& t) {
  if (__builtin_expect(t.busy == 0, 1)) return false;
  // The end of this frame, which needs no frame pointer; the same for all wrappers of one caller.
  return !endStaleRecord(t, reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
}

/// Counts what cannot be recorded, in a counter of the process. Needs ready().
void countLost(std::atomic<uint64_t> arena::ArenaHeader::*counter);
/// A call that interrupted a record.
inline void countReentrant() { countLost(&arena::ArenaHeader::dropped_reentrant); }

/// Waits (bounded) or drops, as the overflow policy says; true when there is room now.
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

/// The directory of this life of the process, and the name of a file there, beside its arena.
const char* lifeFolder();
void lifeName(FileName& out, const char* suffix);

/// The first correlation id that no earlier life of this process, and no other agent in it, has
/// given; those below `end` are this agent's from then on.
uint64_t firstCorrelation();
void takeCorrelations(uint64_t end);

/// The newest correlation id that a thread of this life has noted in its ring; 0: none.
uint64_t newestCorrelation();

/// When the program's main thread leaves, and with it the process, waits until every tracked
/// command has been seen complete, at most `grace_ns`.
void waitAtExit(int64_t grace_ns);

}  // namespace tracesmith::agent
