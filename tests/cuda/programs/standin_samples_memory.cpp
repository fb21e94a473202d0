// SPDX-License-Identifier: Apache-2.0
// The stand-ins of the samples about memory, and of the one that loads PTX.
#include <algorithm>
#include <utility>

#include "standin.hpp"
#include "standin_samples.hpp"

namespace samples {

void memoryPhases() {
  start();
  const struct {
    const char* name;
    std::vector<size_t> megabytes;
  } phases[] = {{"parameters", {1, 2, 4, 8, 16}},
                {"activations", {2, 4, 6, 8, 10, 12, 14, 16}},
                {"gradients", {1, 2, 4, 8, 16}},
                {"workspace", {32, 32, 32}}};
  std::vector<std::pair<CUdeviceptr, size_t>> to_free;
  std::string said;
  for (const auto& phase : phases) {
    size_t bytes = 0;
    for (const size_t megabytes : phase.megabytes) {
      const CUdeviceptr memory = allocate(megabytes * kMegabyte);
      bytes += megabytes * kMegabyte;
      if (&phase != phases) to_free.emplace_back(memory, megabytes * kMegabyte);
    }
    said += std::string(said.empty() ? "" : ", ") + "{\"phase\": \"" + phase.name +
            "\", \"allocations\": " + std::to_string(phase.megabytes.size()) +
            ", \"bytes\": " + std::to_string(bytes) + "}";
  }
  for (const auto& [memory, bytes] : to_free) release(memory, bytes);
  say("memory_phases", ", \"loop_ns\": 0, \"phases\": [" + said + "]");
}

void managed(unsigned megabytes, unsigned rounds) {
  start();
  const size_t bytes = std::min(megabytes, 64u) * kMegabyte;
  CUdeviceptr data = 0;
  CHECK(cuMemAllocManaged(&data, bytes, CU_MEM_ATTACH_GLOBAL));
  ++did[kAllocations], did[kAllocatedBytes] += bytes;
  const CUfunction f = function("addToManaged");
  for (unsigned round = 0; round < rounds; ++round) {
    standinTouch(data);
    bracket("addToManaged", 1, [&] { launch(f, 16, 256); });
  }
  standinTouch(data);
  release(data, bytes);
  say("managed",
      member("managed_bytes", bytes) + member("rounds", rounds) + ", \"moves_by_faults\": true");
}

void pools(unsigned rounds) {
  start();
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  CUmemPoolProps properties{};
  CUmemoryPool own = nullptr, usual = nullptr;
  CHECK(cuMemPoolCreate(&own, &properties));
  CHECK(cuDeviceGetDefaultMemPool(&usual, 0));
  const CUfunction f = function("fillPool");
  unsigned of_own = 0, last = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const size_t bytes = (round % 7 + 1) * 256 * 1024;
    CUdeviceptr memory = 0;
    if (round % 2 == 0) {
      CHECK(cuMemAllocAsync(&memory, bytes, stream));
    } else {
      CHECK(cuMemAllocFromPoolAsync(&memory, bytes, own, stream));
      ++of_own;
    }
    ++did[kAllocations], did[kAllocatedBytes] += bytes;
    bracket("fillPool", 1, [&] { launch(f, 16, 256, stream); });
    CHECK(cuMemcpyDtoHAsync(&last, memory, sizeof last, stream));
    ++did[kDtoh], did[kDtohBytes] += sizeof last;
    CHECK(cuMemFreeAsync(memory, stream));
    ++did[kFrees], did[kFreedBytes] += bytes;
    CHECK(cuStreamSynchronize(stream));
  }
  for (const CUmemoryPool pool : {usual, own}) CHECK(cuMemPoolTrimTo(pool, 0));
  CHECK(cuMemPoolDestroy(own));
  say("pools", member("own_allocations", of_own) + member("pools_created", 1) +
                   member("pools_destroyed", 1) + member("trims", 2));
}

