// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/agents/cuda/activity.hpp"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

namespace tracesmith::agent {

cupti::Functions g_cupti;
std::atomic<bool> g_dead{false};

namespace {

using arena::RecordKind;

// --- Buffers: given to CUPTI on any thread of the program, so without a lock --------------------

constexpr size_t kBufferBytes = 1u << 20;
constexpr uint32_t kMostBuffers = 64;

struct Buffer {
  std::atomic<uint8_t*> memory{nullptr};
  std::atomic<bool> taken{false};
};
constinit Buffer g_buffers[kMostBuffers];
std::atomic<uint64_t> g_refused{0};

void requestBuffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = nullptr;
  *size = 0;
  *most_records = 0;
  if (g_dead.load(std::memory_order_relaxed)) return;
  for (Buffer& b : g_buffers) {
    if (b.taken.load(std::memory_order_relaxed) || b.taken.exchange(true)) continue;
    uint8_t* memory = b.memory.load(std::memory_order_acquire);
    if (memory == nullptr) {
      const int before = errno;
      void* const p = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      errno = before;
      if (p == MAP_FAILED) {
        b.taken.store(false, std::memory_order_release);
        break;
      }
      memory = static_cast<uint8_t*>(p);
      b.memory.store(memory, std::memory_order_release);
    }
    *buffer = memory;
    *size = kBufferBytes;
    return;
  }
  g_refused.fetch_add(1, std::memory_order_relaxed);  // CUPTI drops, and counts what
}

void giveBack(uint8_t* buffer, size_t used) {
  for (Buffer& b : g_buffers) {
    if (b.memory.load(std::memory_order_acquire) != buffer) continue;
    memset(buffer, 0, used < kBufferBytes ? used : kBufferBytes);  // as CUPTI was promised
    b.taken.store(false, std::memory_order_release);
    return;
  }
}

// --- Names of kernels: CUPTI owns them, and may give another text at the same place later -------

constexpr uint32_t kNamePlaces = 1u << 14;
struct NamePlace {
  uint64_t hash;  // of the text
  uint32_t number;
};
NamePlace g_names[kNamePlaces];
std::atomic_flag g_naming = ATOMIC_FLAG_INIT;
uint32_t g_name_count = 0;

uint64_t hashOf(const char* text) {
  uint64_t h = 14695981039346656037u;
  for (; *text != 0; ++text) h = (h ^ static_cast<uint8_t>(*text)) * 1099511628211u;
  return h == 0 ? 1 : h;
}

/// 0 when it could not be told. The threads that CUPTI delivers on are its own, so that a lock does
/// not hold the program up.
uint32_t nameNumber(const char* name) {
  if (name == nullptr) return 0;
  const uint64_t hash = hashOf(name);
  while (g_naming.test_and_set(std::memory_order_acquire)) {
  }
  uint32_t number = 0;
  for (uint32_t i = 0; i < kNamePlaces; ++i) {
    NamePlace& place = g_names[(hash + i) % kNamePlaces];
    if (place.hash == hash) {
      number = place.number;
      break;
    }
    if (place.hash == 0 && g_name_count < kNamePlaces / 2) {
      if (putText(arena::CudaText::kKernel, g_name_count + 1, name)) {
        place = {hash, number = ++g_name_count};
      }
      break;
    }
    if (place.hash == 0) {  // very many names: told again each time
      number = 0x80000000u | static_cast<uint32_t>(hash & 0x7fffffff);
      if (!putText(arena::CudaText::kKernel, number, name)) number = 0;
      break;
    }
  }
  g_naming.clear(std::memory_order_release);
  return number;
}

// --- Records --------------------------------------------------------------------------------

int64_t stampOf(uint64_t time) { return static_cast<int64_t>(time); }

arena::RecordHeader headerOf(RecordKind kind, size_t bytes, uint32_t aux, int flags = 0) {
  return {kind, static_cast<uint8_t>(flags), static_cast<uint16_t>(bytes / 8), aux};
}

void kernel(const cupti::Kernel& k) {
  arena::CudaKernelRecord r{};
  r.header = headerOf(RecordKind::kCudaKernel, sizeof r, nameNumber(k.name));
  r.correlation = wideCorrelation(k.correlation);
  r.start = stampOf(k.start);
  r.end = stampOf(k.end);
  r.queued = stampOf(k.queued);
  r.submitted = stampOf(k.submitted);
  r.device = k.device;
  r.context = k.context;
  r.stream = k.stream;
  r.registers = k.registers;
  for (int i = 0; i < 3; ++i) {
    r.grid[i] = static_cast<uint32_t>(k.grid[i]);
    r.block[i] = static_cast<uint32_t>(k.block[i]);
  }
  r.static_shared = static_cast<uint32_t>(k.static_shared);
  r.dynamic_shared = static_cast<uint32_t>(k.dynamic_shared);
  r.local_per_thread = k.local_per_thread;
  r.graph = k.graph;
  r.graph_node = k.graph_node;
  putRecord(&r, sizeof r, true);
}

template <class Copy>
void copy(const Copy& c) {
  const arena::CudaCopyRecord r{headerOf(RecordKind::kCudaCopy, sizeof r, 0, c.copy_kind),
                                wideCorrelation(c.correlation),
                                stampOf(c.start),
                                stampOf(c.end),
                                c.bytes,
                                c.device,
                                c.context,
                                c.stream,
                                0};
  putRecord(&r, sizeof r, true);
}

void fill(const cupti::Memset& m) {
  const arena::CudaFillRecord r{headerOf(RecordKind::kCudaFill, sizeof r, 0),
                                wideCorrelation(m.correlation),
                                stampOf(m.start),
                                stampOf(m.end),
                                m.bytes,
                                m.device,
                                m.context,
                                m.stream,
                                m.value};
  putRecord(&r, sizeof r, true);
}

void synchronization(const cupti::Synchronization& s) {
  const arena::CudaSyncRecord r{headerOf(RecordKind::kCudaSync, sizeof r, 0, s.type),
                                wideCorrelation(s.correlation),
                                stampOf(s.start),
                                stampOf(s.end),
                                s.context,
                                s.stream,
                                s.event,
                                0};
  putRecord(&r, sizeof r, true);
}

void device(const cupti::Device& d) {
  arena::CudaDeviceRecord r{};
  r.header = headerOf(RecordKind::kCudaDevice, sizeof r, d.id);
  r.memory_bytes = d.memory_bytes;
  r.multiprocessors = d.multiprocessors;
  r.clock_mhz = d.core_clock_khz / 1000;
  r.warp_size = d.warp_size;
  r.threads_per_block = d.threads_per_block;
  r.compute_major = d.compute_major;
  r.compute_minor = d.compute_minor;
  memcpy(r.uuid, d.uuid, sizeof r.uuid);
  if (d.name != nullptr) putText(arena::CudaText::kDevice, d.id, d.name);
  putRecord(&r, sizeof r, false);
}

void overhead(const cupti::Overhead& o) {
  const arena::CudaOverheadRecord r{
      headerOf(RecordKind::kCudaOverhead, sizeof r, static_cast<uint32_t>(o.overhead)),
      stampOf(o.start), stampOf(o.end)};
  putRecord(&r, sizeof r, false);
}

void activity(const cupti::Activity& a) {
  switch (a.kind) {
    case cupti::kConcurrentKernel:
      return kernel(reinterpret_cast<const cupti::Kernel&>(a));
    case cupti::kMemcpy:
      return copy(reinterpret_cast<const cupti::Memcpy&>(a));
    case cupti::kMemcpyPeer:
      return copy(reinterpret_cast<const cupti::MemcpyPeer&>(a));
    case cupti::kMemset:
      return fill(reinterpret_cast<const cupti::Memset&>(a));
    case cupti::kSynchronization:
      return synchronization(reinterpret_cast<const cupti::Synchronization&>(a));
    case cupti::kDevice:
      return device(reinterpret_cast<const cupti::Device&>(a));
    case cupti::kOverhead:
      return overhead(reinterpret_cast<const cupti::Overhead&>(a));
    case cupti::kContext: {
      const auto& c = reinterpret_cast<const cupti::Context&>(a);
      const arena::CudaContextRecord r{headerOf(RecordKind::kCudaContext, sizeof r, c.id),
                                       c.device};
      putRecord(&r, sizeof r, false);
      return;
    }
    default:
      return;
  }
}

void countDropped(void* context, uint32_t stream) {
  size_t dropped = 0;
  if (g_cupti.cuptiActivityGetNumDroppedRecords == nullptr ||
      g_cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) != cupti::kSuccess ||
      dropped == 0) {
    return;
  }
  const arena::CudaDroppedRecord r{headerOf(RecordKind::kCudaDropped, sizeof r, 0), dropped};
  putRecord(&r, sizeof r, false);
}

