// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl_record/channel.hpp"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracesmith/base/linux/guarded_mappings.hpp"
#include "tracesmith/capture/agents/core/damage_note.hpp"
#include "tracesmith/capture/agents/core/file_blocks.hpp"
#include "tracesmith/capture/agents/core/fork_page.hpp"
#include "tracesmith/capture/agents/core/own_stack.hpp"
#include "tracesmith/capture/agents/core/process_identity.hpp"
#include "tracesmith/capture/agents/core/session_folder.hpp"
#include "tracesmith/capture/agents/opencl_record/locks.hpp"

namespace tracesmith::record {

using agent::FileName;
using agent::SessionFolder;
using arena::ArmStep;
using channel::ChannelHeader;
using channel::FrameHeader;
using channel::FrameKind;

constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));

namespace {

constexpr int64_t kHeartbeatStaleNs = 5'000'000'000;
constexpr int64_t kOrderPatienceNs = 500'000'000;
// A program that waits for space is blocked anyway; its signals wait no longer than this.
constexpr int64_t kSignalPatienceNs = 20'000'000;

enum class Life : uint32_t { kNone, kBeginning, kRecording, kEnded };

// All of it belongs to one process; a forked child of a process without a channel creates its own.
struct Process {
  char session[agent::kPathBytes] = {};
  uint64_t ring_bytes = 0;
  Options options;
  bool armed = false;
  std::atomic<Life> life{Life::kNone};
  ChannelHeader* header = nullptr;
  uint8_t* ring = nullptr;
  uint64_t head = 0;  // published by commit()
  uint64_t cached_tail = 0;
  uint64_t reserved = 0;  // size of the frame being written
  uint64_t sequence = 0;
};
constinit Process g_process;
constinit OrderLock g_order;
constinit FutexLock g_state;
/// Contains the process's number; 0 in a forked child.
constinit agent::ForkPage g_epoch;

void reportUnrecorded(int error, ArmStep step) {
  agent::reportUnrecorded(g_process.session, error, step, channel::kUnrecordedSuffix);
}

void nameProcess(ChannelHeader& h) {
  // Too large for the stack of an arbitrary thread.
  void* memory = mmap(nullptr, sizeof(arena::ArenaHeader), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  auto* who = static_cast<arena::ArenaHeader*>(memory);
  agent::fillProcessIdentity(*who);
  h.pid = who->pid;
  h.parent_pid = who->parent_pid;
  h.start_ticks = who->start_ticks;
  h.pid_namespace = who->pid_namespace;
  h.command_line_bytes = who->command_line_bytes;
  static_assert(sizeof h.command_line == sizeof who->command_line);
  memcpy(h.command_line, who->command_line, sizeof h.command_line);
  munmap(memory, sizeof(arena::ArenaHeader));
}

agent::DamageNote g_damage_note;

/// The channel cannot be written any more. Runs in a signal handler.
void endDamaged() {
  g_process.life.store(Life::kEnded);
  agent::leaveDamageNote(g_damage_note);
}

/// Returns 0 or an errno; `failed` is the step that failed.
int makeChannel(ArmStep& failed) {
  const uint64_t bytes = channel::kHeaderBytes + g_process.ring_bytes;
  const int64_t created = nowNs();
  FileName temporary;
  FileName name;
  snprintf(temporary, sizeof temporary, "%d.%lld.channel.new", getpid(),
           static_cast<long long>(created));
  snprintf(name, sizeof name, "%d.%lld%s", getpid(), static_cast<long long>(created),
           channel::kSuffix);
  const SessionFolder folder(g_process.session);
  failed = ArmStep::kDirectory;
  if (folder.fd() < 0) return errno;
  failed = ArmStep::kFile;
  const int fd =
      openat(folder.fd(), temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  void* base = MAP_FAILED;
  failed = ArmStep::kRoom;
  if (agent::reserveBlocks(fd, 0, bytes)) {
    failed = ArmStep::kMap;
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  int error = errno;
  close(fd);
  if (base == MAP_FAILED) {
    unlinkat(folder.fd(), temporary, 0);
    return error;
  }
  agent::prepareDamageNote(g_damage_note, g_process.session, name, channel::kUnrecordedSuffix);
  mappings::guard(base, bytes, endDamaged);
  auto* h = static_cast<ChannelHeader*>(base);
  h->version = channel::kVersion;
  h->header_bytes = channel::kHeaderBytes;
  h->ring_bytes = g_process.ring_bytes;
  h->file_bytes = bytes;
  h->created_ns = created;
  nameProcess(*h);
  h->heartbeat_ns.store(created, std::memory_order_relaxed);
  h->in_range.store(g_process.options.range[0] == 0 ? 1 : 0, std::memory_order_relaxed);
  h->magic = channel::kMagic;
  failed = ArmStep::kFile;
  if (renameat(folder.fd(), temporary, folder.fd(), name) != 0) {
    error = errno;
    mappings::release(base);
    munmap(base, bytes);
    unlinkat(folder.fd(), temporary, 0);
    return error;
  }
  g_process.header = h;
  g_process.ring = static_cast<uint8_t*>(base) + channel::kHeaderBytes;
  g_process.head = g_process.cached_tail = g_process.sequence = 0;
  return 0;
}

uint64_t epoch() { return g_epoch.number->load(std::memory_order_relaxed); }

void noticeForkOfRecorded() { agent::noticeFork(g_epoch, static_cast<uint32_t>(epoch())); }

/// Called at the first recorded call of this process. False: the process is not recorded.
bool begin() {
  const int saved_errno = errno;
  Life none = Life::kNone;
  if (g_process.life.compare_exchange_strong(none, Life::kBeginning)) {
    int cancel = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE,
                           &cancel);  // this opens files while other threads wait
    g_order.reset();
    g_state.reset();
    ArmStep failed{};
    const int error = makeChannel(failed);
    if (error != 0) reportUnrecorded(error, failed);
    if (error == 0) g_epoch.number->store(static_cast<uint64_t>(getpid()));
    g_process.life.store(error == 0 ? Life::kRecording : Life::kEnded, std::memory_order_release);
    pthread_setcancelstate(cancel, nullptr);
  } else {
    for (int i = 0; i < 100'000 && g_process.life.load() == Life::kBeginning; ++i) sched_yield();
  }
  errno = saved_errno;
  return g_process.life.load(std::memory_order_acquire) == Life::kRecording;
}

bool collectorIsGone(int64_t now) {
  return now - g_process.header->heartbeat_ns.load(std::memory_order_relaxed) > kHeartbeatStaleNs;
}

bool fits(uint64_t bytes) {
  g_process.cached_tail = g_process.header->tail.load(std::memory_order_acquire);
  return g_process.head + bytes - g_process.cached_tail <= g_process.ring_bytes;
}

/// Waits until the collector has freed space. False: it is gone, and the recording has ended.
bool waitForRoom(uint64_t bytes) {
  if (fits(bytes)) return true;
  const int saved_errno = errno;
  const int64_t began = nowNs();
  int64_t pause_ns = 20'000;
  int64_t next_signals = began + kSignalPatienceNs;
  bool room = false;
  int64_t now = began;
  while (!(room = fits(bytes))) {
    now = nowNs();
    if (collectorIsGone(now) || g_process.header->ended.load(std::memory_order_relaxed) != 0 ||
        g_process.life.load(std::memory_order_relaxed) != Life::kRecording) {
      break;
    }
    pauseNs(pause_ns);
    if (pause_ns < 500'000) pause_ns *= 2;
    if (now < next_signals) continue;
    Signals::deliver(t_state.signals);
    noticeForkOfRecorded();
    if (epoch() == 0) {  // in a child forked by a signal handler: the ring is the parent's
      g_process.life.store(Life::kEnded);
      break;
    }
    next_signals = now + kSignalPatienceNs;
  }
  g_process.header->stall_ns.fetch_add(static_cast<uint64_t>(nowNs() - began),
                                       std::memory_order_relaxed);
  if (!room) endRecording("nobody reads the recording any more");
  errno = saved_errno;
  return room;
}

/// See activeAt(). True: locks of a discarded call were released.
bool endStaleCall(ThreadState& t, uintptr_t frame) {
  const bool no_lock = t.busy != 0 && frame >= t.busy;
  const bool no_order = t.ordered != 0 && frame >= t.order_frame;
  if (!no_lock && !no_order) return false;
  // Addresses can only be compared on the call's own stack.
  if (!agent::areOnThreadStack(no_lock ? t.busy : t.order_frame, frame)) return false;
  if (no_lock) {
    t.busy = 0;
    g_state.unlock();
    Signals::restoreIfBlocked(t.signals);
  }
  if (no_order) {
    g_order.unlock(t.tid);
    t.ordered = 0;
    if (t.beginning) leaveRangeStart();
  }
  return true;
}

/// The discarded call's command is not in the stream, or has no end there.
void recordAbandonedCall() {
  constexpr char kCall[] = "a call that a signal handler left by siglongjmp()";
  recording::Unsupported gone;
  gone.function = {kCall, sizeof kCall - 1};
  CallInfo info;
  info.start_ns = info.end_ns = nowNs();
  put(gone, info);
}

}  // namespace

const Options& options() { return g_process.options; }
ChannelHeader* header() { return g_process.header; }

void pauseNs(int64_t ns) {
  const timespec pause{0, ns};
  syscall(SYS_nanosleep, &pause, nullptr);
}

bool arm() {
  if (g_process.armed) return true;
  const char* session = getenv(arena::kEnvSession);
  const char* bytes = getenv(channel::kEnvBytes);
  if (session == nullptr || bytes == nullptr || *session == 0 ||
      strlen(session) >= sizeof g_process.session) {
    return false;
  }
  strcpy(g_process.session, session);
  const uint64_t asked = strtoull(bytes, nullptr, 10);
  g_process.ring_bytes = channel::kMinRingBytes;
  while (g_process.ring_bytes < asked && g_process.ring_bytes < channel::kMaxRingBytes) {
    g_process.ring_bytes *= 2;
  }
  const char* keep = getenv(channel::kEnvKeep);
  g_process.options.keep_outputs = keep != nullptr && strcmp(keep, "keep") == 0;
  const char* hashes = getenv(channel::kEnvHashes);
  g_process.options.launch_hashes = hashes != nullptr && strcmp(hashes, "launch") == 0;
  if (const char* range = getenv(channel::kEnvRange)) {
    strncpy(g_process.options.range, range, sizeof g_process.options.range - 1);
  }
  if (!agent::makeForkPage([] { g_epoch.number->store(0); }, g_epoch)) {
    reportUnrecorded(errno, ArmStep::kForkPage);
    return false;
  }
  g_process.armed = true;
  return true;
}

bool activeAt(uintptr_t frame) {
  ThreadState& t = t_state;
  if (t.quiet) return false;
  if (__builtin_expect(t.attempting != nullptr, 0)) {  // a handler left that call by siglongjmp()
    t.attempting(0);
    t.attempting = nullptr;
  }
  const bool anything = t.busy != 0 || t.ordered != 0;
  const bool gone = __builtin_expect(anything, 0) && epoch() != 0 && endStaleCall(t, frame);
  const Life life = g_process.life.load(std::memory_order_acquire);
  if (__builtin_expect(life != Life::kRecording, 0)) {
    if (!g_process.armed || life == Life::kEnded || t.busy != 0) return false;
    if (!begin()) return false;
  }
  noticeForkOfRecorded();
  if (__builtin_expect(epoch() == 0, 0)) {
    // A forked child: its parent's objects must not be recorded here, and the locks may be held by
    // threads that do not exist here.
    g_process.life.store(Life::kEnded);
    return false;
  }
  if (__builtin_expect(t.busy != 0, 0)) {
    endRecording("a signal handler called OpenCL while it interrupted a recorded call");
    return false;
  }
  if (__builtin_expect(t.tid == 0, 0)) {
    t.tid = static_cast<uint32_t>(syscall(SYS_gettid));
    mappings::renewHandler();
  }
  if (gone) recordAbandonedCall();
  return true;
}

bool recording() { return g_process.life.load(std::memory_order_acquire) == Life::kRecording; }

bool tablesUsable() {
  if (g_epoch.number == nullptr) return false;
  noticeForkOfRecorded();
  return epoch() != 0 && t_state.busy == 0;
}

void endRecording(const char* reason) {
  Life recording = Life::kRecording;
  if (!g_process.life.compare_exchange_strong(recording, Life::kEnded)) return;
  ChannelHeader& h = *g_process.header;
  strncpy(h.end_reason, reason, sizeof h.end_reason - 1);
  h.ended.store(1, std::memory_order_release);
}

// Not inlined, so that its frame ends where the caller's starts.
[[gnu::noinline]] StateLock::StateLock() {
  uint64_t before = Signals::block();
  for (bool contended = false; !g_state.tryLock(contended); contended = true) {
    Signals::restore(before);
    g_state.wait(nullptr);
    before = Signals::block();
  }
  t_state.signals = before;
  t_state.busy = reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa());
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

StateLock::~StateLock() {
  const uint64_t before = t_state.signals;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_state.busy = 0;
  g_state.unlock();
  Signals::restore(before);
}

[[gnu::noinline]] Order::Order() {
  ThreadState& t = t_state;
  if (t.ordered != 0) {
    ++t.ordered;
    return;
  }
  t.order_frame = reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa());
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.ordered = 1;
  g_order.lock(t.tid, kOrderPatienceNs);
}

void Order::release() {
  if (!mine_) return;
  mine_ = false;
  ThreadState& t = t_state;
  if (t.ordered == 1) g_order.unlock(t.tid);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  --t.ordered;
}

Order::~Order() { release(); }

uint8_t* reserve(FrameKind kind, uint64_t bytes) {
  if (g_process.life.load(std::memory_order_relaxed) != Life::kRecording) return nullptr;
  if (g_process.header->ended.load(std::memory_order_relaxed) != 0) {  // set by the collector
    g_process.life.store(Life::kEnded);
    return nullptr;
  }
  if (bytes > channel::kMaxFrameBytes) {
    endRecording("a command was too large to be recorded");
    return nullptr;
  }
  const uint64_t mask = g_process.ring_bytes - 1;
  const uint64_t to_end = g_process.ring_bytes - (g_process.head & mask);
  const uint64_t need = bytes <= to_end ? bytes : to_end + bytes;
  if (g_process.head + need - g_process.cached_tail > g_process.ring_bytes && !waitForRoom(need)) {
    return nullptr;
  }
  if (bytes > to_end) {
    const FrameHeader pad{FrameKind::kPad, static_cast<uint32_t>(to_end)};
    memcpy(g_process.ring + (g_process.head & mask), &pad, sizeof pad);
    g_process.head += to_end;
  }
  uint8_t* at = g_process.ring + (g_process.head & mask);
  const FrameHeader frame{kind, static_cast<uint32_t>(bytes)};
  memcpy(at, &frame, sizeof frame);
  g_process.reserved = bytes;
  return at;
}

void commit() {
  // If a signal handler has ended the recording meanwhile, nothing may follow.
  if (g_process.life.load(std::memory_order_relaxed) != Life::kRecording) return;
  g_process.head += g_process.reserved;
  g_process.header->head.store(g_process.head, std::memory_order_release);
}

uint64_t nextSequence() {
  const uint64_t n = g_process.sequence++;
  g_process.header->commands.store(g_process.sequence, std::memory_order_relaxed);
  return n;
}

}  // namespace tracesmith::record
