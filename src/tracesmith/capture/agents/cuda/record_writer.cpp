// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/record_writer.hpp"

#include <errno.h>
#include <string.h>

#include "tracesmith/capture/agents/cuda/shared_file.hpp"

namespace tracesmith::agent {
namespace {

constinit std::atomic<uint64_t> g_newest{0};  // correlation id

// --- Names of kernels ---------------------------------------------------------------------------

constexpr uint32_t kNames = 1u << 17;
struct Name {
  uint64_t hash;  // of the text; 0: none
  uint32_t number;
};
Name g_names[kNames];
uint32_t g_name_count = 0;

/// The address where a name was last seen.
struct NameSlot {
  std::atomic<const char*> text;
  std::atomic<uint64_t> known;  // epoch << 32 | number
};
constexpr uint32_t kNameSlots = 1u << 12;
constinit NameSlot g_name_slots[kNameSlots];
constinit std::atomic<uint32_t> g_name_epoch{1};

NameSlot& placeOf(const char* text) {
  const auto address = reinterpret_cast<uintptr_t>(text);
  return g_name_slots[(address ^ address >> 12) % kNameSlots];
}

uint32_t numberOf(const char* name) {
  const uint64_t hash = hashOf(name, strlen(name));
  for (uint32_t i = 0; i < kNames; ++i) {
    Name& place = g_names[(hash + i) % kNames];
    if (place.hash == hash) return place.number;
    if (place.hash != 0) continue;
    static TextRecord record;
    if (g_name_count >= kNames / 4 * 3) break;
    const size_t bytes = fillText(record, arena::CudaText::kKernel, g_name_count + 1, name, 0);
    if (!appendDefinition(&record, bytes)) return 0;
    place = {hash, ++g_name_count};
    return place.number;
  }
  sharedHeader().log_lost.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

}  // namespace

size_t fillText(TextRecord& r, arena::CudaText kind, uint32_t number, const char* text,
                uint32_t call_kind) {
  const size_t length = strnlen(text, kMostText);
  const size_t bytes = (sizeof r.head + length + 7) & ~size_t{7};
  memcpy(r.text, text, length);
  memset(r.text + length, 0, bytes - sizeof r.head - length);
  r.head = {{arena::RecordKind::kCudaText, static_cast<uint8_t>(kind),
             static_cast<uint16_t>(bytes / 8), number},
            static_cast<uint32_t>(length),
            call_kind};
  return bytes;
}

uint32_t nameNumber(const char* name) {
  if (name == nullptr) return 0;
  const DefinitionLock alone;
  return numberOf(name);
}

uint32_t nameNumberOfCall(const char* name) {
  if (name == nullptr) return 0;
  NameSlot& place = placeOf(name);
  const uint32_t epoch = g_name_epoch.load(std::memory_order_relaxed);
  if (place.text.load(std::memory_order_acquire) == name) {
    const uint64_t known = place.known.load(std::memory_order_acquire);
    // Between the first check and this one, another name may have been stored, and this one again.
    if (known >> 32 == epoch && place.text.load(std::memory_order_acquire) == name &&
        place.known.load(std::memory_order_relaxed) == known) {
      return static_cast<uint32_t>(known);
    }
  }
  const NoHandlers uninterrupted;
  const NoCancel whole;
  // A signal handler may have interrupted the thread that holds the lock.
  if (!DefinitionLock::tryBegin()) return 0;
  const uint32_t number = numberOf(name);
  place.known.store(0, std::memory_order_release);
  place.text.store(name, std::memory_order_release);
  if (number != 0) place.known.store(uint64_t{epoch} << 32 | number, std::memory_order_release);
  DefinitionLock::end();
  return number;
}

void clearNameSlots() { g_name_epoch.fetch_add(1, std::memory_order_relaxed); }

bool writeDefinition(const void* record, size_t bytes) {
  const DefinitionLock alone;
  return appendDefinition(record, bytes);
}

bool writeText(arena::CudaText kind, uint32_t number, const char* text, uint32_t call_kind) {
  TextRecord record;
  return writeDefinition(&record, fillText(record, kind, number, text, call_kind));
}

void reportProblem(bool nothing, const char* text) {
  TextRecord record;
  const size_t bytes = fillText(record, arena::CudaText::kProblem, nothing ? 0 : 1, text, 0);
  putRecord(&record, bytes, false);
}

void beginCorrelations() {
  static const cuda_file::Header* begun = nullptr;
  if (begun == &sharedHeader()) return;  // continues with the previous ids
  begun = &sharedHeader();
  g_newest.store(sharedHeader().first_correlation + (1u << 31), std::memory_order_relaxed);
}

uint64_t newestCorrelation() { return g_newest.load(std::memory_order_relaxed); }

uint64_t wideCorrelation(uint32_t correlation) {
  uint64_t last = g_newest.load(std::memory_order_relaxed);
  const uint64_t wide = cuda_file::widen(correlation, last);
  while (wide > last && !g_newest.compare_exchange_weak(last, wide, std::memory_order_relaxed)) {
  }
  return wide;
}

bool putRecord(const void* record, size_t bytes, bool counts) {
  if (!ready()) return false;
  ThreadState& t = t_state;
  if (isBusy(t)) {
    if (counts) countReentrant();
    return false;
  }
  const int before = errno;
  t.busy = stackPointer();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  uint8_t* const p = reserve(t, bytes);
  if (p != nullptr) {
    memcpy(p, record, bytes);
    commit(t, bytes);
  }
  if (counts || p == nullptr) bump(t.ring->emitted);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t.busy = 0;
  errno = before;
  return p != nullptr;
}

}  // namespace tracesmith::agent
