// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/mpi/communicators.hpp"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tracesmith/capture/agents/core/writer.hpp"
#include "tracesmith/capture/protocol/mpi_records.hpp"

namespace tracesmith::agent::mpi {
namespace {

constexpr size_t kSlots = 4096;  // a power of two
constexpr size_t kMost = 3072;   // communicators at a time
constexpr Handle kFreed = 1;     // no implementation has such a handle
constexpr uint64_t kHashStart = 14695981039346656037u, kHashPrime = 1099511628211u;  // FNV-1a

Communicator g_slots[kSlots];
std::atomic<bool> g_lock{false};  // for what follows, and to take or free a slot
size_t g_used = 0;
uint32_t g_last_number = 0;
/// How many communicators with these members there were, by the hash of the members.
struct Groups {
  uint64_t hash = 0;
  uint32_t count = 0;
} g_groups[kSlots];
size_t g_group_count = 0;

class Lock {
 public:
  Lock() {
    while (g_lock.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  ~Lock() { g_lock.store(false, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

size_t slotOf(Handle handle) { return (handle * 0x9e3779b97f4a7c15u) >> 52; }
static_assert(kSlots == size_t{1} << (64 - 52));

uint64_t mixed(uint64_t hash, const void* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * kHashPrime;
  }
  return hash;
}

/// Processes that MPI_Comm_spawn starts have an MPI_COMM_WORLD of their own.
uint64_t hashOfJob() {
  uint64_t hash = kHashStart;
  for (const char* const name : {"PMIX_NAMESPACE", "PMI_SPAWNED", "PMI_JOBID"}) {
    const char* const value = getenv(name);
    if (value != nullptr) hash = mixed(hash, value, strlen(value) + 1);
  }
  return hash;
}

/// How many communicators with these members were seen before. Their members create them in one
/// order. Needs the lock.
uint32_t countGroup(uint64_t hash) {
  for (size_t i = 0; i < kSlots; ++i) {
    Groups& group = g_groups[(hash + i) & (kSlots - 1)];
    if (group.count != 0 && group.hash != hash) continue;
    if (group.count == 0 && ++g_group_count > kMost) return 0;
    group.hash = hash;
    return group.count++;
  }
  return 0;
}

/// Members and key of a communicator.
struct Description {
  uint64_t key = 0;  // 0: unknown
  arena::MpiRun runs[arena::kMaxMpiRuns];
  uint32_t run_count = 0;
  bool is_cut = false;
  char name[256];
  size_t name_bytes = 0;
};

class Ranks {
 public:
  explicit Ranks(int count) : bytes_(static_cast<size_t>(count) * 2 * sizeof(int)) {
    void* const p =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) at_ = static_cast<int*>(p);
  }
  ~Ranks() {
    if (at_ != nullptr) munmap(at_, bytes_);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  int* get() const { return at_; }

 private:
  size_t bytes_;
  int* at_ = nullptr;
};

/// Adds the members of one group; false if they are not known.
bool addMembers(Handle handle, bool remote, int count, Description& out, uint64_t& hash) {
  if (count <= 0 || !hasWorld()) return false;
  const Ranks ranks(count);
  if (ranks.get() == nullptr ||
      !membersOf(handle, remote, count, ranks.get(), ranks.get() + count)) {
    return false;
  }
  for (int i = 0; i < count; ++i) {
    if (ranks.get()[i] < 0) return false;
  }
  hash = mixed(kHashStart, ranks.get(), static_cast<size_t>(count) * sizeof(int));
  for (int i = 0; i < count && !remote; ++i) {
    const int rank = ranks.get()[i];
    if (out.run_count > 0) {
      arena::MpiRun& last = out.runs[out.run_count - 1];
      if (last.first + static_cast<int>(last.count) == rank) {
        ++last.count;
        continue;
      }
    }
    if (out.run_count == arena::kMaxMpiRuns) {
      out.is_cut = true;
      continue;
    }
    out.runs[out.run_count++] = {rank, 1};
  }
  return true;
}

/// Needs the lock.
void describe(Handle handle, const Communicator& as, bool between_groups, Description& out) {
  uint64_t local = 0, remote = 0;
  bool known = addMembers(handle, false, as.local_size, out, local);
  if (!known) out.run_count = 0;
  if (between_groups) known = addMembers(handle, true, as.size, out, remote) && known;
  if (known) {
    const uint64_t groups[] = {local < remote ? local : remote, local < remote ? remote : local,
                               hashOfJob()};
    uint64_t key = mixed(kHashStart, groups, sizeof groups);
    const uint32_t before = countGroup(key);
    key = mixed(key, &before, sizeof before) & INT64_MAX;
    out.key = key == 0 ? 1 : key;
  }
}

void write(const Communicator& c, const Description& d) {
  const size_t fixed = sizeof(arena::MpiCommunicatorRecord) + d.run_count * sizeof(arena::MpiRun);
  const uint64_t bytes = (fixed + d.name_bytes + 7) & ~uint64_t{7};
  if (!ready() || isBusy(t_state)) return;
  ThreadState& t = t_state;
  t.busy = stackPointer();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (uint8_t* const p = reserve(t, bytes)) {
    const arena::MpiCommunicatorRecord record{
        {arena::RecordKind::kMpiCommunicator, static_cast<uint8_t>(d.is_cut ? 1 : 0),
         static_cast<uint16_t>(bytes / 8), c.number},
        stamp(),
        d.key,
        static_cast<uint32_t>(c.size),
        c.rank,
        d.run_count,
        static_cast<uint32_t>(d.name_bytes)};
    memcpy(p, &record, sizeof record);
    memcpy(p + sizeof record, d.runs, d.run_count * sizeof(arena::MpiRun));
    memcpy(p + fixed, d.name, d.name_bytes);
    commit(t, bytes);
  } else {
    bump(t.ring->emitted);  // reserve() has counted it as dropped
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.busy = 0;
}

// Too large for the stack of a thread that may be any. Needs the lock.
Description g_description;

}  // namespace

Communicator* knownCommunicator(Handle handle) {
  if (handle <= kFreed) return nullptr;
  for (size_t i = 0; i < kSlots; ++i) {
    Communicator& slot = g_slots[(slotOf(handle) + i) & (kSlots - 1)];
    const Handle there = slot.handle.load(std::memory_order_acquire);
    if (there == handle) return &slot;
    if (there == 0) return nullptr;
  }
  return nullptr;
}

Communicator* findCommunicator(Handle handle) {
  if (Communicator* const known = knownCommunicator(handle)) return known;
  if (implementation() == Implementation::kUnknown || handle <= kFreed ||
      handle == constants().null_communicator) {
    return nullptr;
  }
  const Lock lock;
  if (Communicator* const known = knownCommunicator(handle)) return known;
  if (g_used == kMost) return nullptr;
  Communicator* slot = nullptr;
  for (size_t i = 0; slot == nullptr; ++i) {
    Communicator& each = g_slots[(slotOf(handle) + i) & (kSlots - 1)];
    if (each.handle.load(std::memory_order_relaxed) <= kFreed) slot = &each;
  }
  ++g_used;
  for (auto& calls : slot->calls) calls.store(0, std::memory_order_relaxed);
  slot->number = ++g_last_number;
  const bool between_groups = isBetweenGroups(handle);
  slot->is_between_groups = between_groups;
  slot->rank = rankIn(handle);
  slot->local_size = sizeOf(handle);
  slot->size = between_groups ? remoteSizeOf(handle) : slot->local_size;
  g_description.key = 0;
  g_description.run_count = 0;
  g_description.is_cut = false;
  g_description.name_bytes = nameOf(handle, g_description.name, sizeof g_description.name);
  describe(handle, *slot, between_groups, g_description);
  write(*slot, g_description);
  slot->handle.store(handle, std::memory_order_release);
  return slot;
}

void forgetCommunicator(Handle handle) {
  const Lock lock;
  Communicator* const slot = knownCommunicator(handle);
  if (slot == nullptr) return;
  --g_used;
  // The end of a row of slots is empty again, so that looking for what is not there stays short.
  size_t at = static_cast<size_t>(slot - g_slots);
  const bool is_end = g_slots[(at + 1) & (kSlots - 1)].handle.load(std::memory_order_relaxed) == 0;
  slot->handle.store(is_end ? 0 : kFreed, std::memory_order_release);
  while (is_end) {
    at = (at - 1) & (kSlots - 1);
    Communicator& before = g_slots[at];
    if (before.handle.load(std::memory_order_relaxed) != kFreed) break;
    before.handle.store(0, std::memory_order_release);
  }
}

void renameCommunicator(Handle handle) {
  Communicator* const slot = findCommunicator(handle);
  if (slot == nullptr) return;
  const Lock lock;
  g_description.key = 0;  // the collector keeps what it knows
  g_description.run_count = 0;
  g_description.is_cut = false;
  g_description.name_bytes = nameOf(handle, g_description.name, sizeof g_description.name);
  write(*slot, g_description);
}

}  // namespace tracesmith::agent::mpi
