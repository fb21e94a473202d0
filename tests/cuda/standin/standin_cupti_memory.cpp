// SPDX-License-Identifier: Apache-2.0
// Records of the stand-in for libcupti that are of memory, of compilation, and of what a client
// says its calls belong to.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>

#include "standin_cupti.hpp"

namespace standin {
namespace {

// What the thread is in, of each kind, for each client.
thread_local std::vector<uint64_t> external[kStandinSubscribers]
                                           [CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];

bool isKind(CUpti_ExternalCorrelationKind kind) {
  return kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID &&
         kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

bool counts(const State& s, uint32_t counter) {
  return std::find(s.unified_counters.begin(), s.unified_counters.end(), counter) !=
         s.unified_counters.end();
}

}  // namespace

void putMemory(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_MEMORY2)) return;
  const CUcontext context = work.call->context;
  MemoryRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = static_cast<CUpti_ActivityMemoryOperationType>(work.value);
  record.memoryKind = work.memory_kind;
  record.correlationId = work.call->correlation;
  record.address = work.address;
  record.bytes = work.bytes;
  record.timestamp = work.start_ns;
  record.processId = static_cast<uint32_t>(getpid());
  record.deviceId = context != nullptr ? static_cast<uint32_t>(context->device) : 0;
  record.contextId = context != nullptr ? context->id : CUPTI_INVALID_CONTEXT_ID;
  record.streamId = work.async ? work.stream->id : CUPTI_INVALID_STREAM_ID;
  record.isAsync = work.async;
  if (work.has_pool) {
    record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    record.memoryPoolConfig.address = work.pool.address;
    record.memoryPoolConfig.releaseThreshold = work.pool.release_threshold;
    record.memoryPoolConfig.pool.size = work.pool.size;
    record.memoryPoolConfig.utilizedSize = work.pool.used;
  }
  put(record);
}

void putPool(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_MEMORY_POOL)) return;
  PoolRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  record.memoryPoolOperationType = static_cast<CUpti_ActivityMemoryPoolOperationType>(work.value);
  record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.correlationId = work.call->correlation;
  record.processId = static_cast<uint32_t>(getpid());
  record.deviceId = static_cast<uint32_t>(work.pool.device);
  record.minBytesToKeep = work.bytes;
  record.address = work.pool.address;
  record.size = work.pool.size;
  record.releaseThreshold = work.pool.release_threshold;
  record.timestamp = work.start_ns;
  record.utilizedSize = work.pool.used;
  put(record);
}

void putUnified(const StandinWork& work) {
  State& s = state();
  if (!on(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)) return;
  {
    const std::lock_guard lock(s.mutex);
    if (!counts(s, work.value)) return;
  }
  constexpr uint32_t kHost = 0xffffffff;
  const auto device = static_cast<uint32_t>(work.source->device);
  UnifiedRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
  record.counterKind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(work.value);
  record.value = work.bytes;
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.address = work.address;
  const bool to_device =
      work.value == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
  record.srcId = to_device ? kHost : device;
  record.dstId = to_device ? device : kHost;
  record.processId = static_cast<uint32_t>(getpid());
  record.flags = work.copy_kind;
  put(record);
}

void putJit(const StandinWork& work) {
  if (!on(CUPTI_ACTIVITY_KIND_JIT)) return;
  static std::atomic<uint64_t> operations{0};
  JitRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_JIT;
  record.jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN;
  record.jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_COMPILE;
  record.deviceId = static_cast<uint32_t>(work.call->context->device);
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.correlationId = work.call->correlation;
  record.jitOperationCorrelationId = ++operations;
#if CUDA_VERSION >= 12040
  record.processId = static_cast<uint32_t>(getpid());
  record.threadId = static_cast<uint32_t>(gettid());
#endif
  put(record);
}

void putExternal(uint32_t correlation) {
  if (!on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) return;
  for (size_t client = 0; client < kStandinSubscribers; ++client) {
    for (int kind = 1; kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; ++kind) {
      if (external[client][kind].empty()) continue;
      CUpti_ActivityExternalCorrelation record{};
      record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
      record.externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind);
      record.externalId = external[client][kind].back();
      record.correlationId = correlation;
      put(state().clients[client], record);
    }
  }
}

CUptiResult pushExternal(const Client& client, CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (!isKind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  external[&client - state().clients][kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult popExternal(const Client& client, CUpti_ExternalCorrelationKind kind, uint64_t* last) {
  if (!isKind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  auto& ids = external[&client - state().clients][kind];
  if (ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last != nullptr) *last = ids.back();
  ids.pop_back();
  return CUPTI_SUCCESS;
}

}  // namespace standin

using namespace standin;

extern "C" {

// Not before cuInit has returned, and before the kind is enabled.
CUptiResult CUPTIAPI cuptiActivityConfigureUnifiedMemoryCounter(
    CUpti_ActivityUnifiedMemoryCounterConfig* config, uint32_t count) {
  if (config == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto initialized =
      reinterpret_cast<decltype(&standinIsInitialized)>(driverSymbol("standinIsInitialized"));
  if (initialized == nullptr || !initialized()) return CUPTI_ERROR_NOT_INITIALIZED;
  if (standinScript("no_unified_memory", 0) != 0) return CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED;
  if (on(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)) {
    misuse("unified memory counters are configured after their kind is enabled");
  }
  State& s = state();
  const std::lock_guard lock(s.mutex);
  for (uint32_t i = 0; i < count; ++i) {
    if (config[i].kind <= 0 || config[i].kind >= CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT ||
        config[i].scope <= 0 ||
        config[i].scope >= CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_COUNT) {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    std::erase(s.unified_counters, static_cast<uint32_t>(config[i].kind));
    if (config[i].enable != 0) s.unified_counters.push_back(config[i].kind);
  }
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                            uint64_t id) {
  return pushExternal(first(), kind, id);
}

CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                           uint64_t* last) {
  return popExternal(first(), kind, last);
}

}  // extern "C"
