// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session/session_memory.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "tracesmith/capture/processes/process_facts.hpp"

namespace tracesmith::session {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int64_t kDrainerSilentNs = 500'000'000;
constexpr int64_t kDrainerGoneNs = 3'000'000'000;

uint64_t pages(uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

/// Increases the pause: a thousand threads that check every 50 us would leave the drainer no
/// processor.
void pauseLonger(int64_t& pause_ns) {
  const timespec pause{0, pause_ns};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  pause_ns = std::min<int64_t>(2 * pause_ns, 5'000'000);
}

/// Whether the drainer still frees space. The drainer is a thread: it lives as long as its process.
/// A forked child checks the drainer's heartbeat and, when that is stale, whether the process
/// exists. A killed process that nobody has waited for still exists.
bool drains(const SessionHeader& h, uint32_t pid, int64_t now_ns) {
  if (h.open.load(std::memory_order_relaxed) == 0) return false;
  if (pid == h.drainer_pid) return true;
  const int64_t silent_ns = now_ns - h.drainer_alive_ns.load(std::memory_order_relaxed);
  if (silent_ns < kDrainerSilentNs) return true;
  return silent_ns < kDrainerGoneNs && kill(static_cast<pid_t>(h.drainer_pid), 0) == 0;
}

}  // namespace

Result<std::unique_ptr<SessionMemory>> SessionMemory::create(uint32_t rings, uint64_t ring_bytes,
                                                             OverflowPolicy policy) {
  rings = std::clamp(rings, 1u, 65536u);
  ring_bytes = std::bit_ceil(std::clamp(ring_bytes, kMinRingBytes, kMaxRingBytes));
  const uint64_t rings_at = pages(sizeof(SessionHeader)) + kNameBytes;
  const uint64_t words_at = rings_at + pages(rings * sizeof(SessionRing));
  const uint64_t bytes = words_at + rings * ring_bytes;
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return failErrno(errno, "cannot get " + std::to_string(bytes >> 20) +
                                " MiB of address space for the session's rings; ask for fewer "
                                "threads or smaller rings");
  }
  std::unique_ptr<SessionMemory> memory(new SessionMemory);
  memory->base_ = base;
  memory->rings_ = reinterpret_cast<SessionRing*>(static_cast<char*>(base) + rings_at);
  memory->words_ = reinterpret_cast<uint64_t*>(static_cast<char*>(base) + words_at);
  auto* header = new (base) SessionHeader;
  header->bytes = bytes;
  header->ring_bytes = ring_bytes;
  header->ring_count = rings;
  header->policy = policy;
  header->use_counter = counterIsClockSource();
  header->drainer_alive_ns = monotonicNs();
  header->drainer_pid = static_cast<uint32_t>(getpid());
  header->pid_namespace = ownPidNamespace();
  header->open = 1;
  if (memory->addName("(no room for more names)") != kNoRoomName) std::abort();
  return memory;
}

SessionMemory::~SessionMemory() { munmap(base_, header().bytes); }

uint32_t SessionMemory::addName(std::string_view name) const {
  std::atomic<uint32_t>& end = header().names_end;
  name = name.substr(0, 64u << 10);
  const auto bytes = static_cast<uint32_t>((sizeof(uint32_t) + name.size() + 7) & ~size_t{7});
  uint32_t at = end.load(std::memory_order_relaxed);
  do {
    if (at + bytes > kNameBytes) return kNoRoomName;
  } while (!end.compare_exchange_weak(at, at + bytes, std::memory_order_relaxed));
  char* p = static_cast<char*>(base_) + pages(sizeof(SessionHeader)) + at;
  const auto length = static_cast<uint32_t>(name.size());
  memcpy(p, &length, sizeof length);
  memcpy(p + sizeof length, name.data(), name.size());
  return at / 8;
}

std::string_view SessionMemory::name(uint32_t id) const {
  const uint64_t at = uint64_t{id} * 8;
  if (at < 8 || at + sizeof(uint32_t) > kNameBytes) return {};
  const char* p = static_cast<const char*>(base_) + pages(sizeof(SessionHeader)) + at;
  uint32_t length = 0;
  memcpy(&length, p, sizeof length);
  if (at + sizeof length + length > kNameBytes) return {};
  return {p + sizeof length, length};
}

