// SPDX-License-Identifier: Apache-2.0
// What CUPTI since CUDA 13.3 offers in addition to cupti.hpp: several subscribers, each passed to
// the functions it calls, and records with only the requested fields.
// tests/cuda/programs/agent_layout_check.cpp compares this file with the vendor's headers.
#pragma once

#include "tracesmith/capture/agents/cuda/cupti.hpp"

namespace tracesmith::agent::cupti {

/// The first version that reports the layout of selected records; CUDA 13.2 does not yet.
constexpr uint32_t kFirstWithLayouts = 130300;

constexpr int kAttributeUserDefinedRecords = 11;
constexpr int kAttributeLatencyTimestamps = 15;
constexpr int kAttributeGraphTrace = 20;  // uint8_t; holds for all subscribers
constexpr int kAttributeTimestampCallback = 22;

struct FieldSelection {
  size_t size;
  size_t count;
  int* fields;  // starts with the kind
};

struct ActivityConfig {
  size_t size;
  FieldSelection selection;
  // More fields since CUDA 13.4, unused here.
};

struct FieldLayout {
  size_t size;
  int field;
  size_t offset;
  size_t bytes;
  size_t alignment;
};

struct RecordLayout {
  size_t size;
  const FieldLayout* fields;
  size_t count;
  size_t bytes;
};

struct BufferRequestInfo {
  size_t size;
};

struct BufferDoneInfo {
  size_t size;
  uint64_t thread;
  const RecordLayout* const* layouts;  // by kind, may be null; valid during the call only
  size_t count;
};

using RequestBuffer2 = void (*)(uint8_t** buffer, size_t* size, size_t* most_records,
                                const BufferRequestInfo*);
using BufferDone2 = void (*)(uint8_t* buffer, size_t size, size_t valid, const BufferDoneInfo*);

/// A selected field: CUPTI's number for it, its place in the record of cupti.hpp, and its length in
/// a record of selected fields.
struct Field {
  int number;
  uint16_t offset;
  uint16_t bytes;
  uint16_t selected_bytes;
};

#define TS_WIDE(number, record, member, bytes) \
  { number, offsetof(record, member), sizeof(record::member), bytes }
#define TS_FIELD(number, record, member) TS_WIDE(number, record, member, sizeof(record::member))
#define TS_ELEMENT(number, record, member, index)                                         \
  {                                                                                       \
    number, static_cast<uint16_t>(offsetof(record, member) + (index) * sizeof(uint32_t)), \
        sizeof(uint32_t), sizeof(uint32_t)                                                \
  }

// The kind is field 0 of all records and comes first.
constexpr Field kKernelFields[] = {
    TS_FIELD(0, Kernel, kind),
    TS_FIELD(4, Kernel, registers),
    TS_FIELD(7, Kernel, start),
    TS_FIELD(8, Kernel, end),
    TS_FIELD(10, Kernel, device),
    TS_WIDE(11, Kernel, context, 8),
    TS_WIDE(12, Kernel, stream, 8),
    TS_ELEMENT(13, Kernel, grid, 0),
    TS_ELEMENT(14, Kernel, grid, 1),
    TS_ELEMENT(15, Kernel, grid, 2),
    TS_ELEMENT(16, Kernel, block, 0),
    TS_ELEMENT(17, Kernel, block, 1),
    TS_ELEMENT(18, Kernel, block, 2),
    TS_FIELD(19, Kernel, static_shared),
    TS_FIELD(20, Kernel, dynamic_shared),
    TS_FIELD(21, Kernel, local_per_thread),
    TS_WIDE(22, Kernel, correlation, 8),
    TS_FIELD(24, Kernel, name),
    TS_FIELD(25, Kernel, queued),
    TS_FIELD(26, Kernel, submitted),
    TS_FIELD(31, Kernel, graph_node),
    TS_FIELD(33, Kernel, graph),
    TS_ELEMENT(37, Kernel, cluster, 0),
    TS_ELEMENT(38, Kernel, cluster, 1),
    TS_ELEMENT(39, Kernel, cluster, 2),
};
constexpr Field kMemcpyFields[] = {
    TS_FIELD(0, Memcpy, kind),
    TS_FIELD(1, Memcpy, copy_kind),
    TS_FIELD(5, Memcpy, bytes),
    TS_FIELD(6, Memcpy, start),
    TS_FIELD(7, Memcpy, end),
    TS_FIELD(8, Memcpy, device),
    TS_FIELD(9, Memcpy, context),
    TS_FIELD(10, Memcpy, stream),
    TS_WIDE(11, Memcpy, correlation, 8),
};
constexpr Field kMemcpyPeerFields[] = {
    TS_FIELD(0, MemcpyPeer, kind),
    TS_FIELD(1, MemcpyPeer, copy_kind),
    TS_FIELD(5, MemcpyPeer, bytes),
    TS_FIELD(6, MemcpyPeer, start),
    TS_FIELD(7, MemcpyPeer, end),
    TS_FIELD(8, MemcpyPeer, device),
    TS_FIELD(9, MemcpyPeer, context),
    TS_FIELD(10, MemcpyPeer, stream),
    TS_FIELD(11, MemcpyPeer, source_device),
    TS_FIELD(13, MemcpyPeer, destination_device),
    TS_WIDE(15, MemcpyPeer, correlation, 8),
};
constexpr Field kMemsetFields[] = {
    TS_FIELD(0, Memset, kind),    TS_FIELD(1, Memset, value),  TS_FIELD(2, Memset, bytes),
    TS_FIELD(3, Memset, start),   TS_FIELD(4, Memset, end),    TS_FIELD(5, Memset, device),
    TS_FIELD(6, Memset, context), TS_FIELD(7, Memset, stream), TS_WIDE(8, Memset, correlation, 8),
};
constexpr Field kSynchronizationFields[] = {
    TS_FIELD(0, Synchronization, kind),          TS_FIELD(1, Synchronization, type),
    TS_FIELD(2, Synchronization, start),         TS_FIELD(3, Synchronization, end),
    TS_WIDE(4, Synchronization, correlation, 8), TS_FIELD(5, Synchronization, context),
    TS_FIELD(6, Synchronization, stream),        TS_WIDE(7, Synchronization, event, 8),
    TS_FIELD(8, Synchronization, event_sync),
};
constexpr Field kCudaEventFields[] = {
    TS_FIELD(0, CudaEvent, kind),    TS_WIDE(1, CudaEvent, correlation, 8),
    TS_FIELD(2, CudaEvent, context), TS_FIELD(3, CudaEvent, stream),
    TS_WIDE(4, CudaEvent, event, 8), TS_FIELD(7, CudaEvent, event_sync),
};
constexpr Field kMemoryFields[] = {
    TS_FIELD(0, Memory, kind),        TS_FIELD(1, Memory, operation),
    TS_FIELD(2, Memory, memory_kind), TS_WIDE(3, Memory, correlation, 8),
    TS_FIELD(4, Memory, address),     TS_FIELD(5, Memory, bytes),
    TS_FIELD(6, Memory, time),        TS_FIELD(8, Memory, device),
    TS_FIELD(9, Memory, context),     TS_FIELD(12, Memory, pool_kind),
    TS_FIELD(13, Memory, pool),       TS_FIELD(15, Memory, pool_bytes),
    TS_FIELD(17, Memory, pool_used),
};
constexpr Field kMemoryPoolFields[] = {
    TS_FIELD(0, MemoryPool, kind),
    TS_FIELD(1, MemoryPool, operation),
    TS_FIELD(2, MemoryPool, pool_kind),
    TS_WIDE(3, MemoryPool, correlation, 8),
    TS_FIELD(5, MemoryPool, device),
    TS_FIELD(6, MemoryPool, kept_bytes),
    TS_FIELD(7, MemoryPool, address),
    TS_FIELD(8, MemoryPool, bytes),
    TS_FIELD(9, MemoryPool, release_threshold),
    TS_FIELD(10, MemoryPool, time),
    TS_FIELD(11, MemoryPool, used),
};
constexpr Field kUnifiedMemoryFields[] = {
    TS_FIELD(0, UnifiedMemory, kind),   TS_FIELD(1, UnifiedMemory, counter),
    TS_FIELD(2, UnifiedMemory, value),  TS_FIELD(3, UnifiedMemory, start),
    TS_FIELD(4, UnifiedMemory, end),    TS_FIELD(5, UnifiedMemory, address),
    TS_FIELD(6, UnifiedMemory, source), TS_FIELD(7, UnifiedMemory, destination),
};
constexpr Field kJitFields[] = {
    TS_FIELD(0, Jit, kind),  TS_FIELD(1, Jit, entry), TS_FIELD(2, Jit, operation),
    TS_FIELD(4, Jit, start), TS_FIELD(5, Jit, end),   TS_WIDE(6, Jit, correlation, 8),
};
constexpr Field kOverheadFields[] = {
    TS_FIELD(0, Overhead, kind), TS_FIELD(1, Overhead, overhead),      TS_FIELD(4, Overhead, start),
    TS_FIELD(5, Overhead, end),  TS_WIDE(6, Overhead, correlation, 8),
};
constexpr Field kGraphTraceFields[] = {
    TS_FIELD(0, GraphTrace, kind),    TS_WIDE(1, GraphTrace, correlation, 8),
    TS_FIELD(2, GraphTrace, start),   TS_FIELD(3, GraphTrace, end),
    TS_FIELD(4, GraphTrace, device),  TS_FIELD(5, GraphTrace, graph),
    TS_FIELD(6, GraphTrace, context), TS_FIELD(7, GraphTrace, stream),
};
constexpr Field kDeviceFields[] = {
    TS_FIELD(0, Device, kind),
    TS_FIELD(26, Device, id),
    TS_FIELD(3, Device, memory_bytes),
    TS_FIELD(28, Device, uuid),  // bytes; their place is the same as if they were words
    TS_FIELD(29, Device, name),
    TS_FIELD(6, Device, warp_size),
    TS_FIELD(7, Device, core_clock_khz),
    TS_FIELD(9, Device, multiprocessors),
    TS_FIELD(11, Device, warps_per_multiprocessor),
    TS_FIELD(13, Device, shared_bytes_per_multiprocessor),
    TS_FIELD(14, Device, registers_per_multiprocessor),
    TS_FIELD(17, Device, threads_per_block),
    TS_FIELD(24, Device, compute_major),
    TS_FIELD(25, Device, compute_minor),
};
constexpr Field kContextFields[] = {
    TS_FIELD(0, Context, kind), TS_FIELD(1, Context, id), TS_FIELD(2, Context, device),
    TS_WIDE(4, Context, null_stream, 4),  // pads the record to whole words, as in the others
};
#undef TS_FIELD
#undef TS_WIDE
#undef TS_ELEMENT

struct Selected {
  Kind kind;
  const Field* fields;
  size_t count;
};
template <size_t kCount>
constexpr Selected selected(Kind kind, const Field (&fields)[kCount]) {
  return {kind, fields, kCount};
}
constexpr Selected kSelected[] = {
    selected(kConcurrentKernel, kKernelFields),
    selected(kMemcpy, kMemcpyFields),
    selected(kMemcpyPeer, kMemcpyPeerFields),
    selected(kMemset, kMemsetFields),
    selected(kSynchronization, kSynchronizationFields),
    selected(kCudaEvent, kCudaEventFields),
    selected(kMemory, kMemoryFields),
    selected(kMemoryPool, kMemoryPoolFields),
    selected(kUnifiedMemory, kUnifiedMemoryFields),
    selected(kJit, kJitFields),
    selected(kOverhead, kOverheadFields),
    selected(kGraphTrace, kGraphTraceFields),
    selected(kDevice, kDeviceFields),
    selected(kContext, kContextFields),
};

// Function name, whether the agent can work without it, return type and parameters.
#define TS_CUPTI_FUNCTIONS_2(X)                                                     \
  X(cuptiSubscribe_v2, false, (void**, Callback, void*, SubscriberParams*))         \
  X(cuptiActivityRegisterCallbacks_v2, false, (void*, RequestBuffer2, BufferDone2)) \
  X(cuptiActivityEnable_v2, false, (void*, int, ActivityConfig*))                   \
  X(cuptiActivityDisable_v2, false, (void*, int, ActivityConfig*))                  \
  X(cuptiActivityGetNextRecord_v2, false, (void*, uint8_t*, size_t, Activity**))    \
  X(cuptiActivityGetNumDroppedRecords_v2, false, (void*, void*, uint32_t, size_t*)) \
  X(cuptiActivitySetAttribute_v2, false, (void*, int, size_t*, void*))              \
  X(cuptiActivityGetAttribute_v2, true, (void*, int, size_t*, void*))               \
  X(cuptiGetTimestamp_v2, false, (void*, uint64_t*))

struct Functions2 {
#define TS_X(name, optional, parameters) int(*name) parameters = nullptr;
  TS_CUPTI_FUNCTIONS_2(TS_X)
#undef TS_X
};

}  // namespace tracesmith::agent::cupti
