// SPDX-License-Identifier: Apache-2.0
// How the CUDA agent classifies function names and reads parameters from CUPTI.
// tests/cuda/standin/standin_calls_test.cpp covers all names of the vendor's headers.
#include "tracesmith/capture/agents/cuda/captured_calls.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tracesmith/capture/agents/cuda/virtual_memory.hpp"

namespace tracesmith::agent::cupti {
namespace {

using arena::VirtualMemoryCall;

TEST(CapturedCalls, AreClassifiedByTheirNames) {
  constexpr struct {
    CallKind kind;
    const char* name;
  } kCalls[] = {
      {CallKind::kLaunch, "cuLaunch"},
      {CallKind::kLaunch, "cuLaunchGridAsync"},
      {CallKind::kLaunch, "cuLaunchKernel"},
      {CallKind::kLaunch, "cuLaunchKernel_ptsz"},
      {CallKind::kLaunch, "cuLaunchKernelEx"},
      {CallKind::kLaunch, "cuLaunchKernelEx_ptsz"},
      {CallKind::kLaunch, "cuLaunchCooperativeKernelMultiDevice"},
      {CallKind::kLaunch, "cuGraphLaunch_ptsz"},
      {CallKind::kLaunch, "cudaLaunch_v3020"},
      {CallKind::kLaunch, "cudaLaunchKernel_ptsz_v7000"},
      {CallKind::kLaunch, "cudaLaunchKernelExC_v11060"},
      {CallKind::kLaunch, "cudaLaunchCooperativeKernel_v9000"},
      {CallKind::kLaunch, "cudaGraphLaunch_v10000"},
      {CallKind::kLaunch, "__cudaLaunchKernel_v13000"},
      {CallKind::kLaunch, "__cudaLaunchKernel_ptsz_v13000"},
      {CallKind::kLaunch, "__cudaLaunchKernel_ptsz"},
      {CallKind::kOther, "cuLaunchHostFunc"},
      {CallKind::kOther, "cudaLaunchHostFunc_v2_ptsz_v13020"},
      {CallKind::kOther, "cudaLaunchHostFunc_v2"},
      {CallKind::kOther, "__cudaPushCallConfiguration_v7000"},
      {CallKind::kOther, "__cudaRegisterFunction_v13000"},
      {CallKind::kOther, "cuGraphAddKernelNode"},
      {CallKind::kOther, "cuGraphExecKernelNodeSetParams"},
      {CallKind::kOther, "cudaGraphAddMemcpyNode_v10000"},
      {CallKind::kCopy, "cuMemcpyHtoDAsync_v2"},
      {CallKind::kCopy, "cudaMemcpyAsync_ptsz_v7000"},
      {CallKind::kCopy, "cuMemcpyBatchAsync_v2"},
      {CallKind::kCopy, "cudaMemcpy3DPeerAsync_v4000"},
      {CallKind::kCopy, "cudaMemcpyToSymbol_v3020"},
      {CallKind::kCopy, "cuMemPrefetchAsync_v2_ptsz"},
      {CallKind::kFill, "cuMemsetD8Async"},
      {CallKind::kFill, "cudaMemset2D_v3020"},
      {CallKind::kSync, "cuCtxSynchronize"},
      {CallKind::kSync, "cudaDeviceSynchronize_v3020"},
      {CallKind::kSync, "cuStreamWaitEvent_ptsz"},
      {CallKind::kSync, "cuEventRecordWithFlags"},
      {CallKind::kSync, "cuStreamWaitValue32"},
      {CallKind::kSync, "cuStreamWaitValue64_v2"},
      {CallKind::kSync, "cuStreamWriteValue64_v2_ptsz"},
      {CallKind::kSync, "cuStreamBatchMemOp_v2"},
      {CallKind::kOther, "cuGraphAddBatchMemOpNode"},
      {CallKind::kMemory, "cuMemAlloc_v2"},
      {CallKind::kMemory, "cudaMalloc_v3020"},
      {CallKind::kMemory, "cudaMallocAsync_ptsz_v11020"},
      {CallKind::kMemory, "cuMemFreeAsync"},
      {CallKind::kMemory, "cudaFree_v3020"},
      {CallKind::kMemory, "cuMemHostAlloc"},
      {CallKind::kMemory, "cuMemPoolTrimTo"},
      {CallKind::kMemory, "cuMemAddressReserve"},
      {CallKind::kMemory, "cuMemAddressFree"},
      {CallKind::kMemory, "cuMemCreate"},
      {CallKind::kMemory, "cuMemRelease"},
      {CallKind::kMemory, "cuMemMap"},
      {CallKind::kMemory, "cuMemMapArrayAsync"},
      {CallKind::kMemory, "cuMemUnmap"},
      {CallKind::kMemory, "cuMemSetAccess"},
      {CallKind::kMemory, "cuMemRetainAllocationHandle"},
      {CallKind::kMemory, "cuMemImportFromShareableHandle"},
      {CallKind::kMemory, "cuMulticastCreate"},
      {CallKind::kOther, "cuMemGetAllocationGranularity"},
      {CallKind::kOther, "cuMemGetInfo_v2"},
      {CallKind::kBuild, "cuModuleLoadData"},
      {CallKind::kBuild, "cuLibraryUnload"},
      {CallKind::kOther, "cuCtxGetCurrent"},
      {CallKind::kOther, "nvtxRangePushA"},
      {CallKind::kOther, ""},
  };
  for (const auto& call : kCalls) {
    EXPECT_EQ(toString(kindOfCall(call.name)), toString(call.kind)) << call.name;
  }
}

TEST(CapturedCalls, OnlyExactNamesAreOfVirtualMemory) {
  EXPECT_EQ(virtualMemoryOperation("cuMemMap"), VirtualMemoryCall::kMap);
  EXPECT_EQ(virtualMemoryOperation("cuMulticastCreate"), VirtualMemoryCall::kImport);
  for (const char* other : {"cuMemMapArrayAsync", "cuMemMapArrayAsync_ptsz", "cuMemSetAccess",
                            "cuMemAddressReserve", "cuMem", "cudaMalloc_v3020", ""}) {
    EXPECT_EQ(virtualMemoryOperation(other), VirtualMemoryCall::kNone) << other;
  }
}

arena::CudaVirtualMemoryRecord read(VirtualMemoryCall operation, const void* parameters) {
  arena::CudaVirtualMemoryRecord r{};
  readVirtualMemory(operation, parameters, r);
  return r;
}

TEST(CapturedCalls, ParametersOfVirtualMemoryAreRead) {
  const uint64_t handle = 16;
  AllocationProperties how{.type = 1, .handle_types = 0, .location = {kLocationDevice, {.id = 3}}};
  const MemCreateParams created{&handle, 4096, &how};
  auto r = read(VirtualMemoryCall::kCreate, &created);
  EXPECT_EQ(r.handle, 16u);
  EXPECT_EQ(r.bytes, 4096u);
  EXPECT_EQ(r.device, 3u);
  const MemMapParams mapped{0x7000, 4096, 512, 16};
  r = read(VirtualMemoryCall::kMap, &mapped);
  EXPECT_EQ(r.address, 0x7000u);
  EXPECT_EQ(r.bytes, 4096u);
  EXPECT_EQ(r.offset, 512u);
  EXPECT_EQ(r.handle, 16u);
  const MemUnmapParams unmapped{0x7000, 8192};
  r = read(VirtualMemoryCall::kUnmap, &unmapped);
  EXPECT_EQ(r.address, 0x7000u);
  EXPECT_EQ(r.bytes, 8192u);
  const MemReleaseParams released{16};
  EXPECT_EQ(read(VirtualMemoryCall::kRelease, &released).handle, 16u);
  const MemRetainParams retained{&handle, 0x7100};
  r = read(VirtualMemoryCall::kRetain, &retained);
  EXPECT_EQ(r.handle, 16u);
  EXPECT_EQ(r.address, 0x7100u);
  const MemImportParams imported{&handle};
  EXPECT_EQ(read(VirtualMemoryCall::kImport, &imported).handle, 16u);
}

TEST(CapturedCalls, OnlyMemoryOfADeviceHasOne) {
  AllocationProperties how{};
  for (const int32_t host : {0, 2, 3, 4, 5}) {
    how.location.type = host;
    how.location.id = 1;
    EXPECT_EQ(deviceOf(&how), arena::kNoDevice) << host;
  }
  EXPECT_EQ(deviceOf(nullptr), arena::kNoDevice);
  how.location.type = kLocationLocalityDomain;
  how.location.id = 0x0502;  // domain 5 of device 2
  EXPECT_EQ(deviceOf(&how), 2u);
}

}  // namespace
}  // namespace tracesmith::agent::cupti
