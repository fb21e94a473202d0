// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/opencl_record/chunk_hashes.hpp"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "tracesmith/capture/agents/core/own_thread.hpp"
#include "tracesmith/capture/agents/opencl_record/channel.hpp"
#include "tracesmith/capture/agents/opencl_record/content_hash.hpp"
#include "tracesmith/capture/agents/opencl_record/locks.hpp"

namespace tracesmith::record {

using recording::ContentHash;
using recording::kChunkBytes;

namespace {

constexpr int kMostHelpers = 3;
/// A helper that has been idle for this long ends, and is started again for the next batch: a
/// process ends with its last thread, and a helper must not delay that.
constexpr timespec kIdle{0, 100'000'000};

/// The number of the batch, its chunks, and the first chunk that no thread has taken. They are in
/// one word, so a thread that takes a chunk knows that the batch's fields belong to this batch.
struct Turn {
  uint32_t batch = 0;
  uint32_t chunks = 0;
  uint32_t next = 0;

  static Turn of(uint64_t word) {
    return {static_cast<uint32_t>(word >> 32), static_cast<uint32_t>(word >> 16) & 0xffff,
            static_cast<uint32_t>(word) & 0xffff};
  }
  uint64_t word() const { return uint64_t{batch} << 32 | uint64_t{chunks} << 16 | next; }
};

struct Batch {
  std::atomic<const uint8_t*> at{nullptr};
  std::atomic<uint64_t> bytes{0};
  std::atomic<ContentHash*> hashes{nullptr};
  std::atomic<uint64_t> turn{0};
  /// Number of batches; helpers wait here for the next one.
  std::atomic<uint32_t> started{0};
  /// Chunks whose hashes are written; the calling thread waits here for the last one.
  std::atomic<uint32_t> hashed{0};
  /// A thread has a batch. Other threads hash theirs alone.
  std::atomic<bool> taken{false};
  /// The process that has the helpers; a forked child has none of them.
  std::atomic<int> process{0};
  std::atomic<int> helpers{0};
};
constinit Batch g_batch;

void wait(const std::atomic<uint32_t>& word, uint32_t while_it_is, const timespec* most = nullptr) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, while_it_is, most, nullptr, 0);
}
void wake(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void hashOne(const uint8_t* at, uint64_t bytes, uint64_t chunk, ContentHash* hashes) {
  if (!recording()) return;  // the program does not wait any more: the memory may be gone
  const uint64_t begin = chunk * kChunkBytes;
  hashes[chunk] = hashBytes(at + begin, bytes - begin < kChunkBytes ? bytes - begin : kChunkBytes);
}

/// Hashes chunks until none is left.
void hashTogether() {
  uint64_t word = g_batch.turn.load(std::memory_order_acquire);
  for (;;) {
    Turn turn = Turn::of(word);
    if (turn.next >= turn.chunks) return;
    const uint8_t* at = g_batch.at.load(std::memory_order_relaxed);
    const uint64_t bytes = g_batch.bytes.load(std::memory_order_relaxed);
    ContentHash* hashes = g_batch.hashes.load(std::memory_order_relaxed);
    const uint64_t chunk = turn.next++;
    if (!g_batch.turn.compare_exchange_weak(word, turn.word(), std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
      continue;
    }
    hashOne(at, bytes, chunk, hashes);
    if (g_batch.hashed.fetch_add(1, std::memory_order_acq_rel) + 1 == turn.chunks) {
      wake(g_batch.hashed);
    }
    word = g_batch.turn.load(std::memory_order_acquire);
  }
}

void* runHelper(void*) {
  for (;;) {
    const uint32_t started = g_batch.started.load(std::memory_order_acquire);
    hashTogether();
    wait(g_batch.started, started, &kIdle);
    if (g_batch.started.load(std::memory_order_acquire) == started) break;
  }
  // A batch that starts just now is done by its calling thread.
  g_batch.helpers.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

void startHelpers() {
  if (g_batch.process.load(std::memory_order_relaxed) != getpid()) {
    g_batch.process.store(getpid(), std::memory_order_relaxed);
    g_batch.helpers.store(0, std::memory_order_relaxed);
  }
  cpu_set_t processors;
  int most = 0;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0) most = CPU_COUNT(&processors) - 1;
  if (most > kMostHelpers) most = kMostHelpers;
  while (g_batch.helpers.load(std::memory_order_relaxed) < most) {
    g_batch.helpers.fetch_add(1, std::memory_order_relaxed);
    if (agent::startOwnThread(runHelper) == 0) continue;
    g_batch.helpers.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
}

/// True: the helpers belong to the calling thread until it gives them back.
bool takeHelpers() {
  if (g_batch.taken.exchange(true, std::memory_order_acquire)) return false;
  startHelpers();
  if (g_batch.helpers.load(std::memory_order_relaxed) > 0) return true;
  g_batch.taken.store(false, std::memory_order_release);
  return false;
}

}  // namespace

void hashChunks(const uint8_t* at, uint64_t bytes, ContentHash* hashes) {
  const uint64_t chunks = recording::chunkCount(bytes);
  if (bytes >= kSharedHashBytes) {
    // If a handler left by siglongjmp(), helpers would continue with memory that may be gone.
    const uint64_t signals = Signals::block();
    const bool together = takeHelpers();
    if (together) {
      g_batch.at.store(at, std::memory_order_relaxed);
      g_batch.bytes.store(bytes, std::memory_order_relaxed);
      g_batch.hashes.store(hashes, std::memory_order_relaxed);
      g_batch.hashed.store(0, std::memory_order_relaxed);
      const Turn before = Turn::of(g_batch.turn.load(std::memory_order_relaxed));
      g_batch.turn.store(Turn{before.batch + 1, static_cast<uint32_t>(chunks), 0}.word(),
                         std::memory_order_release);
      g_batch.started.fetch_add(1, std::memory_order_release);
      wake(g_batch.started);
      hashTogether();
      for (uint32_t hashed = 0;
           (hashed = g_batch.hashed.load(std::memory_order_acquire)) < chunks;) {
        wait(g_batch.hashed, hashed);
      }
      g_batch.taken.store(false, std::memory_order_release);
    }
    Signals::restore(signals);
    if (together) return;
  }
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) hashOne(at, bytes, chunk, hashes);
}

}  // namespace tracesmith::record
