// SPDX-License-Identifier: Apache-2.0
// The memory of the stand-in for libcuda, which is the host's: allocations, pools, and unified
// memory, which moves when a kernel is launched, when it is prefetched, and when standinTouch()
// says that the host reads it.
#include <algorithm>

#include "standin_cuda.hpp"

namespace standin {
namespace {

constexpr uint64_t kPoolChunk = uint64_t{32} << 20;

// The allocation that holds this address. The caller has the lock.
std::map<uint64_t, Memory>::iterator find(uint64_t address) {
  auto& all = driver().memory;
  auto at = all.upper_bound(address);
  if (at == all.begin()) return all.end();
  --at;
  return address - at->first < at->second.bytes ? at : all.end();
}

void tell(const Call& call, uint64_t address, const Memory& memory, CUstream stream,
          CUpti_ActivityMemoryOperationType operation) {
  StandinWork work{};
  work.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  work.stream = stream;
  work.bytes = memory.bytes;
  work.value = operation;
  work.address = address;
  work.memory_kind = memory.kind;
  work.async = stream != nullptr;
  work.start_ns = standinNow();
  work.has_pool = memory.pool != nullptr;
  if (work.has_pool) work.pool = *memory.pool;
  call.work(work);
}

void tell(const Call& call, const CUmemPoolHandle_st& pool, uint64_t kept_bytes,
          CUpti_ActivityMemoryPoolOperationType operation) {
  StandinWork work{};
  work.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  work.value = operation;
  work.bytes = kept_bytes;
  work.start_ns = standinNow();
  work.pool = pool;
  call.work(work);
}

CUresult allocate(const Call& call, CUpti_ActivityMemoryKind kind, size_t bytes, CUstream stream,
                  CUmemoryPool pool, void** memory) {
  if (bytes == 0 || memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (posix_memalign(memory, 512, bytes) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto address = reinterpret_cast<uint64_t>(*memory);
  const Memory made{bytes, kind, current_context, pool, false};
  {
    const std::lock_guard lock(driver().mutex);
    driver().memory[address] = made;
    if (pool != nullptr) {
      pool->used += bytes;
      while (pool->size < pool->used) pool->size += kPoolChunk;
    }
  }
  tell(call, address, made, stream, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
  return CUDA_SUCCESS;
}

CUresult release(const Call& call, uint64_t address, CUstream stream) {
  if (address == 0) return CUDA_SUCCESS;
  Memory gone{};
  {
    const std::lock_guard lock(driver().mutex);
    const auto at = driver().memory.find(address);
    if (at == driver().memory.end()) return CUDA_ERROR_INVALID_VALUE;
    gone = at->second;
    driver().memory.erase(at);
    if (gone.pool != nullptr) gone.pool->used -= gone.bytes;
  }
  tell(call, address, gone, stream, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}

CUmemoryPool createPool(const Call& call, CUdevice device) {
  auto* pool = new CUmemPoolHandle_st{};
  pool->device = device;
  {
    const std::lock_guard lock(driver().mutex);
    pool->address = uint64_t{0x7000'0000'0000} + (++driver().pools << 36);
  }
  tell(call, *pool, 0, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
  return pool;
}

CUmemoryPool defaultPool(const Call& call, CUdevice device) {
  static std::mutex& creating = *new std::mutex;
  const std::lock_guard lock(creating);
  CUmemoryPool& pool = driver().default_pools[static_cast<size_t>(device)];
  if (pool == nullptr) pool = createPool(call, device);
  return pool;
}

// Tells of a counter of unified memory.
void count(const Call& call, CUpti_ActivityUnifiedMemoryCounterKind counter, uint64_t address,
           uint64_t value, CUcontext context, CUstream stream, uint32_t cause) {
  StandinWork work{};
  work.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
  work.value = counter;
  work.address = address;
  work.bytes = value;
  work.source = context;
  work.stream = stream;
  work.copy_kind = static_cast<uint8_t>(cause);
  work.start_ns = standinNow();
  work.end_ns = work.start_ns + 2000;
  call.work(work);
}

void move(const Call& call, uint64_t address, const Memory& memory, bool to_device,
          CUpti_ActivityUnifiedMemoryMigrationCause cause) {
  {
    const std::lock_guard lock(driver().mutex);
    const auto at = driver().memory.find(address);
    if (at == driver().memory.end() || at->second.is_on_device == to_device) return;
    at->second.is_on_device = to_device;
  }
  count(call,
        to_device ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD
                  : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
        address, memory.bytes, memory.context, nullptr, cause);
}

CUresult prefetch(Call& call, CUdeviceptr address, bool to_device) {
  CHECK_STATE();
  Memory memory{};
  {
    const std::lock_guard lock(driver().mutex);
    const auto at = find(address);
    if (at == driver().memory.end() || at->second.kind != CUPTI_ACTIVITY_MEMORY_KIND_MANAGED) {
      return call.end(CUDA_ERROR_INVALID_VALUE);
    }
    address = at->first;
    memory = at->second;
  }
  move(call, address, memory, to_device, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH);
  return call.end(CUDA_SUCCESS);
}

}  // namespace

CUpti_ActivityMemoryKind memoryKind(const void* address) {
  const std::lock_guard lock(driver().mutex);
  const auto at = find(reinterpret_cast<uint64_t>(address));
  return at != driver().memory.end() ? at->second.kind : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
}

void bringUnifiedMemory(const Call& call, CUstream stream) {
  std::vector<std::pair<uint64_t, Memory>> all;
  {
    const std::lock_guard lock(driver().mutex);
    for (const auto& [address, memory] : driver().memory) {
      const bool moves = memory.kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED &&
                         memory.context == stream->context && !memory.is_on_device;
      if (moves) all.emplace_back(address, memory);
    }
  }
  for (const auto& [address, memory] : all) {
    count(call, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, address, 1,
          memory.context, stream, CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE);
    move(call, address, memory, true, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE);
  }
}

}  // namespace standin

using namespace standin;

extern "C" {

// The host reads unified memory: a fault, and it comes, if it was with a device.
void standinTouch(CUdeviceptr address) {
  Memory memory{};
  {
    const std::lock_guard lock(driver().mutex);
    const auto at = find(address);
    if (at == driver().memory.end() || !at->second.is_on_device) return;
    address = at->first;
    memory = at->second;
  }
  // The kernel tells the driver, which is in no call then.
  const Call call;
  count(call, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT, address,
        reinterpret_cast<uint64_t>(__builtin_return_address(0)), memory.context, nullptr, 0);
  move(call, address, memory, false, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE);
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* pointer, size_t bytes) {
  CALL(cuMemAlloc_v2, pointer, bytes);
  CHECK_STATE();
  return call.end(allocate(call, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, bytes, nullptr, nullptr,
                           reinterpret_cast<void**>(pointer)));
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned flags) {
  CALL(cuMemAllocManaged, pointer, bytes, flags);
  CHECK_STATE();
  return call.end(allocate(call, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, bytes, nullptr, nullptr,
                           reinterpret_cast<void**>(pointer)));
}

CUresult CUDAAPI cuMemAllocHost(void** pointer, size_t bytes) {
  CALL(cuMemAllocHost_v2, pointer, bytes);
  CHECK_STATE();
  return call.end(
      allocate(call, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, bytes, nullptr, nullptr, pointer));
}

CUresult CUDAAPI cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  CALL(cuMemHostAlloc, pointer, bytes, flags);
  CHECK_STATE();
  return call.end(
      allocate(call, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, bytes, nullptr, nullptr, pointer));
}

CUresult CUDAAPI cuMemFree(CUdeviceptr pointer) {
  CALL(cuMemFree_v2, pointer);
  CHECK_STATE();
  waitUntil(readyNs(current_context));
  return call.end(release(call, pointer, nullptr));
}

CUresult CUDAAPI cuMemFreeHost(void* pointer) {
  CALL(cuMemFreeHost, pointer);
  CHECK_STATE();
  waitUntil(readyNs(current_context));
  return call.end(release(call, reinterpret_cast<uint64_t>(pointer), nullptr));
}

CUresult CUDAAPI cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  CALL(cuMemGetInfo_v2, free_bytes, total_bytes);
  CHECK_STATE();
  *total_bytes = kStandinMemoryBytes;
  *free_bytes = *total_bytes - physicalBytes(current_context->device);
  const std::lock_guard lock(driver().mutex);
  for (const auto& [address, memory] : driver().memory) *free_bytes -= memory.bytes;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  CALL(cuDeviceGetDefaultMemPool, pool, device);
  CHECK_STATE(false);
  if (device < 0 || device >= standinDevices()) return call.end(CUDA_ERROR_INVALID_DEVICE);
  *pool = defaultPool(call, device);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  CALL(cuMemPoolCreate, pool, properties);
  CHECK_STATE(false);
  *pool = createPool(call, properties->location.id);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t kept_bytes) {
  CALL(cuMemPoolTrimTo, pool, kept_bytes);
  CHECK_STATE(false);
  pool->size = std::max<uint64_t>(pool->used, kept_bytes);
  tell(call, *pool, kept_bytes, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
  return call.end(CUDA_SUCCESS);
}

// Pools stay, for memory may still be theirs.
CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool) {
  CALL(cuMemPoolDestroy, pool);
  CHECK_STATE(false);
  tell(call, *pool, 0, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  CALL(cuMemAllocAsync, pointer, bytes, stream);
  CHECK_STATE();
  return call.end(allocate(call, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, bytes, streamOf(stream),
                           defaultPool(call, current_context->device),
                           reinterpret_cast<void**>(pointer)));
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool,
                                         CUstream stream) {
  CALL(cuMemAllocFromPoolAsync, pointer, bytes, pool, stream);
  CHECK_STATE();
  return call.end(allocate(call, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, bytes, streamOf(stream), pool,
                           reinterpret_cast<void**>(pointer)));
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  CALL(cuMemFreeAsync, pointer, stream);
  CHECK_STATE();
  return call.end(release(call, pointer, streamOf(stream)));
}

#if CUDA_VERSION >= 12020
#undef cuMemPrefetchAsync_v2
CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr pointer, size_t bytes, CUmemLocation location,
                                       unsigned flags, CUstream stream) {
  CALL(cuMemPrefetchAsync_v2, pointer, bytes, location, flags, stream);
  return prefetch(call, pointer, location.type == CU_MEM_LOCATION_TYPE_DEVICE);
}
#endif
#if CUDA_VERSION < 13000
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr pointer, size_t bytes, CUdevice device,
                                    CUstream stream) {
  CALL(cuMemPrefetchAsync, pointer, bytes, device, stream);
  return prefetch(call, pointer, device != CU_DEVICE_CPU);
}
#endif

}  // extern "C"
