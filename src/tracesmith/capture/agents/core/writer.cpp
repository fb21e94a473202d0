// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/writer.hpp"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracesmith/capture/agents/core/arena_maker.hpp"
#include "tracesmith/capture/agents/core/call_stack.hpp"
#include "tracesmith/capture/agents/core/damage_note.hpp"
#include "tracesmith/capture/agents/core/fork_page.hpp"
#include "tracesmith/capture/agents/core/no_cancel.hpp"
#include "tracesmith/capture/agents/core/own_stack.hpp"
#include "tracesmith/capture/agents/core/pause.hpp"
#include "tracesmith/capture/agents/core/process_identity.hpp"
#include "tracesmith/capture/agents/core/settings.hpp"
#include "tracesmith/capture/agents/core/unarmed.hpp"

// glibc's part of thread_local destructors, which needs no C++ runtime library. Other C libraries
// lack it; there the exit of a program does not wait for work in progress.
extern "C" __attribute__((weak)) int __cxa_thread_atexit_impl(void (*destructor)(void*),
                                                              void* object, void* library);
extern "C" void* __dso_handle;

namespace tracesmith::agent {

using arena::ArenaHeader;
using arena::RingHeader;

constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));

namespace {

const std::atomic<uint64_t> kNoEpoch{0};
// Matches no life.
const std::atomic<uint64_t> kAskEachTime{kIdleEpoch - 1};
const std::atomic<uint32_t> kDisabled{0};

// All of it belongs to one process; a forked child starts with its own (see beginLife).
struct Process {
  ArenaPlan plan;
  arena::Overflow overflow = arena::Overflow::kBlock;
  volatile bool armed = false;
  std::atomic<uint32_t> arena_count{0};
  Arena arenas[arena::kMaxArenasPerProcess];
  std::atomic<uint32_t> growing{0};   // a thread is adding an arena
  std::atomic<uint32_t> entering{0};  // threads that are about to get a ring
  std::atomic<uint32_t> free_rings{0};
  uint64_t lives = 0;                    // number of lives started and ended
  std::atomic<uint32_t> life_pid{0};     // the process that the arenas belong to
  std::atomic<uint32_t> fork_thread{0};  // of a forked child: the thread that starts its life
  pthread_key_t thread_end_key{};
  int64_t exit_grace_ns = 0;
};
Process g_process;
ForkPage g_epoch_page;
arena::ArmStep g_failed_step{};

constexpr int64_t kHeartbeatStaleNs = 2'000'000'000;
constexpr int64_t kLongestBlockNs = 2'000'000'000;
uint32_t threadId() { return static_cast<uint32_t>(syscall(SYS_gettid)); }
bool isMainThread() { return threadId() == static_cast<uint32_t>(getpid()); }

bool addArena(uint32_t number, Arena& out, arena::ArmStep& failed) {
  if (!makeArena(g_process.plan, number, out, failed)) return false;
  g_process.free_rings.fetch_add(out.ring_count, std::memory_order_relaxed);
  return true;
}

uint64_t epoch() { return g_epoch_page.number->load(std::memory_order_acquire); }

void reportNoLife(arena::ArmStep step) {
  reportUnrecorded(g_process.plan.session, errno, step, arena::kUnrecordedSuffix);
}

/// Used by arm(): a waiting process has no session to report to.
void reportNotArmed(bool waits, arena::ArmStep step) {
  if (waits) {
    reportUnarmed(errno, step);
  } else {
    reportNoLife(step);
  }
}

DamageNote g_damage_note;  // for endDamagedLife()

/// Starts a recorded life of this process: its first arena and its epoch.
bool makeLife() {
  g_process.arena_count.store(0, std::memory_order_relaxed);
  g_process.free_rings.store(0, std::memory_order_relaxed);
  g_process.plan.on_damage = endDamagedLife;
  arena::ArmStep failed{};
  if (!addArena(0, g_process.arenas[0], failed)) {
    const int error = errno;
    g_failed_step = failed;
    reportNoLife(failed);
    errno = error;
    return false;
  }
  g_process.arena_count.store(1, std::memory_order_release);
  FileName name;
  lifeName(name, arena::kArenaSuffix);
  prepareDamageNote(g_damage_note, g_process.plan.session, name, arena::kUnrecordedSuffix);
  g_process.life_pid.store(static_cast<uint32_t>(getpid()), std::memory_order_relaxed);
  g_enabled.store(&g_process.arenas[0].header->capture_enabled, std::memory_order_relaxed);
  g_epoch_page.number->store(g_process.lives << 32 | static_cast<uint64_t>(getpid()));
  return true;
}

/// In a forked child, only the forking thread exists: work of the parent's other threads will never
/// be finished. If the child's own threads race here, one starts the life and the others wait.
bool beginLifeOfFork() {
  const auto pid = static_cast<uint32_t>(getpid());
  if (g_process.life_pid.exchange(pid) != pid) {
    g_process.fork_thread.store(threadId());
    g_process.entering.store(1);  // this one
    g_process.plan.first_correlation = 1;
    g_process.growing.store(0, std::memory_order_relaxed);
    // If the parent was not captured, there is nothing to continue.
    if (*g_process.plan.session != 0 && makeLife()) return true;
    g_process.armed = false;
    return false;
  }
  // Called by a fault's handler in makeLife(): nobody else would end the wait.
  if (g_process.fork_thread.load() == threadId()) return epoch() != 0;
  const int64_t began = nowNs();
  int64_t pause_ns = kFirstPauseNs;
  while (g_process.armed && epoch() == 0 && nowNs() - began < kLongestBlockNs) {
    pauseLonger(pause_ns);
  }
  return epoch() != 0;
}

constexpr uint64_t kThreadRecordBytes = sizeof(arena::ThreadRecord);
/// Records which thread writes from here on. claimRing() has made sure of the space.
void writeThreadRecord(ThreadState& t) {
  constexpr uint64_t kBytes = kThreadRecordBytes;
  static_assert(kBytes % 8 == 0);
  uint8_t* p = reserve(t, kBytes);
  arena::ThreadRecord r{};
  r.header = {arena::RecordKind::kThread, 0, kBytes / 8, t.ring->tid};
  r.time = stamp();
  prctl(PR_GET_NAME, r.name);
  memcpy(p, &r, kBytes);
  commit(t, kBytes);
}

enum class Claim { kDone, kTaken, kFull, kNone };

/// kFull: a ring is free, but full of an earlier thread's records. Without space for its thread
/// record, the new thread's records would be attributed to the earlier thread.
Claim claimRing(ThreadState& t, const Arena& a) {
  Claim result = Claim::kTaken;
  const uint64_t ring_bytes = a.ring_bytes;
  for (uint32_t i = 0; i < a.ring_count; ++i) {
    RingHeader& ring = a.rings[i];
    uint32_t expected = 0;
    if (ring.owned.load(std::memory_order_relaxed) == 0 &&
        ring.owned.compare_exchange_strong(expected, 1, std::memory_order_acquire)) {
      if (ring.damaged.load(std::memory_order_relaxed) != 0) {
        ring.owned.store(0, std::memory_order_release);
        continue;
      }
      ring.in_call.store(0, std::memory_order_relaxed);
      const uint64_t head = ring.head.load(std::memory_order_relaxed);
      ring.cached_tail = ring.tail.load(std::memory_order_acquire);
      // Twice, because a pad may have to come first.
      if (head + 2 * kThreadRecordBytes - ring.cached_tail > ring_bytes) {
        ring.owned.store(0, std::memory_order_release);
        result = Claim::kFull;
        continue;
      }
      g_process.free_rings.fetch_sub(1, std::memory_order_relaxed);
      ring.tid = threadId();
      t.ring = &ring;
      t.data = a.data + i * ring_bytes;
      t.mask = ring_bytes - 1;
      t.correlation_next = t.correlation_end = 0;
      t.epoch = epoch();
      if (head == 0) prefaultRing(g_process.plan, a, i);
      return Claim::kDone;
    }
  }
  return result;
}

bool collectorIsGone(int64_t now) {
  const ArenaHeader& header = *g_process.arenas[0].header;
  return now - header.collector_heartbeat_ns.load(std::memory_order_relaxed) > kHeartbeatStaleNs;
}

/// kFull: only full rings are free; another try later may find space. kNone: no ring is available
/// at all. `may_wait`: wait for space in a full ring; `waited_in_vain`: there was none although the
/// collector is alive.
Claim claimAnyRing(ThreadState& t, bool may_wait, bool& waited_in_vain) {
  int64_t began = nowNs();
  int64_t pause_ns = kFirstPauseNs;
  bool full = false;
  uint32_t before = 0;
  for (int64_t now = began; now - began < kLongestBlockNs; now = nowNs()) {
    const uint32_t count = g_process.arena_count.load(std::memory_order_acquire);
    // When a thousand threads come at once, the last one waits long, but the wait makes progress.
    if (count != before) began = now;
    before = count;
    full = false;
    // Do not look at every ring, because a thousand threads may be doing so.
    const bool any = g_process.free_rings.load(std::memory_order_relaxed) != 0;
    for (uint32_t i = 0; any && i < count; ++i) {
      const Claim claim = claimRing(t, g_process.arenas[i]);
      if (claim == Claim::kDone) return claim;
      full = full || claim == Claim::kFull;
    }
    if (full) {
      if (!may_wait || g_process.overflow == arena::Overflow::kDrop || collectorIsGone(now)) {
        return Claim::kFull;
      }
      pauseLonger(pause_ns);
      continue;
    }
    if (count == arena::kMaxArenasPerProcess) return Claim::kNone;
    uint32_t expected = 0;
    if (g_process.growing.compare_exchange_strong(expected, 1, std::memory_order_acquire)) {
      bool made = true;
      if (g_process.arena_count.load(std::memory_order_acquire) == count) {
        arena::ArmStep failed{};
        made = addArena(count, g_process.arenas[count], failed);
        if (made) g_process.arena_count.store(count + 1, std::memory_order_release);
      }
      g_process.growing.store(0, std::memory_order_release);
      if (!made) return Claim::kNone;
    } else {
      // Another thread is creating an arena, which takes a while on a busy system.
      pauseLonger(pause_ns);
    }
  }
  waited_in_vain = full;
  return full ? Claim::kFull : Claim::kNone;
}

/// Waits until every tracked command has completed or the grace period ends.
void waitForCompletions() {
  if (!g_process.armed || epoch() == 0 || epoch() == kIdleEpoch) return;
  const NoCancel whole;
  const int64_t began = nowNs();
  for (;;) {
    uint64_t tracked = 0;
    uint64_t completed = 0;
    const uint32_t count = g_process.arena_count.load(std::memory_order_acquire);
    for (uint32_t a = 0; a < count; ++a) {
      for (uint32_t i = 0; i < g_process.arenas[a].ring_count; ++i) {
        completed += g_process.arenas[a].rings[i].completed.load(std::memory_order_relaxed);
        tracked += g_process.arenas[a].rings[i].tracked.load(std::memory_order_relaxed);
      }
    }
    if (completed >= tracked || nowNs() - began > g_process.exit_grace_ns) return;
    timespec pause{0, 100'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  }
}

/// exit(3) first runs the thread_local destructors of its thread. An exit handler would run too
/// late: the driver's handlers may run first, and its threads would continue with destroyed
/// objects. The end of another thread is not an exit.
void waitAtExitOfMainThread() {
  static constinit thread_local bool registered __attribute__((tls_model("initial-exec"))) = false;
  if (registered || g_process.exit_grace_ns == 0 || !isMainThread()) return;
  if (__cxa_thread_atexit_impl == nullptr) return;
  registered =
      __cxa_thread_atexit_impl([](void*) { waitForCompletions(); }, nullptr, &__dso_handle) == 0;
}

void onThreadEnd(void*) {
  ThreadState& t = t_state;
  RingHeader* ring = t.ring;
  const bool mine = ring != nullptr && t.epoch == g_epoch->load();
  t.ring = nullptr;
  endCallStacks(t);
  t.refused = true;  // calls by later destructors of this thread are counted, not recorded
  if (!mine) return;
  ring->owned.store(0, std::memory_order_release);
  g_process.free_rings.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

const std::atomic<uint64_t>* g_epoch = &kNoEpoch;
const std::atomic<uint64_t>* g_ready_epoch = &kNoEpoch;
std::atomic<const std::atomic<uint32_t>*> g_enabled{&kDisabled};

namespace {

/// False: no session is set.
bool readSettings() {
  const char* session = setting(arena::kEnvSession);
  if (session == nullptr || *session == 0 || strlen(session) >= sizeof g_process.plan.session) {
    return false;
  }
  strcpy(g_process.plan.session, session);
  uint64_t ring_bytes = 4u << 20;
  if (const char* text = setting(arena::kEnvRingBytes)) ring_bytes = strtoull(text, nullptr, 10);
  g_process.plan.ring_bytes = arena::kMinRingBytes;
  while (g_process.plan.ring_bytes < ring_bytes &&
         g_process.plan.ring_bytes < arena::kMaxRingBytes) {
    g_process.plan.ring_bytes *= 2;
  }
  const char* const overflow = setting(arena::kEnvOverflow);
  const bool drops = overflow != nullptr && strcmp(overflow, "drop") == 0;
  g_process.overflow = drops ? arena::Overflow::kDrop : arena::Overflow::kBlock;
  const char* const capture = setting(arena::kEnvCapture);
  g_process.plan.capturing = capture == nullptr || strcmp(capture, "off") != 0;
  return true;
}

/// For a fork in a signal handler that interrupted a record; the parent finishes that record too.
void leaveRecordToParent() {
  const uint32_t count = t_state.busy != 0 ? g_process.arena_count.load() : 0;
  for (uint32_t i = 0; i < count; ++i) replaceByMemory(g_process.arenas[i]);
}

}  // namespace

bool arm(const char* agent_name) {
  const bool waits = waitsForControl();
  // A forked child of a process that is not captured waits as its parent did.
  if (waits && g_epoch_page.number != nullptr && epoch() == 0 && *g_process.plan.session == 0) {
    g_process.life_pid.store(static_cast<uint32_t>(getpid()), std::memory_order_relaxed);
    g_process.entering.store(0);
    g_epoch_page.number->store(kIdleEpoch);
    g_process.armed = true;
  }
  if (g_process.armed) return true;
  if (!waits && !readSettings()) return false;
  strncpy(g_process.plan.agent, agent_name, sizeof g_process.plan.agent - 1);
  g_use_tsc = counterIsClockSource();
  if (g_epoch_page.number == nullptr &&
      !makeForkPage([] { g_epoch_page.number->store(0); }, g_epoch_page)) {
    reportNotArmed(waits, arena::ArmStep::kForkPage);
    return false;
  }
  errno = pthread_key_create(&g_process.thread_end_key, onThreadEnd);
  if (errno != 0) {
    reportNotArmed(waits, arena::ArmStep::kThreadKey);
    return false;
  }
  if (waits) {
    g_process.life_pid.store(static_cast<uint32_t>(getpid()), std::memory_order_relaxed);
    g_epoch_page.number->store(kIdleEpoch);
  } else {
    g_process.plan.first_correlation = correlationAfterExec(g_process.plan.session);
    if (!makeLife()) {
      pthread_key_delete(g_process.thread_end_key);
      return false;
    }
    prepareCallStacks();
  }
  (void)callInForkedChildren(leaveRecordToParent);
  g_epoch = g_epoch_page.number;
  g_ready_epoch = g_epoch_page.wiped_by_kernel ? g_epoch : &kAskEachTime;
  g_process.armed = true;
  return true;
}

arena::ArmStep failedStep() { return g_failed_step; }

bool beginLife() {
  g_failed_step = arena::ArmStep::kDirectory;
  errno = ENAMETOOLONG;
  if (!readSettings()) return false;
  g_process.plan.first_correlation = correlationAfterExec(g_process.plan.session);
  prepareCallStacks();
  ++g_process.lives;
  if (makeLife()) {
    g_failed_step = arena::ArmStep::kRoom;  // the step, if creating another file of this life fails
    wantEvents(false);
    return true;
  }
  *g_process.plan.session = 0;
  return false;
}

void wantEvents(bool wanted) {
  g_enabled.store(wanted ? &g_process.arenas[0].header->capture_enabled : &kDisabled);
}

void endLife() {
  wantEvents(false);
  g_epoch_page.number->store(kIdleEpoch);
  const timespec pause{0, 1'000'000};
  const int64_t began = nowNs();
  while (g_process.entering.load() != 0 && nowNs() - began < 2 * kLongestBlockNs) {
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  }
  // A record takes less than a microsecond. A thread that is not running now loses its record.
  for (int i = 0; i < 10; ++i) clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  const uint32_t count = g_process.arena_count.exchange(0);
  for (uint32_t i = 0; i < count; ++i) replaceByMemory(g_process.arenas[i]);
  *g_process.plan.session = 0;
}

void endDamagedLife() {
  g_enabled.store(&kDisabled);
  leaveDamageNote(g_damage_note);
}

bool armed() { return g_process.armed; }

const char* lifeFolder() { return g_process.plan.session; }

void lifeName(FileName& out, const char* suffix) {
  arenaName(out, g_process.arenas[0].header->created_ns, 0, suffix);
}

uint64_t firstCorrelation() { return g_process.plan.first_correlation; }

void takeCorrelations(uint64_t end) {
  g_process.arenas[0].header->next_correlation.store(end, std::memory_order_relaxed);
}

bool isAnyThreadInCall() {
  const uint32_t count = g_process.arena_count.load(std::memory_order_acquire);
  for (uint32_t a = 0; a < count; ++a) {
    for (uint32_t i = 0; i < g_process.arenas[a].ring_count; ++i) {
      if (g_process.arenas[a].rings[i].in_call.load(std::memory_order_acquire) != 0) return true;
    }
  }
  return false;
}

void waitAtExit(int64_t grace_ns) {
  g_process.exit_grace_ns = grace_ns;
  waitAtExitOfMainThread();
}

namespace {

/// The life of the process does not end during its lifetime.
class Entering {
 public:
  Entering() { g_process.entering.fetch_add(1); }
  ~Entering() { g_process.entering.fetch_sub(1); }
  Entering(const Entering&) = delete;
  Entering& operator=(const Entering&) = delete;
};

}  // namespace

bool attachThread() {
  ThreadState& t = t_state;
  if (!g_process.armed) return false;
  if (!g_epoch_page.wiped_by_kernel) {
    noticeFork(g_epoch_page, g_process.life_pid.load(std::memory_order_relaxed));
    if (t.ring != nullptr && t.epoch == epoch()) return true;
  }
  if (epoch() == kIdleEpoch) return false;
  const NoHandlers uninterrupted;
  const NoCancel whole;
  const Entering entering;
  if (epoch() == kIdleEpoch) return false;
  // Busy without a ring: a fault's handler has interrupted this function.
  if (isBusy(t)) {
    if (epoch() != 0) countReentrant();
    return false;
  }
  if (epoch() == 0 && !beginLifeOfFork()) return false;
  if (t.refused && t.epoch == epoch()) {
    g_process.arenas[0].header->dropped_without_ring.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const int saved_errno = errno;
  t.busy = stackPointer();  // first of all, because a fault's handler may call this function
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (t.ring != nullptr && t.epoch == epoch()) {  // the handler has just got the ring
    t.busy = 0;
    return true;
  }
  ThreadState fresh;
  fresh.busy = t.busy;
  const bool waited_in_vain = t.waited_in_vain && t.epoch == epoch();
  if (g_process.lives > 0) {
    endCallStacks(t);  // the stack settings may have changed
  } else {
    fresh.stacks = t.stacks;
    fresh.python = t.python;
    forgetCallStacks(t);  // definitions written so far went into another ring
  }
  t = fresh;
  t.waited_in_vain = waited_in_vain;
  const Claim claim = claimAnyRing(t, !waited_in_vain, t.waited_in_vain);
  if (claim == Claim::kDone) {
    mappings::renewHandler();  // drivers load compilers, which install their own handlers
    pthread_setspecific(g_process.thread_end_key, &t);
    writeThreadRecord(t);
    waitAtExitOfMainThread();
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.busy = 0;
  errno = saved_errno;
  if (claim == Claim::kDone) return true;
  t.refused = claim == Claim::kNone;
  t.epoch = epoch();
  g_process.arenas[0].header->dropped_without_ring.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool endStaleRecord(ThreadState& t, uintptr_t frame) {
  if (frame < t.busy) return false;
  if (t.live_busy == t.busy && t.live_frame == frame) return false;  // as in an earlier call
  if (!areOnThreadStack(t.busy, frame)) {
    t.live_busy = t.busy;
    t.live_frame = frame;
    return false;
  }
  // The ring's head was not moved past the abandoned record, so the next one overwrites it. It was
  // counted as emitted, so the collector notices that it is missing.
  forgetCallStacks(t);
  t.busy = 0;
  return true;
}

void countLost(std::atomic<uint64_t> ArenaHeader::*counter) {
  (g_process.arenas[0].header->*counter).fetch_add(1, std::memory_order_relaxed);
}

bool makeRoom(ThreadState& t, uint64_t head, uint64_t bytes) {
  RingHeader& ring = *t.ring;
  const uint64_t capacity = t.mask + 1;
  auto fits = [&] {
    ring.cached_tail = ring.tail.load(std::memory_order_acquire);
    return head + bytes - ring.cached_tail <= capacity;
  };
  if (fits()) return true;
  if (bytes > capacity) {
    bump(ring.dropped);
    return false;
  }
  // A damaged or stuck ring is not drained, so do not wait for it.
  const bool read =
      ring.damaged.load(std::memory_order_relaxed) == 0 && ring.cached_tail != t.stuck_tail;
  if (read && g_process.overflow == arena::Overflow::kBlock) {
    const int64_t began = nowNs();
    const int saved_errno = errno;
    int64_t pause_ns = kFirstPauseNs;
    for (;;) {
      const int64_t now = nowNs();
      const bool room = fits();
      if (room || collectorIsGone(now) || now - began > kLongestBlockNs) {
        bump(ring.blocked_ns, static_cast<uint64_t>(now - began));
        errno = saved_errno;
        if (room) return true;
        if (!collectorIsGone(now)) t.stuck_tail = ring.cached_tail;
        break;
      }
      pauseLonger(pause_ns);
    }
  }
  bump(ring.dropped);
  return false;
}

uint64_t refillCorrelation(ThreadState& t) {
  constexpr uint64_t kBatch = 256;
  t.correlation_next =
      g_process.arenas[0].header->next_correlation.fetch_add(kBatch, std::memory_order_relaxed);
  t.correlation_end = t.correlation_next + kBatch;
  return t.correlation_next++;
}

}  // namespace tracesmith::agent