void bufferDone(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) {
  if (g_dead.load(std::memory_order_relaxed)) return;
  cupti::Activity* record = nullptr;
  while (valid > 0 &&
         g_cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == cupti::kSuccess) {
    activity(*record);
  }
  countDropped(context, stream);
  giveBack(buffer, valid);
}

}  // namespace

uint64_t wideCorrelation(uint32_t correlation) {
  // The number nearest to the last one: ids of one time lie close together.
  static std::atomic<uint64_t> newest{1u << 31};
  uint64_t last = newest.load(std::memory_order_relaxed);
  const auto ahead = static_cast<int32_t>(correlation - static_cast<uint32_t>(last));
  const uint64_t wide = last + static_cast<uint64_t>(int64_t{ahead});
  while (wide > last && !newest.compare_exchange_weak(last, wide, std::memory_order_relaxed)) {
  }
  return wide;
}

bool putRecord(const void* record, size_t bytes, bool counts) {
  if (!ready()) return false;
  ThreadState& t = t_state;
  if (t.busy != 0) {
    if (counts) countReentrant();
    return false;
  }
  const int before = errno;
  t.busy = 1;
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

bool putText(arena::CudaText kind, uint32_t number, const char* text, uint32_t call_kind) {
  struct {
    arena::CudaTextRecord head;
    char text[4000];
  } r{};
  size_t length = strlen(text);
  if (length > sizeof r.text) length = sizeof r.text;
  memcpy(r.text, text, length);
  const size_t bytes = (sizeof r.head + length + 7) & ~size_t{7};
  r.head = {headerOf(RecordKind::kCudaText, bytes, number, static_cast<int>(kind)),
            static_cast<uint32_t>(length), call_kind};
  return putRecord(&r, bytes, false);
}

void enableActivities() {
  if (g_cupti.cuptiActivitySetAttribute != nullptr) {
    uint8_t yes = 1;
    size_t size = sizeof yes;
    (void)g_cupti.cuptiActivitySetAttribute(cupti::kAttributeZeroedBuffer, &size, &yes);
  }
  if (g_cupti.cuptiActivityEnableLatencyTimestamps != nullptr) {
    (void)g_cupti.cuptiActivityEnableLatencyTimestamps(1);
  }
  int code = g_cupti.cuptiActivityRegisterCallbacks(requestBuffer, bufferDone);
  constexpr struct {
    cupti::Kind kind;
    const char* name;
  } kKinds[] = {{cupti::kDevice, "devices"},
                {cupti::kContext, "contexts"},
                {cupti::kConcurrentKernel, "kernels"},
                {cupti::kMemcpy, "copies"},
                {cupti::kMemcpyPeer, "peer copies"},
                {cupti::kMemset, "memsets"},
                {cupti::kSynchronization, "synchronisation"},
                {cupti::kOverhead, "overhead"}};
  for (const auto& k : kKinds) {
    if (code == cupti::kSuccess) code = g_cupti.cuptiActivityEnable(k.kind);
    if (code == cupti::kSuccess) continue;
    const char* why = "unknown error";
    if (g_cupti.cuptiGetResultString != nullptr) (void)g_cupti.cuptiGetResultString(code, &why);
    char text[256];
    snprintf(text, sizeof text, "CUPTI does not deliver %s (%d, %s)", k.name, code, why);
    putText(arena::CudaText::kProblem, 1, text);
    code = cupti::kSuccess;
  }
}

bool activitiesAreOut() {
  for (const Buffer& b : g_buffers) {
    if (b.taken.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

void flushActivities(bool everything) {
  if (g_dead.load(std::memory_order_relaxed)) return;
  constexpr uint32_t kForced = 1;
  (void)g_cupti.cuptiActivityFlushAll(everything ? kForced : 0);
}

}  // namespace tracesmith::agent
