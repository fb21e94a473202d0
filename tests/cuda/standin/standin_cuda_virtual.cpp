// SPDX-License-Identifier: Apache-2.0
// Virtual memory of the stand-in for libcuda: physical memory is a memfd, which is mapped into
// ranges that are reserved with PROT_NONE, so that programs can read and write it.
#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "standin_cuda.hpp"

namespace standin {
namespace {

constexpr size_t kGranularity = size_t{2} << 20;
constexpr uint64_t kFirstHandle = 0x5500'0000'0000, kHandleStep = 0x100;

struct Physical {
  size_t bytes;
  int file;
  CUdevice device;  // -1: memory of the host
  bool is_imported;
  uint64_t references, mappings;
};

struct Mapping {
  size_t bytes;
  uint64_t handle;
};

struct VirtualMemory {
  std::mutex mutex;
  std::map<uint64_t, Physical> physical;  // by handle
  std::map<uint64_t, Mapping> mappings;   // by address
  std::map<uint64_t, size_t> reserved;    // by address
  // Whether CUPTI has records of memory for these calls. The vendor does not say.
  const bool has_records = standinScript("virtual_records", 0) != 0;
};

VirtualMemory& memory() {
  static VirtualMemory& only = *new VirtualMemory;
  return only;
}

// The lowest handle that is free: handles come again as soon as they can.
uint64_t freeHandle() {
  uint64_t handle = kFirstHandle;
  for (const auto& [used, physical] : memory().physical) {
    if (used != handle) break;
    handle += kHandleStep;
  }
  return handle;
}

void tell(const Call& call, uint64_t handle, size_t bytes,
          CUpti_ActivityMemoryOperationType operation) {
  if (!memory().has_records) return;
  StandinWork work{};
  work.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  work.bytes = bytes;
  work.value = operation;
  work.address = handle;
  work.memory_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  work.start_ns = standinNow();
  call.work(work);
}

// Frees memory that nothing refers to any more. The caller has the lock.
void freeUnused(const Call& call, std::map<uint64_t, Physical>::iterator at) {
  const Physical& gone = at->second;
  if (gone.references != 0 || gone.mappings != 0) return;
  if (!gone.is_imported) {
    tell(call, at->first, gone.bytes, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  }
  close(gone.file);
  memory().physical.erase(at);
}

// The reservation that holds all of the range. The caller has the lock.
bool isReserved(uint64_t address, size_t bytes) {
  auto& all = memory().reserved;
  auto at = all.upper_bound(address);
  if (at == all.begin()) return false;
  --at;
  return address - at->first <= at->second && bytes <= at->second - (address - at->first);
}

// The mappings that make up the range without a gap; none if one sticks out. The caller has the
// lock.
std::vector<uint64_t> mappingsOf(uint64_t address, size_t bytes) {
  std::vector<uint64_t> found;
  uint64_t next = address;
  for (auto at = memory().mappings.find(address);
       at != memory().mappings.end() && at->first == next && next < address + bytes; ++at) {
    found.push_back(at->first);
    next += at->second.bytes;
  }
  if (next != address + bytes) found.clear();
  return found;
}

// What a call does with the lock; it ends without, so that calls of several threads overlap.
template <class Do>
CUresult locked(Call& call, Do&& act) {
  CUresult result = CUDA_SUCCESS;
  {
    const std::lock_guard lock(memory().mutex);
    result = act();
  }
  return call.end(result);
}

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

uint64_t physicalBytes(CUdevice device) {
  const std::lock_guard lock(memory().mutex);
  uint64_t bytes = 0;
  for (const auto& [handle, physical] : memory().physical) {
    if (physical.device == device && !physical.is_imported) bytes += physical.bytes;
  }
  return bytes;
}

}  // namespace standin

using namespace standin;

extern "C" {

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t* granularity,
                                               const CUmemAllocationProp* properties,
                                               CUmemAllocationGranularity_flags option) {
  CALL(cuMemGetAllocationGranularity, granularity, properties, option);
  CHECK_STATE(false);
  *granularity = kGranularity;
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment,
                                     CUdeviceptr wanted, unsigned long long flags) {
  CALL(cuMemAddressReserve, address, bytes, alignment, wanted, flags);
  CHECK_STATE(false);
  if (bytes == 0 || bytes % kGranularity != 0) return call.end(CUDA_ERROR_INVALID_VALUE);
  // What is too much for the alignment is given back.
  void* const all = mmap(nullptr, bytes + kGranularity, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return call.end(CUDA_ERROR_OUT_OF_MEMORY);
  const auto begin = reinterpret_cast<uint64_t>(all);
  const uint64_t aligned = (begin + kGranularity - 1) & ~(kGranularity - 1);
  if (aligned != begin) munmap(all, aligned - begin);
  const uint64_t rest = begin + kGranularity - aligned;
  if (rest != 0) munmap(pointer(aligned + bytes), rest);
  return locked(call, [&] {
    memory().reserved[aligned] = bytes;
    *address = aligned;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  CALL(cuMemAddressFree, address, bytes);
  CHECK_STATE(false);
  return locked(call, [&] {
    const auto at = memory().reserved.find(address);
    const auto mapped = memory().mappings.lower_bound(address);
    const bool is_mapped = mapped != memory().mappings.end() && mapped->first < address + bytes;
    if (at == memory().reserved.end() || at->second != bytes || is_mapped) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    munmap(pointer(address), bytes);
    memory().reserved.erase(at);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                             const CUmemAllocationProp* properties, unsigned long long flags) {
  CALL(cuMemCreate, handle, bytes, properties, flags);
  CHECK_STATE(false);
  const bool on_device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const bool exists = properties->location.id >= 0 && properties->location.id < standinDevices();
  if (bytes == 0 || bytes % kGranularity != 0) return call.end(CUDA_ERROR_INVALID_VALUE);
  if (on_device && !exists) return call.end(CUDA_ERROR_INVALID_DEVICE);
  const int file = memfd_create("physical memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    return call.end(CUDA_ERROR_OUT_OF_MEMORY);
  }
  return locked(call, [&] {
    *handle = freeHandle();
    memory().physical[*handle] = {bytes, file, on_device ? properties->location.id : -1,
                                  false, 1,    0};
    tell(call, *handle, bytes, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
  CALL(cuMemRelease, handle);
  CHECK_STATE(false);
  return locked(call, [&] {
    const auto at = memory().physical.find(handle);
    if (at == memory().physical.end() || at->second.references == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    --at->second.references;
    freeUnused(call, at);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags) {
  CALL(cuMemMap, address, bytes, offset, handle, flags);
  CHECK_STATE(false);
  return locked(call, [&] {
    const auto at = memory().physical.find(handle);
    const auto next = memory().mappings.lower_bound(address);
    const bool is_taken = (next != memory().mappings.end() && next->first < address + bytes) ||
                          (next != memory().mappings.begin() &&
                           std::prev(next)->first + std::prev(next)->second.bytes > address);
    if (at == memory().physical.end() || at->second.references == 0 || bytes == 0 ||
        bytes % kGranularity != 0 || offset > at->second.bytes ||
        bytes > at->second.bytes - offset || !isReserved(address, bytes) || is_taken) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // Nobody has access yet.
    if (mmap(pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, at->second.file,
             static_cast<off_t>(offset)) == MAP_FAILED) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memory().mappings[address] = {bytes, handle};
    ++at->second.mappings;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* who,
                                size_t count) {
  CALL(cuMemSetAccess, address, bytes, who, count);
  CHECK_STATE(false);
  return locked(call, [&] {
    if (mappingsOf(address, bytes).empty()) return CUDA_ERROR_INVALID_VALUE;
    const bool writes = std::any_of(who, who + count, [](const CUmemAccessDesc& access) {
      return access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    });
    mprotect(pointer(address), bytes, writes ? PROT_READ | PROT_WRITE : PROT_READ);
    return CUDA_SUCCESS;
  });
}

// Whole mappings, of which there may be several beside each other.
CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t bytes) {
  CALL(cuMemUnmap, address, bytes);
  CHECK_STATE(false);
  return locked(call, [&] {
    const std::vector<uint64_t> gone = mappingsOf(address, bytes);
    if (gone.empty()) return CUDA_ERROR_INVALID_VALUE;
    mmap(pointer(address), bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    for (const uint64_t at : gone) {
      const auto physical = memory().physical.find(memory().mappings.at(at).handle);
      memory().mappings.erase(at);
      --physical->second.mappings;
      freeUnused(call, physical);
    }
    return CUDA_SUCCESS;
  });
}

// The handle that the memory was mapped with, which may have been released since.
CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  CALL(cuMemRetainAllocationHandle, handle, address);
  CHECK_STATE(false);
  return locked(call, [&] {
    const auto at = reinterpret_cast<uint64_t>(address);
    const auto next = memory().mappings.upper_bound(at);
    if (next == memory().mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
    const auto& [begin, mapping] = *std::prev(next);
    if (at - begin >= mapping.bytes) return CUDA_ERROR_INVALID_VALUE;
    *handle = mapping.handle;
    ++memory().physical.at(mapping.handle).references;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType type,
                                              unsigned long long flags) {
  CALL(cuMemExportToShareableHandle, shareable, handle, type, flags);
  CHECK_STATE(false);
  return locked(call, [&] {
    const auto at = memory().physical.find(handle);
    if (at == memory().physical.end() || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *static_cast<int*>(shareable) = dup(at->second.file);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                                void* shareable, CUmemAllocationHandleType type) {
  CALL(cuMemImportFromShareableHandle, handle, shareable, type);
  CHECK_STATE(false);
  const int file = dup(static_cast<int>(reinterpret_cast<intptr_t>(shareable)));
  const off_t bytes = file < 0 ? -1 : lseek(file, 0, SEEK_END);
  if (bytes <= 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return call.end(CUDA_ERROR_INVALID_VALUE);
  }
  return locked(call, [&] {
    *handle = freeHandle();
    memory().physical[*handle] = {static_cast<size_t>(bytes), file, 0, true, 1, 0};
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
