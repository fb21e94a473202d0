// SPDX-License-Identifier: Apache-2.0
// Converts CUPTI's records to ours. The agent does this with delivered records, the collector with
// those that a killed program had in its buffers.
#pragma once

#include <string.h>

#include "tracesmith/capture/agents/cuda/cupti.hpp"
#include "tracesmith/capture/protocol/cuda_records.hpp"

namespace tracesmith::agent::cupti {

constexpr uint32_t kKernelBytesWithCluster = 200;
constexpr uint32_t kPoolOfThisProcess = 1;

inline int64_t stampOf(uint64_t time) { return static_cast<int64_t>(time); }

inline arena::RecordHeader headerOf(arena::RecordKind kind, size_t bytes, uint32_t aux,
                                    int flags = 0) {
  return {kind, static_cast<uint8_t>(flags), static_cast<uint16_t>(bytes / 8), aux};
}

inline arena::CudaKernelRecord kernelOf(const Kernel& k, size_t bytes, uint64_t correlation,
                                        uint32_t name) {
  arena::CudaKernelRecord r{};
  r.header = headerOf(arena::RecordKind::kCudaKernel, sizeof r, name);
  r.correlation = correlation;
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
    if (bytes >= kKernelBytesWithCluster) r.cluster[i] = k.cluster[i];
  }
  r.static_shared = static_cast<uint32_t>(k.static_shared);
  r.dynamic_shared = static_cast<uint32_t>(k.dynamic_shared);
  r.local_per_thread = k.local_per_thread;
  r.graph = k.graph;
  r.graph_node = k.graph_node;
  return r;
}

template <class Copy>
arena::CudaCopyRecord copyOf(const Copy& c, uint64_t correlation, uint32_t devices = 0) {
  return {headerOf(arena::RecordKind::kCudaCopy, sizeof(arena::CudaCopyRecord), 0, c.copy_kind),
          correlation,
          stampOf(c.start),
          stampOf(c.end),
          c.bytes,
          c.device,
          c.context,
          c.stream,
          devices};
}

inline arena::CudaFillRecord fillOf(const Memset& m, uint64_t correlation) {
  return {headerOf(arena::RecordKind::kCudaFill, sizeof(arena::CudaFillRecord), 0),
          correlation,
          stampOf(m.start),
          stampOf(m.end),
          m.bytes,
          m.device,
          m.context,
          m.stream,
          m.value};
}

/// Whether a record of this length has the field; older versions may not have it.
#define TS_HAS(record, member, bytes) ((bytes) >= offsetof(record, member) + sizeof(record::member))

inline arena::CudaSyncRecord syncOf(const Synchronization& s, size_t bytes, uint64_t correlation) {
  return {headerOf(arena::RecordKind::kCudaSync, sizeof(arena::CudaSyncRecord), 0, s.type),
          correlation,
          stampOf(s.start),
          stampOf(s.end),
          s.context,
          s.stream,
          s.event,
          0,
          TS_HAS(Synchronization, event_sync, bytes) ? s.event_sync : arena::kNoEventSync};
}

inline arena::CudaEventRecord eventOf(const CudaEvent& e, size_t bytes, uint64_t correlation) {
  return {headerOf(arena::RecordKind::kCudaEvent, sizeof(arena::CudaEventRecord), e.event),
          correlation, TS_HAS(CudaEvent, event_sync, bytes) ? e.event_sync : arena::kNoEventSync,
          e.context, e.stream};
}

inline arena::CudaMemoryRecord memoryOf(const Memory& m, size_t bytes, uint64_t correlation) {
  arena::CudaMemoryRecord r{};
  r.header = headerOf(arena::RecordKind::kCudaMemory, sizeof r,
                      static_cast<uint32_t>(m.memory_kind), m.operation);
  r.correlation = correlation;
  r.time = stampOf(m.time);
  r.address = m.address;
  r.bytes = m.bytes;
  r.device = m.device;
  r.context = m.context;
  if (!TS_HAS(Memory, pool_bytes, bytes) || m.pool_kind == 0) return r;
  r.pool = m.pool;
  if (m.pool_kind == kPoolOfThisProcess && TS_HAS(Memory, pool_used, bytes)) {
    r.pool_bytes = m.pool_bytes;
    r.pool_used = m.pool_used;
  }
  return r;
}

inline arena::CudaPoolRecord poolOf(const MemoryPool& p, size_t bytes, uint64_t correlation) {
  arena::CudaPoolRecord r{};
  r.header = headerOf(arena::RecordKind::kCudaPool, sizeof r, p.device, p.operation);
  r.correlation = correlation;
  r.time = stampOf(p.time);
  r.address = p.address;
  r.bytes = p.bytes;
  r.used = TS_HAS(MemoryPool, used, bytes) ? p.used : 0;
  r.release_threshold = p.release_threshold;
  r.kept_bytes = p.kept_bytes;
  r.pool_kind = static_cast<uint32_t>(p.pool_kind);
  return r;
}

inline arena::CudaGraphRecord graphOf(const GraphTrace& g, uint64_t correlation) {
  return {headerOf(arena::RecordKind::kCudaGraph, sizeof(arena::CudaGraphRecord), g.graph),
          correlation,
          stampOf(g.start),
          stampOf(g.end),
          g.device,
          g.context,
          g.stream,
          0};
}

