// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/core/arena_maker.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracesmith/capture/agents/core/agent_clock.hpp"
#include "tracesmith/capture/agents/core/file_blocks.hpp"
#include "tracesmith/capture/agents/core/process_identity.hpp"

namespace tracesmith::agent {

using arena::ArenaHeader;
using arena::RingHeader;

namespace {

constexpr uint64_t kWarmBytes = 8u << 20;
constexpr uint64_t kWarmBytesOfMany = 64u << 10;  // if there are many threads

/// Reads the stamp clock between two readings of CLOCK_MONOTONIC; keeps the closest pair of five
/// tries.
void pairClocks(ArenaHeader& header) {
  int64_t tightest = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const int64_t before = nowNs();
    const int64_t between = stamp();
    const int64_t after = nowNs();
    if (after - before >= tightest) continue;
    tightest = after - before;
    header.paired_ns = before + tightest / 2;
    header.paired_stamp = between;
  }
}

}  // namespace

void arenaName(FileName& out, int64_t created_ns, uint32_t number, const char* suffix) {
  snprintf(out, sizeof out, "%d.%lld.%u%s", getpid(), static_cast<long long>(created_ns), number,
           suffix);
}

bool makeArena(const ArenaPlan& plan, uint32_t number, Arena& out, arena::ArmStep& failed) {
  const uint32_t ring_count = arena::ringCountOf(number);
  const uint64_t data_offset = arena::dataOffset(ring_count);
  const uint64_t ring_bytes = arena::ringBytesOf(number, plan.ring_bytes);
  const uint64_t bytes = data_offset + ring_count * ring_bytes;
  FileName temporary;
  FileName name;
  const int64_t created = nowNs();
  arenaName(temporary, created, number, ".new");
  arenaName(name, created, number, arena::kArenaSuffix);
  const SessionFolder folder(plan.session);
  failed = arena::ArmStep::kDirectory;
  if (folder.fd() < 0) return false;
  failed = arena::ArmStep::kFile;
  const int fd =
      openat(folder.fd(), temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  void* base = MAP_FAILED;
  failed = arena::ArmStep::kRoom;
  if (reserveBlocks(fd, 0, bytes)) {
    failed = arena::ArmStep::kMap;
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  close(fd);
  if (base == MAP_FAILED) {
    unlinkat(folder.fd(), temporary, 0);
    errno = error;
    return false;
  }
  mappings::guard(base, bytes, plan.on_damage);
  auto* header = static_cast<ArenaHeader*>(base);
  header->version = arena::kVersion;
  header->header_bytes = arena::kHeaderBytes;
  header->ring_count = ring_count;
  header->arena_number = number;
  header->ring_bytes = ring_bytes;
  header->data_offset = data_offset;
  header->file_bytes = bytes;
  header->created_ns = created;
  pairClocks(*header);
  header->stamp_clock =
      g_use_tsc ? arena::StampClockKind::kTimeStampCounter : arena::StampClockKind::kMonotonicNs;
  memcpy(header->agent, plan.agent, sizeof header->agent);
  fillProcessIdentity(*header);
  header->next_correlation.store(plan.first_correlation, std::memory_order_relaxed);
  header->collector_heartbeat_ns.store(created, std::memory_order_relaxed);
  header->capture_enabled.store(plan.capturing ? 1 : 0, std::memory_order_relaxed);
  header->magic = arena::kMagic;
  failed = arena::ArmStep::kFile;
  if (renameat(folder.fd(), temporary, folder.fd(), name) != 0) {
    const int rename_error = errno;
    mappings::release(base);
    munmap(base, bytes);
    unlinkat(folder.fd(), temporary, 0);
    errno = rename_error;
    return false;
  }
  out.header = header;
  out.ring_count = ring_count;
  out.ring_bytes = ring_bytes;
  out.rings = reinterpret_cast<RingHeader*>(static_cast<uint8_t*>(base) + arena::kHeaderBytes);
  out.data = static_cast<uint8_t*>(base) + data_offset;
  return true;
}

// Writes zeros: the pages are then in the page cache, and the first record in each costs a quick
// fault instead of a block allocation (5 us and more on ext4).
void prefaultRing(const ArenaPlan& plan, const Arena& a, uint32_t index) {
  FileName name;
  arenaName(name, a.header->created_ns, a.header->arena_number, arena::kArenaSuffix);
  const SessionFolder folder(plan.session);
  const int fd = openat(folder.fd(), name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  static const char kZeros[64 << 10] = {};
  const uint64_t ring_bytes = a.ring_bytes;
  const uint64_t most = a.ring_count == arena::kRingsPerArena ? kWarmBytes : kWarmBytesOfMany;
  const uint64_t bytes = ring_bytes < most ? ring_bytes : most;
  off_t at = static_cast<off_t>(a.header->data_offset + index * ring_bytes);
  for (uint64_t done = 0; done < bytes; done += sizeof kZeros) {
    if (pwrite(fd, kZeros, sizeof kZeros, at + static_cast<off_t>(done)) < 0) break;
  }
  close(fd);
#ifdef MADV_POPULATE_WRITE
  madvise(a.data + index * ring_bytes, bytes, MADV_POPULATE_WRITE);
#endif
}

void replaceByMemory(const Arena& arena) {
  const uint64_t bytes = arena::dataOffset(arena.ring_count) + arena.ring_count * arena.ring_bytes;
  (void)mmap(static_cast<void*>(arena.header), bytes, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  mappings::release(arena.header);
}

}  // namespace tracesmith::agent