void virtualMemory(unsigned rounds) {
  constexpr const char* kName = "virtual_memory";
  constexpr size_t kPieces = 8;
  start();
#define OPTIONAL(function) reinterpret_cast<decltype(&(function))>(optional(kName, #function))
  const auto reserve = OPTIONAL(cuMemAddressReserve);
  const auto free_range = OPTIONAL(cuMemAddressFree);
  const auto create = OPTIONAL(cuMemCreate);
  const auto release_handle = OPTIONAL(cuMemRelease);
  const auto map = OPTIONAL(cuMemMap);
  const auto unmap = OPTIONAL(cuMemUnmap);
  const auto set_access = OPTIONAL(cuMemSetAccess);
#undef OPTIONAL
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access{};
  access.location = kind.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  constexpr size_t kGranularity = 2 * kMegabyte;
  constexpr size_t kRange = kGranularity * kPieces * (kPieces + 1) / 2;
  CUdeviceptr base = 0;
  CHECK(reserve(&base, kRange, 0, 0, 0));
  uint64_t created = 0, created_bytes = 0, freed = 0, freed_bytes = 0, live = 0, peak = 0;
  const CUfunction f = function("touch");
  for (unsigned round = 0; round < rounds; ++round) {
    CUmemGenericAllocationHandle handles[kPieces] = {};
    size_t mapped = 0;
    const auto size = [](size_t i) { return kGranularity * (i % 4 + 1); };
    for (size_t i = 0; i < kPieces; ++i) {
      CHECK(create(&handles[i], size(i), &kind, 0));
      ++created, created_bytes += size(i), live += size(i);
      peak = std::max(peak, live);
      CHECK(map(base + mapped, size(i), 0, handles[i], 0));
      CHECK(set_access(base + mapped, size(i), &access, 1));
      mapped += size(i);
    }
    bracket("touch", 1, [&] { launch(f, 16, 256); });
    for (size_t i = kPieces; i-- > 0;) {
      mapped -= size(i);
      if (i % 2 == 0) CHECK(release_handle(handles[i]));
      CHECK(unmap(base + mapped, size(i)));
      if (i % 2 != 0) CHECK(release_handle(handles[i]));
      ++freed, freed_bytes += size(i), live -= size(i);
    }
  }
  CHECK(free_range(base, kRange));
  say(kName, member("granularity", kGranularity) + member("reserved_bytes", kRange) +
                 member("physical_created", created) +
                 member("physical_created_bytes", created_bytes) + member("physical_freed", freed) +
                 member("physical_freed_bytes", freed_bytes) + member("physical_peak_bytes", peak));
}

void peerCopy(unsigned times) {
  constexpr size_t kBytes = 8 * kMegabyte;
  start();
  int devices = 0;
  CHECK(cuDeviceGetCount(&devices));
  if (devices < 2) {
    std::printf("{\"sample\": \"peer_copy\", \"absent\": \"there is one device\"}\n");
    return;
  }
  CUcontext here = nullptr, there = nullptr;
  CHECK(cuCtxGetCurrent(&here));
  CHECK(cuDevicePrimaryCtxRetain(&there, 1));
  const CUdeviceptr first = allocate(kBytes);
  CHECK(cuCtxSetCurrent(there));
  const CUdeviceptr second = allocate(kBytes);
  CHECK(cuCtxSetCurrent(here));
  for (unsigned i = 0; i < times; ++i) {
    CHECK(cuMemcpyPeer(second, there, first, here, kBytes));
    fill(first, kBytes);
    CHECK(cuMemcpyPeer(first, here, second, there, kBytes));
    did[kPeer] += 2, did[kPeerBytes] += 2 * kBytes;
  }
  const CUfunction f = function("readPeer");
  bracket("readPeer", 1, [&] { launch(f, 16, 256); });
  for (const CUdeviceptr m : {first, second}) release(m, kBytes);
  say("peer_copy");
}

void ptx(unsigned launches) {
  start();
  const CUdeviceptr data = allocate(16384);
  fill(data, 16384);
  CUmodule compiled = nullptr;
  CUfunction f = nullptr;
  CHECK(cuModuleLoadData(&compiled, ".version 7.0\n"));
  CHECK(cuModuleGetFunction(&f, compiled, "ptxAdd"));
  bracket("ptxAdd", launches, [&] {
    for (unsigned i = 0; i < launches; ++i) launch(f, 16, 256);
  });
  CUlaunchConfig config{};
  config.gridDimX = 16;
  config.blockDimX = 256;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  bracket("ptxAdd", launches, [&] {
    for (unsigned i = 0; i < launches; ++i) CHECK(cuLaunchKernelEx(&config, f, nullptr, nullptr));
  });
  CHECK(cuModuleUnload(compiled));
  release(data, 16384);
  say("ptx", member("modules", 1) + member("launches_ex", launches));
}

}  // namespace samples
