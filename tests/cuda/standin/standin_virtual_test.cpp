// SPDX-License-Identifier: Apache-2.0
// Virtual memory of the stand-in for libcuda: what may be done with it, and what a client hears.
#include "standin_client.hpp"

namespace {

constexpr size_t kChunk = size_t{2} << 20;

CUmemAllocationProp onDevice(int device) {
  CUmemAllocationProp how{};
  how.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  how.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  how.location.id = device;
  return how;
}

CUmemGenericAllocationHandle create(size_t bytes) {
  const CUmemAllocationProp how = onDevice(0);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, bytes, &how, 0), CUDA_SUCCESS);
  return handle;
}

size_t used() {
  size_t available = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo(&available, &total), CUDA_SUCCESS);
  return total - available;
}

void access(CUdeviceptr address, size_t bytes) {
  CUmemAccessDesc who{};
  who.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  who.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  EXPECT_EQ(cuMemSetAccess(address, bytes, &who, 1), CUDA_SUCCESS);
}

TEST(StandinVirtual, MemoryStaysWhileAHandleOrAMappingRefersToIt) {
  alone("", [] {
    start({});
    CUdeviceptr begin = 0;
    ASSERT_EQ(cuMemAddressReserve(&begin, 4 * kChunk, 0, 0, 0), CUDA_SUCCESS);
    const CUmemGenericAllocationHandle handle = create(2 * kChunk);
    EXPECT_EQ(used(), 2 * kChunk);
    EXPECT_EQ(cuMemMap(begin, 2 * kChunk, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(begin + 2 * kChunk, kChunk, kChunk, handle, 0), CUDA_SUCCESS);
    access(begin, 3 * kChunk);
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    // The second mapping is of the second half.
    auto* const bytes = reinterpret_cast<volatile char*>(begin);
    bytes[kChunk + 5] = 42;
    EXPECT_EQ(bytes[2 * kChunk + 5], 42);
    EXPECT_EQ(cuMemUnmap(begin, 2 * kChunk), CUDA_SUCCESS);
    EXPECT_EQ(used(), 2 * kChunk);
    EXPECT_EQ(bytes[2 * kChunk + 5], 42);
    CUmemGenericAllocationHandle again = 0;
    EXPECT_EQ(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(begin)),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(begin + 3 * kChunk - 1)),
              CUDA_SUCCESS);
    EXPECT_EQ(again, handle);
    EXPECT_EQ(cuMemUnmap(begin + 2 * kChunk, kChunk), CUDA_SUCCESS);
    EXPECT_EQ(used(), 2 * kChunk);
    EXPECT_EQ(cuMemRelease(again), CUDA_SUCCESS);
    EXPECT_EQ(used(), 0u);
    EXPECT_EQ(create(kChunk), handle);  // handles come again
    EXPECT_EQ(cuMemAddressFree(begin, 4 * kChunk), CUDA_SUCCESS);
  });
}

TEST(StandinVirtual, MappingsAreUnmappedWhole) {
  alone("", [] {
    start({});
    CUdeviceptr begin = 0;
    ASSERT_EQ(cuMemAddressReserve(&begin, 4 * kChunk, 0, 0, 0), CUDA_SUCCESS);
    const CUmemGenericAllocationHandle one = create(2 * kChunk), two = create(kChunk);
    EXPECT_EQ(cuMemMap(begin, 2 * kChunk, 0, one, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(begin + kChunk, kChunk, 0, two, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemMap(begin + 4 * kChunk, kChunk, 0, two, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemMap(begin + 2 * kChunk, 2 * kChunk, 0, two, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemMap(begin + 2 * kChunk, kChunk, 0, two, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemUnmap(begin, kChunk), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemUnmap(begin + kChunk, kChunk), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemUnmap(begin, 4 * kChunk), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemAddressFree(begin, 4 * kChunk), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemUnmap(begin, 3 * kChunk), CUDA_SUCCESS);
    EXPECT_EQ(used(), 3 * kChunk);
    EXPECT_EQ(cuMemRelease(one), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(two), CUDA_SUCCESS);
    EXPECT_EQ(used(), 0u);
    const CUmemAllocationProp elsewhere = onDevice(1);
    CUmemGenericAllocationHandle none = 0;
    EXPECT_EQ(cuMemCreate(&none, kChunk, &elsewhere, 0), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cuMemAddressFree(begin, 4 * kChunk), CUDA_SUCCESS);
  });
}

// The client that looks at the parameters of one function.
template <class Params, CUpti_CallbackId Id>
std::vector<Params>& seen() {
  static std::vector<Params> all;
  return all;
}

void lookAtParameters(void*, CUpti_CallbackDomain, CUpti_CallbackId id, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite != CUPTI_API_EXIT) return;
  if (id == CUPTI_DRIVER_TRACE_CBID_cuMemMap) {
    seen<cuMemMap_params, CUPTI_DRIVER_TRACE_CBID_cuMemMap>().push_back(
        *static_cast<const cuMemMap_params*>(call.functionParams));
  } else if (id == CUPTI_DRIVER_TRACE_CBID_cuMemCreate) {
    auto params = *static_cast<const cuMemCreate_params*>(call.functionParams);
    EXPECT_NE(*params.handle, 0u);  // at the exit it is there
    seen<cuMemCreate_params, CUPTI_DRIVER_TRACE_CBID_cuMemCreate>().push_back(params);
  }
}

TEST(StandinVirtual, CallbacksShowTheParameters) {
  alone("", [] {
    ASSERT_EQ(cuptiSubscribe(&client.subscriber, lookAtParameters, nullptr), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiEnableDomain(1, client.subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
    startProgram();
    CUdeviceptr begin = 0;
    ASSERT_EQ(cuMemAddressReserve(&begin, 2 * kChunk, 0, 0, 0), CUDA_SUCCESS);
    const CUmemGenericAllocationHandle handle = create(2 * kChunk);
    EXPECT_EQ(cuMemMap(begin, kChunk, kChunk, handle, 0), CUDA_SUCCESS);
    const auto& created = seen<cuMemCreate_params, CUPTI_DRIVER_TRACE_CBID_cuMemCreate>();
    const auto& mapped = seen<cuMemMap_params, CUPTI_DRIVER_TRACE_CBID_cuMemMap>();
    ASSERT_EQ(created.size(), 1u);
    EXPECT_EQ(created[0].size, 2 * kChunk);
    ASSERT_EQ(mapped.size(), 1u);
    EXPECT_EQ(mapped[0].ptr, begin);
    EXPECT_EQ(mapped[0].size, kChunk);
    EXPECT_EQ(mapped[0].offset, kChunk);
    EXPECT_EQ(mapped[0].handle, handle);
  });
}

TEST(StandinVirtual, RecordsOfMemoryAreForTheScriptToSay) {
  for (const char* script : {"", "virtual_records=1"}) {
    alone(script, [] {
      const size_t expected = standinScript("virtual_records", 0) != 0 ? 2 : 0;
      start({CUPTI_ACTIVITY_KIND_MEMORY2});
      EXPECT_EQ(cuMemRelease(create(kChunk)), CUDA_SUCCESS);
      drain();
      const auto all = records<MemoryRecord>(CUPTI_ACTIVITY_KIND_MEMORY2);
      ASSERT_EQ(all.size(), expected);
      for (const MemoryRecord& record : all) EXPECT_EQ(record.bytes, kChunk);
    });
  }
}

}  // namespace