inline arena::CudaJitRecord jitOf(const Jit& j, uint64_t correlation) {
  return {headerOf(arena::RecordKind::kCudaJit, sizeof(arena::CudaJitRecord),
                   static_cast<uint32_t>(j.entry), j.operation),
          correlation, stampOf(j.start), stampOf(j.end)};
}

inline arena::CudaUnifiedRecord unifiedOf(const UnifiedMemory& u, uint64_t correlation) {
  return {headerOf(arena::RecordKind::kCudaUnified, sizeof(arena::CudaUnifiedRecord), 0, u.counter),
          stampOf(u.start),
          stampOf(u.end),
          u.value,
          u.address,
          u.source,
          u.destination,
          correlation};
}

inline arena::CudaDeviceRecord deviceOf(const Device& d) {
  arena::CudaDeviceRecord r{};
  r.header = headerOf(arena::RecordKind::kCudaDevice, sizeof r, d.id);
  r.memory_bytes = d.memory_bytes;
  r.multiprocessors = d.multiprocessors;
  r.clock_mhz = d.core_clock_khz / 1000;
  r.warp_size = d.warp_size;
  r.threads_per_block = d.threads_per_block;
  r.compute_major = d.compute_major;
  r.compute_minor = d.compute_minor;
  r.threads_per_multiprocessor = d.warps_per_multiprocessor * d.warp_size;
  r.registers_per_multiprocessor = d.registers_per_multiprocessor;
  r.shared_bytes_per_multiprocessor = d.shared_bytes_per_multiprocessor;
  memcpy(r.uuid, d.uuid, sizeof r.uuid);
  return r;
}

inline arena::CudaContextRecord contextOf(const Context& c) {
  return {headerOf(arena::RecordKind::kCudaContext, sizeof(arena::CudaContextRecord), c.id),
          c.device};
}

inline arena::CudaOverheadRecord overheadOf(const Overhead& o, uint64_t correlation) {
  return {headerOf(arena::RecordKind::kCudaOverhead, sizeof(arena::CudaOverheadRecord),
                   static_cast<uint32_t>(o.overhead)),
          correlation, stampOf(o.start), stampOf(o.end)};
}

template <class Record>
const Record& as(const Activity& a) {
  return reinterpret_cast<const Record&>(a);
}

/// Passes the record for `a`, which has `bytes` bytes and the kernel name numbered `name`, to
/// `put(record, counts)`. wide(id) extends correlation ids. Definitions (devices, contexts) go to
/// define(record). Other kinds are ignored.
template <class Wide, class Put, class Define>
void transcribe(const Activity& a, size_t bytes, uint32_t name, uint64_t first_correlation,
                Wide&& wide, Put&& put, Define&& define) {
  switch (a.kind) {
    case kConcurrentKernel: {
      const Kernel& k = as<Kernel>(a);
      return put(kernelOf(k, bytes, wide(k.correlation), name), true);
    }
    case kMemcpy: {
      const Memcpy& c = as<Memcpy>(a);
      return put(copyOf(c, wide(c.correlation)), true);
    }
    case kMemcpyPeer: {
      const MemcpyPeer& c = as<MemcpyPeer>(a);
      const uint32_t devices = arena::copyDevices(c.source_device, c.destination_device);
      return put(copyOf(c, wide(c.correlation), devices), true);
    }
    case kMemset: {
      const Memset& m = as<Memset>(a);
      return put(fillOf(m, wide(m.correlation)), true);
    }
    case kSynchronization: {
      const Synchronization& s = as<Synchronization>(a);
      return put(syncOf(s, bytes, wide(s.correlation)), true);
    }
    case kCudaEvent: {
      const CudaEvent& e = as<CudaEvent>(a);
      return put(eventOf(e, bytes, wide(e.correlation)), true);
    }
    case kMemory: {
      const Memory& m = as<Memory>(a);
      return put(memoryOf(m, bytes, wide(m.correlation)), true);
    }
    case kMemoryPool: {
      const MemoryPool& p = as<MemoryPool>(a);
      return put(poolOf(p, bytes, wide(p.correlation)), true);
    }
    case kJit: {
      const Jit& j = as<Jit>(a);
      return put(jitOf(j, wide(j.correlation)), true);
    }
    case kGraphTrace: {
      const GraphTrace& g = as<GraphTrace>(a);
      return put(graphOf(g, wide(g.correlation)), true);
    }
    case kUnifiedMemory:
      return put(unifiedOf(as<UnifiedMemory>(a), first_correlation), true);
    case kOverhead: {
      const Overhead& o = as<Overhead>(a);
      const bool in_call = TS_HAS(Overhead, correlation, bytes) && o.correlation != 0;
      return put(overheadOf(o, in_call ? wide(o.correlation) : 0), false);
    }
    case kDevice:
      return define(deviceOf(as<Device>(a)));
    case kContext:
      return define(contextOf(as<Context>(a)));
    default:
      return;
  }
}

#undef TS_HAS

}  // namespace tracesmith::agent::cupti