int SessionMemory::claimRing() const {
  SessionHeader& h = header();
  for (uint32_t i = 0; i < h.ring_count; ++i) {
    SessionRing& ring = rings_[i];
    uint32_t expected = static_cast<uint32_t>(Owner::kNobody);
    if (ring.owner.load(std::memory_order_relaxed) != expected ||
        !ring.owner.compare_exchange_strong(expected, static_cast<uint32_t>(Owner::kClaiming),
                                            std::memory_order_acquire)) {
      continue;
    }
    ring.pid = static_cast<uint32_t>(getpid());
    ring.tid = static_cast<uint32_t>(syscall(SYS_gettid));
    ring.foreign = ring.pid != h.drainer_pid && ownPidNamespace() != h.pid_namespace;
    ++ring.life;
    ring.busy = 0;
    prctl(PR_GET_NAME, ring.thread_name);
    // So the tail is first read when the ring is half full; see Writer::makeRoom.
    ring.control.cached_tail = ring.control.tail.load(std::memory_order_acquire) - h.ring_bytes / 2;
    uint32_t used = h.rings_used.load(std::memory_order_relaxed);
    while (used < i + 1 && !h.rings_used.compare_exchange_weak(used, i + 1)) {
    }
    ring.owner.store(static_cast<uint32_t>(Owner::kThread), std::memory_order_release);
    return static_cast<int>(i);
  }
  return -1;
}

void SessionMemory::leaveRing(uint32_t i) const {
  rings_[i].owner.store(static_cast<uint32_t>(Owner::kLeft), std::memory_order_release);
}

void SessionMemory::wakeDrainer() const {
  std::atomic<uint32_t>& wake = header().wake;
  if (wake.load(std::memory_order_relaxed) != 0 || wake.exchange(1) != 0) return;
  syscall(SYS_futex, &wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void SessionMemory::waitForWake(int64_t timeout_ns) const {
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  syscall(SYS_futex, &header().wake, FUTEX_WAIT, 0, &timeout, nullptr, 0);
  header().wake.store(0);
}

bool Writer::makeRoom(uint64_t head, uint64_t need) const {
  SessionHeader& h = memory->header();
  const int saved_errno = errno;
  const uint64_t half = capacity / 2;
  int64_t began = 0;
  int64_t pause_ns = 50'000;
  bool room = false;
  for (;;) {
    // A forked child notices here that its parent's session has ended.
    if (h.open.load(std::memory_order_relaxed) == 0) break;
    const uint64_t tail = ring->control.tail.load(std::memory_order_acquire);
    const uint64_t full = head + need - tail;
    if (full > half) memory->wakeDrainer();
    room = full <= capacity;
    if (room) {
      // Check again when the ring is half full or, if it already is, when it is full.
      ring->control.cached_tail = full <= half ? tail - half : tail;
      break;
    }
    if (policy != OverflowPolicy::Block) break;
    const int64_t now = monotonicNs();
    if (began == 0) began = now;
    if (!drains(h, ring->pid, now)) break;
    pauseLonger(pause_ns);
  }
  if (began != 0) ring::bump(ring->blocked_ns, static_cast<uint64_t>(monotonicNs() - began));
  errno = saved_errno;
  return room;
}

bool Writer::reentrant() const {
  memory->header().dropped_reentrant.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool Writer::writeRecord(const uint64_t* record, uint64_t record_words) const {
  if (ring->busy != 0) return reentrant();
  const uint64_t bytes = record_words * 8;
  if (bytes > capacity / 2 || record_words > ring::kMaxRecordWords) {
    memory->header().dropped_too_large.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  ring->busy = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ring::RecordRing<> out(ring->control, words, capacity);
  bool taken = true;
  if (policy == OverflowPolicy::DropOldest) {
    out.pushOverOldest(record, bytes);
    wakeWhenHalfFull();
  } else {
    uint64_t* to =
        out.reserve(bytes, [this](uint64_t head, uint64_t need) { return makeRoom(head, need); });
    if (to != nullptr) {
      memcpy(to, record, bytes);
      out.commit(bytes);
    } else {
      out.drop();
      taken = false;
    }
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ring->busy = 0;
  return taken;
}

}  // namespace tracesmith::session
